//! The table of settings: each has a row with its name, form, default, parser, expected form and
//! description. [`Config`], `--help` and the mistakes are generated from the table.

use std::{fmt::Write as _, net::SocketAddr, sync::Arc, time::Duration};

use ipnet::IpNet;
use rcpt_pool::{Pace, operators::Operators};
use rcpt_shared::KeyRing;
use tracing::level_filters::LevelFilter;

use super::{
    Certificate, Families, Files, OptOuts, Routes, Server, SourceAddress, SourceKey, StartTls,
    parse,
    setting::{Form, Setting},
    values::Values,
};
use crate::lists::Lists;

const MILLISECONDS: &str = "milliseconds, 1 to 600000";

/// `field: Type = "name", form, default, parser, "expected form", "description";`. A reload changes the rows with `reloaded`;
/// any other needs a restart.
macro_rules! settings {
    ($($field:ident: $type:ty =
        $name:literal, $form:ident $($reloaded:ident)?, $default:expr, $parse:expr, $expects:expr, $about:literal;)*) => {
        /// The service's configuration. [`KeyRing`] hides secrets from `Debug`.
        #[derive(Debug, Clone)]
        pub struct Config {
            $(#[doc = $about] pub $field: $type,)*
            /// The built-in operators and those in the operators' file.
            pub operators: Arc<Operators>,
            /// The lists in `lists_file`, or the built-in ones.
            pub lists: Arc<Lists>,
            /// Reason why the lists in `lists_file` are ignored, if they are.
            pub lists_note: Option<String>,
            /// State of the file before it was read.
            pub lists_files: Files,
            /// Constants that no setting changes.
            pub pace: Pace,
            /// Loaded from the files in `tls_cert` and `tls_key`.
            pub certificate: Option<Certificate>,
        }

        pub(super) const ALL: &[Setting] = &[
            $(Setting {
                name: $name,
                form: Form::$form,
                default: $default,
                expects: $expects,
                about: $about,
                is_reloaded: !<[&str]>::is_empty(&[$(stringify!($reloaded))?]),
            },)*
        ];

        impl Config {
            /// Names of settings that differ from `other` in their `Debug` output, in which secrets are shown by key
            /// id.
            pub fn differing(&self, other: &Self) -> Vec<&'static str> {
                let mut names = Vec::new();
                $(if format!("{:?}", self.$field) != format!("{:?}", other.$field) {
                    names.push($name);
                })*
                let file = "operators_file";
                if !names.contains(&file) && self.operators.rows() != other.operators.rows() {
                    names.push(file);
                }
                let file = "lists_file";
                if !names.contains(&file) && (&self.lists.headers, &self.lists.sizes) != (&other.lists.headers, &other.lists.sizes) {
                    names.push(file);
                }
                names
            }

            /// This configuration with the settings of `read` that a reload changes. Ticket secrets are always replaced:
            /// two secrets may have the same key id, so a difference can't always be detected.
            pub fn reloaded(&self, read: &Self) -> Self {
                let mut reloaded = self.clone();
                $($({
                    let _ = stringify!($reloaded);
                    reloaded.$field = read.$field.clone();
                })?)*
                reloaded.operators =
                    Arc::new(read.operators.as_ref().clone().numbered_as(&self.operators));
                reloaded.lists = read.lists.clone();
                reloaded.lists_note = read.lists_note.clone();
                reloaded.lists_files = read.lists_files.clone();
                reloaded.certificate = read.certificate.clone();
                reloaded
            }

            /// `None` if any value is wrong: `values` then contains all mistakes.
            pub(super) fn from_values(values: &mut Values<'_>) -> Option<Self> {
                $(let $field: Option<$type> = values.read($name, $parse);)*
                let operators = values.read_operators("operators_file");
                let certificate = values.read_certificate("tls_cert", "tls_key");
                $(let $field = $field?;)*
                let (lists, lists_note, lists_files) = values.read_lists("lists_file");
                let (operators, certificate) = (operators?, certificate?);
                let pace = Pace::default();
                Some(Self { $($field,)* operators, pace, lists, lists_note, lists_files, certificate })
            }
        }
    };
}

settings! {
    listen: SocketAddr = "listen", Single, Some("127.0.0.1:8788"), parse::from_str,
        "ip:port",
        "Address of the HTTP listener";
    admin_listen: Option<SocketAddr> = "admin_listen", Single, Some(""), parse::address_or_none,
        "ip:port, or nothing",
        "Address of the listener for /metrics, /ready and the rest that is for us; empty serves them on listen if that is a loopback address, else nowhere";
    neighbour_listen: Option<SocketAddr> = "neighbour_listen", Single, Some(""), parse::address_or_none,
        "ip:port, or nothing",
        "Address of the listener for the page that tells mail servers' owners who connects to them; it should be port 80 of the HELO name";
    contact: String = "contact", Single, Some(""), parse::contact,
        "an email address that people read, or nothing",
        "Whom the page at neighbour_listen says to write to; empty takes mail_from";
    tls_cert: String = "tls_cert", Single reloaded, Some(""), parse::from_str,
        "the path of a PEM file",
        "Certificate chain of listen, which then speaks TLS; read again on SIGHUP and when the file changes";
    tls_key: String = "tls_key", Single reloaded, Some(""), parse::from_str,
        "the path of a PEM file",
        "Key of the certificate";
    helo_name: String = "helo_name", Single, None, parse::host_name,
        "a fully qualified domain name, such as probe1.example.com",
        "Name given in EHLO; its address record and the reverse record of the source address should agree";
    mail_from: String = "mail_from", Single, None, parse::reverse_path,
        "an ASCII email address whose domain takes mail, such as probe@example.com; or <>, the null sender, which many servers refuse",
        "Sender given in MAIL; its domain should have MX, SPF and a postmaster";
    nameservers: Vec<SocketAddr> = "nameservers", List, Some(""), parse::nameservers,
        "a list of ip or ip:port, or a nameserver in /etc/resolv.conf",
        "Recursive nameservers, asked in this order; empty takes those of /etc/resolv.conf";
    smtp_port: u16 = "smtp_port", Single, Some("25"), parse::port,
        "a port, 1 to 65535",
        "Port of the MX hosts";
    routes: Routes = "routes", Table reloaded, Some(""), Routes::parse,
        "suffix = \"host:port\" or \"no-mx\", each suffix a domain name given once",
        "Domains whose mail server is fixed, subdomains included; the most specific suffix wins";
    opt_outs: OptOuts = "opt_outs", List reloaded, Some(""), OptOuts::parse,
        "a list of domains (example.org), mail hosts (mx:example.org) and networks (192.0.2.0/24)",
        "Who asked not to be asked, subdomains included: no connection is made there";
    allow_networks: Vec<IpNet> = "allow_networks", List, Some(""), parse::networks,
        "a list of networks in CIDR notation, such as 10.1.0.0/16",
        "Networks that may be dialled although they are not public unicast";
    budget: Duration = "budget_ms", Single reloaded, Some("10000"), parse::milliseconds,
        MILLISECONDS,
        "Time for one probe, DNS included";
    connect_timeout: Duration = "connect_timeout_ms", Single, Some("4000"), parse::milliseconds,
        MILLISECONDS,
        "Time to connect to an address";
    dns_timeout: Duration = "dns_timeout_ms", Single, Some("2000"), parse::milliseconds,
        MILLISECONDS,
        "Time for a query to a nameserver";
    max_probes: usize = "max_probes", Single reloaded, Some("512"), parse::count,
        "a number, 1 to 1000000",
        "Probes in progress at once; further ones are answered 503";
    starttls: StartTls = "starttls", Single, Some("on_demand"), parse::starttls,
        "on_demand or always",
        "Encrypt when the server demands it, or whenever it offers to";
    source_addresses: Vec<SourceAddress> =
        "source_addresses", List reloaded, Some(""), parse::source_addresses,
        "a list of ip or ip=helo.name, each with @YYYY-MM-DD behind it if it is new, and free: before it if only free accounts use it",
        "Local addresses to connect from, each domain's always the same, each with its HELO name if it is not helo_name, and the day it was taken into use, from which batches warm up; those with free: ask for accounts without a plan, which then use no others; empty leaves it to the system";
    source_key: SourceKey = "source_key", Secret, Some(""), parse::from_str,
        "a text of at least 16 characters, or nothing",
        "Secret that decides which source address asks about a domain; empty takes ticket_secrets, so replacing these moves the domains";
    families: Option<Families> = "families", List, Some(""), parse::families,
        "a list of ipv4 and ipv6",
        "Families by which mail servers are dialled; empty takes those of source_addresses, or both";
    operator_sessions: usize = "operator_sessions", Single reloaded, Some("2"), parse::count,
        "a number, 1 to 1000000",
        "Sessions at once with one operator of mail hosts, from one source address; routes are exempt";
    machine_sessions: usize = "machine_sessions", Single reloaded, Some("2"), parse::count,
        "a number, 1 to 1000000",
        "Sessions at once with one machine that is no known operator's";
    network_sessions: usize = "network_sessions", Single reloaded, Some("8"), parse::count,
        "a number, 1 to 1000000",
        "Sessions at once with the machines of one /24 or /64";
    session_interval: Duration = "session_interval_ms", Single reloaded, Some("500"), parse::pause,
        "milliseconds, 0 to 600000",
        "Time from one new session with an operator or machine to the next, once the first ones are open";
    recipients_per_minute: usize =
        "recipients_per_minute", Single reloaded, Some("1200"), parse::count,
        "a number, 1 to 1000000",
        "Recipients asked about in a minute at one operator or machine";
    refused_per_hour: usize = "refused_per_hour", Single reloaded, Some("300"), parse::count,
        "a number, 1 to 1000000",
        "Recipients that one operator or machine refuses in an hour, after which batches stay away";
    tenant_share: f64 = "tenant_share_percent", Single reloaded, Some("50"), parse::percent,
        "a percentage, 1 to 100",
        "What one tenant may have of probes in progress, of those who wait, and of refused recipients";
    operators_file: String = "operators_file", Single reloaded, Some(""), parse::from_str,
        "the path of a TOML file with [[operator]] rows",
        "Operators of mail hosts beside those that are built in, and other limits for these";
    lists_file: String = "lists_file", Single reloaded, Some(""), parse::from_str,
        "the path of a file with lists of domains",
        "Lists of domains that say their kind, each in place of the built-in one of its name; read again on SIGHUP and when the file changes";
    session_recipients: usize = "session_recipients", Single, Some("10"), parse::recipients,
        "a number, 1 to 100",
        "Recipients asked about in one session where no row of operators says more; 1 opens a session for each";
    port_check: Vec<Server> = "port_check", List, Some(""), parse::servers,
        "a list of host:port",
        "Mail servers of others; while none of them greets us, probes and /ready are answered 503; empty checks nothing";
    blocklists: Vec<String> = "blocklists", List, Some(""), parse::domain_names,
        "a list of domain names",
        "DNS blocklists that our addresses are looked up on every ten minutes and by `origin doctor`, such as zen.spamhaus.org";
    time_server: Option<Server> = "time_server", Single, Some(""), parse::server_or_none,
        "host:port, or nothing",
        "NTP server that `origin doctor` compares the clock with";
    ticket_secrets: KeyRing = "ticket_secrets", Secret reloaded, None, parse::key_ring,
        "one or two kid:secret pairs separated by a comma, each secret unpadded base64url of at least 32 bytes",
        "Secrets of the edge's tickets, kid:base64url[,kid:base64url]";
    shutdown_grace: Duration = "shutdown_grace_ms", Single, Some("15000"), parse::milliseconds,
        MILLISECONDS,
        "Time for probes in progress to finish after SIGTERM or SIGINT";
    log_level: LevelFilter = "log_level", Single reloaded, Some("info"), parse::log_level,
        "off, error, warn, info, debug or trace",
        "Least severe level that is logged";
}

/// True if a reload changes the setting of this name.
pub fn is_reloaded(name: &str) -> bool {
    ALL.iter().any(|setting| setting.name == name && setting.is_reloaded)
}

/// The settings with their variables, defaults and descriptions, as printed by `--help`.
pub fn reference() -> String {
    let mut text = String::from(
        "Configuration values, as keys of the TOML file or as environment variables (which win):\n",
    );
    for setting in ALL {
        let default = match setting.default {
            None => "required".to_owned(),
            Some("") => "default: empty".to_owned(),
            Some(value) => format!("default: {value}"),
        };
        // Writing to a String can't fail.
        let _ = write!(
            text,
            "\n  {} ({})\n      {} [{default}]\n      Expects {}\n",
            setting.name,
            setting.variable(),
            setting.about,
            setting.expects,
        );
    }
    text
}

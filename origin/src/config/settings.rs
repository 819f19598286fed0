//! The table of settings. [`Config`], `--help` and the mistakes are generated from it.

use std::{fmt::Write as _, net::SocketAddr, sync::Arc, time::Duration};

use ipnet::IpNet;
use rcpt_pool::{Pace, operators::Operators};
use rcpt_shared::KeyRing;
use tracing::level_filters::LevelFilter;

use super::{
    Certificate, Families, Files, Mistakes, OptOuts, Routes, Server, SettingMistake, SourceAddress,
    SourceKey, StartTls, parse,
    values::{Form, Setting, Values, meant_by},
};
use crate::lists::Lists;

const MILLISECONDS: &str = "milliseconds, 1 to 600000";

/// `field: Type = "name", form, default, parser, "expected form", "description";`. A reload changes the rows with
/// `reloaded`; any other needs a restart.
macro_rules! settings {
    ($($field:ident: $type:ty =
        $name:literal, $form:ident $($reloaded:ident)?, $default:expr, $parse:expr, $expects:expr,
        $about:literal;)*) => {
        #[derive(Debug, Clone)]
        pub struct Config {
            $(#[doc = $about] pub $field: $type,)*
            pub operators: Arc<Operators>,
            pub lists: Arc<Lists>,
            /// Reason why the lists in `lists_file` are ignored, if they are.
            pub lists_note: Option<String>,
            pub lists_files: Files,
            /// Constants that no setting changes.
            pub pace: Pace,
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

            /// This configuration with the settings of `read` that a reload changes. Ticket secrets are always
            /// replaced: two secrets may have the same key id, so a difference can't always be detected.
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
        "Address of a separate listener for /metrics, /ready and /operators; without it, listen serves them if it is a loopback address";
    neighbour_listen: Option<SocketAddr> = "neighbour_listen", Single, Some(""), parse::address_or_none,
        "ip:port, or nothing",
        "Address of the listener for the page that tells mail servers' owners who connects to them; make it reachable at port 80 of the HELO name";
    contact: String = "contact", Single, Some(""), parse::contact,
        "an email address that somebody reads, or nothing",
        "Email address for questions, on the page at neighbour_listen; by default mail_from";
    tls_cert: String = "tls_cert", Single reloaded, Some(""), parse::from_str,
        "the path of a PEM file",
        "Certificate chain of listen, which then uses TLS; read again on SIGHUP and when the file changes";
    tls_key: String = "tls_key", Single reloaded, Some(""), parse::from_str,
        "the path of a PEM file",
        "Key of the certificate";
    helo_name: String = "helo_name", Single, None, parse::host_name,
        "a fully qualified domain name, such as probe1.example.com",
        "Name in EHLO; it should resolve to the source address, whose reverse record should name it";
    mail_from: String = "mail_from", Single, None, parse::reverse_path,
        "an ASCII email address whose domain accepts mail, such as probe@example.com; or <>, the null sender, which many servers refuse",
        "Sender in MAIL; its domain should have MX, SPF and a postmaster";
    nameservers: Vec<SocketAddr> = "nameservers", List, Some(""), parse::nameservers,
        "a list of ip or ip:port, or a nameserver in /etc/resolv.conf",
        "Recursive nameservers, queried in this order; by default those of /etc/resolv.conf";
    smtp_port: u16 = "smtp_port", Single, Some("25"), parse::port,
        "a port, 1 to 65535",
        "Port of the MX hosts";
    routes: Routes = "routes", Table reloaded, Some(""), Routes::parse,
        "suffix = \"host:port\" or \"no-mx\", each suffix a domain name given once",
        "Domains with a fixed mail server, subdomains included; the most specific suffix wins";
    opt_outs: OptOuts = "opt_outs", List reloaded, Some(""), OptOuts::parse,
        "a list of domains (example.org), mail hosts (mx:example.org) and networks (192.0.2.0/24)",
        "Owners who asked us to stop, subdomains included: no connection is made there";
    allow_networks: Vec<IpNet> = "allow_networks", List, Some(""), parse::private_networks,
        "a list of networks in CIDR notation, such as 10.1.0.0/16, none larger than a /8 or fc00::/7",
        "Networks that may be dialled even if they aren't public";
    budget: Duration = "budget_ms", Single reloaded, Some("10000"), parse::milliseconds,
        MILLISECONDS,
        "Time for one probe, DNS included";
    connect_timeout: Duration = "connect_timeout_ms", Single, Some("4000"), parse::milliseconds,
        MILLISECONDS,
        "Time to connect to an address";
    dns_timeout: Duration = "dns_timeout_ms", Single, Some("2000"), parse::milliseconds,
        MILLISECONDS,
        "Time for one query to one nameserver";
    max_probes: usize = "max_probes", Single reloaded, Some("512"), parse::probes,
        "a number, 1 to 10000",
        "Maximum number of probes in progress; further ones get 503";
    starttls: StartTls = "starttls", Single, Some("on_demand"), parse::starttls,
        "on_demand or always",
        "Encrypt if the server requires it, or whenever it offers STARTTLS";
    source_addresses: Vec<SourceAddress> =
        "source_addresses", List reloaded, Some(""), parse::source_addresses,
        "a list of ip or ip=helo.name, followed by @YYYY-MM-DD if the address is new; free: before it reserves it for free accounts",
        "Local addresses to connect from, each with its HELO name if it isn't helo_name, and its first day, from which batches warm up; a domain always has the same address; by default the system chooses";
    source_key: SourceKey = "source_key", Secret, Some(""), parse::from_str,
        "a text of at least 16 characters, or nothing",
        "Secret that assigns domains to source addresses; required with several, and the same at origins that share them";
    families: Option<Families> = "families", List, Some(""), parse::families,
        "a list of ipv4 and ipv6",
        "Address families of connections to mail servers; by default those of source_addresses, or both";
    operator_sessions: usize = "operator_sessions", Single reloaded, Some("2"), parse::count,
        "a number, 1 to 1000000",
        "Maximum number of sessions with one operator of mail servers, from one source address; routes are exempt";
    machine_sessions: usize = "machine_sessions", Single reloaded, Some("2"), parse::count,
        "a number, 1 to 1000000",
        "Maximum number of sessions with one machine of no known operator";
    network_sessions: usize = "network_sessions", Single reloaded, Some("8"), parse::count,
        "a number, 1 to 1000000",
        "Maximum number of sessions with the machines of one /24 or /64";
    session_interval: Duration = "session_interval_ms", Single reloaded, Some("500"), parse::pause,
        "milliseconds, 0 to 600000",
        "Time between new sessions with one operator or machine, once their maximum number has been opened";
    recipients_per_minute: usize =
        "recipients_per_minute", Single reloaded, Some("1200"), parse::count,
        "a number, 1 to 1000000",
        "Recipients a minute at one operator or machine";
    refused_per_hour: usize = "refused_per_hour", Single reloaded, Some("300"), parse::count,
        "a number, 1 to 1000000",
        "Refused recipients an hour at one operator or machine, after which batches pause";
    tenant_share: f64 = "tenant_share_percent", Single reloaded, Some("50"), parse::percent,
        "a percentage, 1 to 100",
        "Largest share of one tenant in probes in progress, waiting probes and refused recipients";
    operators_file: String = "operators_file", Single reloaded, Some(""), parse::from_str,
        "the path of a TOML file with [[operator]] rows",
        "Further operators of mail servers, and other limits for the built-in ones";
    lists_file: String = "lists_file", Single reloaded, Some(""), parse::from_str,
        "the path of a file with lists of domains",
        "Lists of domains by kind, each instead of the built-in list of its name; read again on SIGHUP and when the file changes";
    session_recipients: usize = "session_recipients", Single, Some("10"), parse::recipients,
        "a number, 1 to 100",
        "Maximum number of recipients in one session, unless the operator's row says more; 1 opens a session for each";
    port_check: Vec<Server> = "port_check", List, Some(""), parse::servers,
        "a list of host:port",
        "Mail servers of others; while none of them greets us, probes and /ready get 503; by default nothing is checked";
    blocklists: Vec<String> = "blocklists", List, Some(""), parse::domain_names,
        "a list of domain names",
        "DNS blocklists, such as zen.spamhaus.org, on which our addresses are looked up every ten minutes and by `origin doctor`";
    time_server: Option<Server> = "time_server", Single, Some(""), parse::server_or_none,
        "host:port, or nothing",
        "NTP server with which `origin doctor` compares the clock";
    ticket_secrets: KeyRing = "ticket_secrets", Secret reloaded, None, parse::key_ring,
        "secrets separated by commas, each unpadded base64url of at least 32 bytes",
        "Secrets of the edge's tickets, base64url[,base64url]";
    log_level: LevelFilter = "log_level", Single reloaded, Some("info"), parse::log_level,
        "off, error, warn, info, debug or trace",
        "Lowest level in the log";
}

pub fn is_reloaded(name: &str) -> bool {
    ALL.iter().any(|setting| setting.name == name && setting.is_reloaded)
}

/// The settings with their variables, defaults and descriptions, as printed by `--help`.
pub fn reference() -> String {
    let mut text = String::from(
        "Settings, as keys of the TOML file or as environment variables, which take precedence:\n",
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

const PREFIX: &str = "RCPT_";
/// Path of the configuration file, which isn't a setting itself.
const CONFIG: &str = "RCPT_CONFIG";

/// Environment variables that begin with `RCPT_` but name no setting.
#[derive(Debug, Default)]
pub struct UnknownVariables {
    pub slips: Mistakes,
    /// All other names, which may belong to another program.
    pub strangers: Mistakes,
}

pub fn unknown_variables<'a>(names: impl IntoIterator<Item = &'a str>) -> UnknownVariables {
    let mut unknown = UnknownVariables::default();
    for variable in names {
        let Some(name) = variable.strip_prefix(PREFIX).map(str::to_ascii_lowercase) else {
            continue;
        };
        let is_known = ALL.iter().any(|setting| setting.variable() == variable);
        if is_known || variable == CONFIG {
            continue;
        }
        let suggestion = meant_by(ALL, &name)
            .map(|suggestion| format!("{PREFIX}{}", suggestion.to_ascii_uppercase()));
        let mistake = SettingMistake::unknown("variable", variable, suggestion.as_deref());
        let list = if suggestion.is_some() { &mut unknown.slips } else { &mut unknown.strangers };
        list.0.push(mistake);
    }
    unknown
}

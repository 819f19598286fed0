//! The table of settings: what `--help` prints and what the file and the environment may name.

use std::fmt::Write as _;

/// One configurable value.
pub(super) struct Setting {
    /// Key in the file; in the environment `RCPT_` and the name in capitals.
    pub name: &'static str,
    /// As it would stand in the environment; `None` when the value is required.
    pub default: Option<&'static str>,
    pub form: Form,
    /// Completes "expected …".
    pub expects: &'static str,
    pub about: &'static str,
}

/// How a value is written in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A string or an integer.
    Single,
    /// An array of strings; comma separated in the environment.
    List,
    /// A table of strings; comma separated `key=value` in the environment.
    Table,
    /// A string that no message may repeat.
    Secret,
}

impl Setting {
    pub(super) fn variable(&self) -> String {
        format!("RCPT_{}", self.name.to_ascii_uppercase())
    }
}

const fn setting(
    name: &'static str,
    form: Form,
    default: Option<&'static str>,
    expects: &'static str,
    about: &'static str,
) -> Setting {
    Setting { name, default, form, expects, about }
}

use Form::{List, Secret, Single, Table};

const MILLISECONDS: &str = "milliseconds, 1 to 600000";

pub(super) const LISTEN: Setting =
    setting("listen", Single, Some("127.0.0.1:8788"), "ip:port", "Address of the HTTP listener");
pub(super) const HELO_NAME: Setting = setting(
    "helo_name",
    Single,
    None,
    "a fully qualified domain name, such as probe1.example.com",
    "Name given in EHLO; its address record and the reverse record of the source address should agree",
);
pub(super) const MAIL_FROM: Setting = setting(
    "mail_from",
    Single,
    Some(""),
    "an ASCII email address, or nothing for the null reverse-path",
    "Reverse-path given in MAIL; empty is the null reverse-path",
);
pub(super) const NAMESERVERS: Setting = setting(
    "nameservers",
    List,
    Some(""),
    "a list of ip or ip:port, or a nameserver in /etc/resolv.conf",
    "Recursive nameservers, asked in this order; empty takes those of /etc/resolv.conf",
);
pub(super) const SMTP_PORT: Setting =
    setting("smtp_port", Single, Some("25"), "a port, 1 to 65535", "Port of the MX hosts");
pub(super) const ROUTES: Setting = setting(
    "routes",
    Table,
    Some(""),
    "suffix = \"host:port\" or \"no-mx\", each suffix a domain name given once",
    "Domains whose mail server is fixed, subdomains included; the most specific suffix wins",
);
pub(super) const ALLOW_NETWORKS: Setting = setting(
    "allow_networks",
    List,
    Some(""),
    "a list of networks in CIDR notation, such as 10.1.0.0/16",
    "Networks that may be dialled although they are not public unicast",
);
pub(super) const BUDGET_MS: Setting =
    setting("budget_ms", Single, Some("10000"), MILLISECONDS, "Time for one probe, DNS included");
pub(super) const CONNECT_TIMEOUT_MS: Setting = setting(
    "connect_timeout_ms",
    Single,
    Some("4000"),
    MILLISECONDS,
    "Time to connect to an address",
);
pub(super) const DNS_TIMEOUT_MS: Setting = setting(
    "dns_timeout_ms",
    Single,
    Some("2000"),
    MILLISECONDS,
    "Time for a query to a nameserver",
);
pub(super) const MAX_PROBES: Setting = setting(
    "max_probes",
    Single,
    Some("512"),
    "a number, 1 to 1000000",
    "Probes in progress at once; further ones are answered 503",
);
pub(super) const STARTTLS: Setting = setting(
    "starttls",
    Single,
    Some("on_demand"),
    "on_demand or always",
    "Encrypt when the server demands it, or whenever it offers to",
);
pub(super) const SOURCE_ADDRESSES: Setting = setting(
    "source_addresses",
    List,
    Some(""),
    "a list of ip or ip=helo.name",
    "Local addresses to connect from, taken in turn, each with its HELO name if it is not helo_name; empty leaves it to the system",
);
pub(super) const OPERATOR_SESSIONS: Setting = setting(
    "operator_sessions",
    Single,
    Some("2"),
    "a number, 1 to 1000000",
    "Sessions at once with one operator of mail hosts; routes are exempt",
);
pub(super) const SESSION_INTERVAL_MS: Setting = setting(
    "session_interval_ms",
    Single,
    Some("500"),
    "milliseconds, 0 to 600000",
    "Time from one new session with an operator to the next, once the first ones are open",
);
pub(super) const SESSION_RECIPIENTS: Setting = setting(
    "session_recipients",
    Single,
    Some("100"),
    "a number, 1 to 100",
    "Recipients asked about in one session; 1 opens a session for each",
);
pub(super) const PORT_CHECK: Setting = setting(
    "port_check",
    List,
    Some(""),
    "a list of host:port",
    "Mail servers of others; while none of them can be connected to, /ready fails; empty checks nothing",
);
pub(super) const BLOCKLISTS: Setting = setting(
    "blocklists",
    List,
    Some(""),
    "a list of domain names",
    "DNS blocklists that `origin doctor` looks us up on, such as zen.spamhaus.org",
);
pub(super) const TIME_SERVER: Setting = setting(
    "time_server",
    Single,
    Some(""),
    "host:port, or nothing",
    "NTP server that `origin doctor` compares the clock with",
);
pub(super) const TICKET_SECRETS: Setting = setting(
    "ticket_secrets",
    Secret,
    None,
    "one or two kid:secret pairs separated by a comma, each secret unpadded base64url of at least 32 bytes",
    "Secrets of the edge's tickets, kid:base64url[,kid:base64url]",
);
pub(super) const SHUTDOWN_GRACE_MS: Setting = setting(
    "shutdown_grace_ms",
    Single,
    Some("15000"),
    MILLISECONDS,
    "Time for probes in progress to finish after SIGTERM or SIGINT",
);
pub(super) const LOG_LEVEL: Setting = setting(
    "log_level",
    Single,
    Some("info"),
    "off, error, warn, info, debug or trace",
    "Least severe level that is logged",
);

pub(super) const ALL: [&Setting; 22] = [
    &LISTEN,
    &HELO_NAME,
    &MAIL_FROM,
    &NAMESERVERS,
    &SMTP_PORT,
    &ROUTES,
    &ALLOW_NETWORKS,
    &BUDGET_MS,
    &CONNECT_TIMEOUT_MS,
    &DNS_TIMEOUT_MS,
    &MAX_PROBES,
    &STARTTLS,
    &SOURCE_ADDRESSES,
    &OPERATOR_SESSIONS,
    &SESSION_INTERVAL_MS,
    &SESSION_RECIPIENTS,
    &PORT_CHECK,
    &BLOCKLISTS,
    &TIME_SERVER,
    &TICKET_SECRETS,
    &SHUTDOWN_GRACE_MS,
    &LOG_LEVEL,
];

/// The settings with their variables, defaults and meaning, as `--help` prints them.
#[must_use]
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
        // Writing to a String cannot fail.
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

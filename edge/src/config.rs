//! The Worker's configuration: vars and secrets, read once per isolate into types.

mod homes;
mod names;
mod reader;
mod ring;
mod site;

use rcpt_shared::{CacheTimes, KeyRing};

use self::reader::Reader;
pub use self::{
    homes::{Homes, binding, count_databases},
    names::CLOSED,
    site::Site,
};
use crate::{
    credentials::admin_keys::AdminKeys, limits::rules::Rule, outbound::turnstile::Turnstile,
};

/// Everything that can be configured. Secrets are hidden from `Debug`.
#[derive(Debug)]
pub struct Config {
    /// Settings that can't be read and count as absent, and settings that don't exist; for the log.
    pub warnings: Vec<String>,
    /// URLs of origins, without a trailing slash. Empty until the first origin runs.
    pub origins: Vec<String>,
    /// URL of the portal without a trailing slash; confirmation links start with it.
    pub portal_url: String,
    /// Resolver for the mail hosts of accounts' domains and for the hosts of webhooks; with `None`,
    /// nothing is looked up.
    pub dns_url: Option<String>,
    pub mail_from: String,
    pub homes: Homes,
    pub session_secrets: KeyRing,
    pub api_key_secrets: KeyRing,
    pub ticket_secrets: KeyRing,
    /// For hashes of addresses, client networks and accounts, for tokens that stop changes or emails, and for the seals
    /// of answers under an `Idempotency-Key`.
    pub address_secrets: KeyRing,
    pub totp_secrets: KeyRing,
    /// Encrypt the waiting addresses of scans, and detect repeated parts.
    pub scan_secrets: KeyRing,
    pub scan_retries: RetryTimes,
    /// Seconds.
    pub session_ttl: u64,
    /// Seconds until an unsettled lease expires.
    pub lease_ttl: u64,
    /// Total milliseconds to wait for a verdict, over all origins.
    pub upstream_budget_ms: u64,
    /// In the edge's cache and at origins.
    pub cache: CacheTimes,
    pub throttle: Throttle,
    pub site: Site,
    pub admin_keys: AdminKeys,
    /// Sign calls of the program that sells plans; with `None`, none are accepted.
    pub operator_secrets: Option<KeyRing>,
    /// With `None`, requests are never verified.
    pub turnstile: Option<Turnstile>,
}

/// Limits of attempts, emails, password hashes and requests.
#[derive(Debug)]
pub struct Throttle {
    /// Attempts on one account or address.
    pub account: Rule,
    /// Attempts of any kind from one network.
    pub network: Rule,
    /// Emails to one address caused by registrations.
    pub registration_mail: Rule,
    /// Reset links mailed to one address.
    pub reset_mail: Rule,
    /// Emails caused by one client network and by one client site, counted separately for registrations and resets.
    pub mails_of_network: Rule,
    pub mails_of_site: Rule,
    pub all_registration_mails: Rule,
    /// Resets of addresses without an account count too.
    pub all_reset_mails: Rule,
    /// Reset links sent although the budget of all resets or of the network is used up.
    pub all_exempt_reset_mails: Rule,
    /// Passwords, per isolate.
    pub hashes_per_minute: u64,
    /// Requests of one account, except checks, that an isolate serves per second after a burst; at least 1.
    pub account_requests_per_second: u64,
}

impl Config {
    /// The portal's host, with its port if it has one.
    pub fn host(&self) -> &str {
        let (_, rest) = self.portal_url.split_once("://").unwrap_or_default();
        rest.split('/').next().unwrap_or_default()
    }

    /// Lets the secrets sign whose time has come at `now` (Unix seconds): an isolate may outlive a replacement.
    pub fn turn_rings(&self, now: u64) {
        let needed = [
            &self.session_secrets,
            &self.api_key_secrets,
            &self.ticket_secrets,
            &self.address_secrets,
            &self.totp_secrets,
            &self.scan_secrets,
        ];
        for ring in needed.into_iter().chain(&self.operator_secrets) {
            ring.turn(now);
        }
    }

    /// Reads the configuration of a Worker with `databases` databases; `value` returns a variable
    /// or secret by name, and `names` are those that exist.
    ///
    /// # Errors
    /// All mistakes, each with the name of its setting. No mistake contains a part of a secret.
    pub fn read(
        value: impl Fn(&str) -> Option<String>,
        names: &[String],
        databases: usize,
    ) -> Result<Self, Vec<String>> {
        let mut read = Reader::new(&value, names);
        let portal_url = read.url("PORTAL_URL");
        read.is_local = reader::is_on_this_machine(&portal_url);
        read.look_for_unknown();
        let session_secrets = read.ring("SESSION_SECRET");
        let api_key_secrets = read.ring("API_KEY_SECRET");
        let ticket_secrets = read.ring("TICKET_SECRET");
        let address_secrets = read.ring("ADDRESS_SECRET");
        let totp_secrets = read.ring("TOTP_SECRET");
        let scan_secrets = read.ring("SCAN_SECRET");
        let scan_retries = read.retries("SCAN_RETRY_SECONDS");
        let origins = read.origins("ORIGINS");
        let mail_from = read.text("MAIL_FROM");
        let homes = read.homes("HOMES", databases);
        let dns_url = read.resolver("DNS_URL", "https://cloudflare-dns.com/dns-query");
        let session_ttl = read.number("SESSION_TTL_SECONDS", 12 * HOUR_S, 60, 30 * DAY_S);
        let lease_ttl = read.number("LEASE_TTL_SECONDS", 30, 15, 300);
        let upstream_budget_ms = read.number("UPSTREAM_BUDGET_MS", 12_000, 100, 60_000);
        read.check_budget("UPSTREAM_BUDGET_MS", upstream_budget_ms, lease_ttl);
        let cache = CacheTimes {
            decided: read.number("CACHE_DECIDED_SECONDS", HOUR_S, 0, 7 * DAY_S),
            no_mail: read.number("CACHE_NO_MAIL_SECONDS", 15 * 60, 0, 7 * DAY_S),
            undecided: read.number("CACHE_UNDECIDED_SECONDS", 5 * 60, 0, 7 * DAY_S),
        };
        let throttle = read.throttle();
        let site = read.site();
        let admin_keys = read.admin_keys();
        let operator_secrets = read.optional_ring("OPERATOR_SECRET");
        let turnstile = read.turnstile();
        let (mistakes, warnings) = (read.mistakes, read.warnings);
        // A closure, so that a missing secret, already recorded as a mistake, returns `None`.
        let config = || {
            Some(Self {
                warnings,
                origins,
                portal_url,
                dns_url,
                mail_from,
                homes: homes?,
                session_secrets: session_secrets?,
                api_key_secrets: api_key_secrets?,
                ticket_secrets: ticket_secrets?,
                address_secrets: address_secrets?,
                totp_secrets: totp_secrets?,
                scan_secrets: scan_secrets?,
                scan_retries,
                session_ttl,
                lease_ttl,
                upstream_budget_ms,
                cache,
                throttle,
                site,
                admin_keys,
                operator_secrets,
                turnstile,
            })
        };
        config().filter(|_| mistakes.is_empty()).ok_or(mistakes)
    }
}

/// Delays in seconds before a scan retries an undecided address: after the first reply, the second, and so on.
#[derive(Debug)]
pub struct RetryTimes(Vec<u64>);

impl Default for RetryTimes {
    /// The delays suit servers that greylist for five minutes, and servers that are busy for up to an hour.
    fn default() -> Self {
        Self(vec![5 * 60, 20 * 60, HOUR_S])
    }
}

impl RetryTimes {
    const RETRIES_MAX: usize = 10;

    /// Delay in seconds after `tries` replies of a server; `None` if no retry is left.
    pub fn after(&self, tries: u8) -> Option<u64> {
        self.0.get(usize::from(tries).checked_sub(1)?).copied()
    }

    /// Shortest delay in seconds; an hour if there are no retries.
    pub fn least(&self) -> u64 {
        self.0.iter().min().copied().unwrap_or(HOUR_S)
    }
}

const HOUR_S: u64 = 60 * 60;
const DAY_S: u64 = 24 * HOUR_S;

#[cfg(test)]
pub mod tests {
    use std::collections::HashMap;

    use super::Config;
    use rcpt_shared::Status;

    fn values() -> HashMap<&'static str, String> {
        // The value's id is the same in every ring.
        let mut values: HashMap<_, _> = [
            "SESSION_SECRET_20261128T0130_bf4257beeb",
            "API_KEY_SECRET_20261128T0130_bf4257beeb",
            "TICKET_SECRET_20261128T0130_bf4257beeb",
            "ADDRESS_SECRET_20261128T0130_bf4257beeb",
            "TOTP_SECRET_20261128T0130_bf4257beeb",
            "SCAN_SECRET_20261128T0130_bf4257beeb",
        ]
        .map(|name| (name, "w".repeat(43)))
        .into();
        values.insert("ORIGINS", "https://a.example/, http://127.0.0.1:8788".into());
        values.insert("PORTAL_URL", "https://portal.example/".into());
        values.insert("MAIL_FROM", "rcpt@example.org".into());
        values
    }

    fn read(values: &HashMap<&'static str, String>) -> Result<Config, Vec<String>> {
        let names: Vec<_> = values.keys().map(|name| (*name).to_owned()).collect();
        Config::read(|name| values.get(name).cloned(), &names, 1)
    }

    pub fn config() -> Config {
        read(&values()).unwrap()
    }

    #[test]
    fn reads_lists_urls_and_defaults() {
        let config = read(&values()).unwrap();
        assert_eq!(config.origins, ["https://a.example", "http://127.0.0.1:8788"]);
        assert_eq!(config.portal_url, "https://portal.example");
        assert_eq!((config.session_ttl, config.lease_ttl), (43_200, 30));
        assert_eq!(config.cache.of(Status::Refused), Some(3600));
        assert_eq!(config.cache.of(Status::NoMxRecords), Some(900));
        assert_eq!(config.cache.of(Status::SmtpTimeout), Some(300));
        assert_eq!(config.cache.of(Status::FatalException), None);
    }

    #[test]
    fn names_every_mistake_at_once() {
        let mut values = values();
        values.remove("MAIL_FROM");
        values.insert("PORTAL_URL", "portal.example".into());
        values.insert("HOMES", "*:1".into());
        values.insert("SESSION_SECRET_20261128T0130_bf4257beeb", "short".into());
        values.remove("SCAN_SECRET_20261128T0130_bf4257beeb");
        values.insert("RESET_MAILS_PER_DAY", "many".into());
        let mistakes = read(&values).unwrap_err();
        let names: Vec<_> = mistakes.iter().map(|m| m.split(':').next().unwrap()).collect();
        let expected = [
            "PORTAL_URL",
            "SESSION_SECRET_20261128T0130_bf4257beeb",
            "SCAN_SECRET",
            "MAIL_FROM",
            "HOMES",
            "RESET_MAILS_PER_DAY",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn what_is_optional_counts_as_absent_if_it_cant_be_read_and_is_named() {
        let plain = read(&values()).unwrap();
        assert_eq!((plain.site.contact(), plain.warnings.as_slice()), (None, [].as_slice()));
        assert!(plain.operator_secrets.is_none());
        let mut values = values();
        for (name, value) in [
            ("CONTACT_URL", " "),
            ("CONTACT_EMAIL", "help@example.org"),
            ("TERMS_URL", "https://example.org/terms/"),
            ("OPERATOR_SECRET_20261128T0130_bf4257beeb", ""),
        ] {
            values.insert(name, value.into());
        }
        let config = read(&values).unwrap();
        assert!(config.turnstile.is_none());
        assert_eq!(config.site.contact(), Some("help@example.org"));
        assert_eq!(config.site.terms_url.as_deref(), Some("https://example.org/terms/"));
        for (name, value) in [
            ("CONTACT_URL", "example.org"),
            ("CONTACT_EMAIL", "help"),
            ("TERMS_URL", "javascript:alert(1)"),
            ("STATUS_URL", "/status"),
            ("CHECKOUT_URLS", "pro"),
            ("ADMIN_SECRET_ANN", "short"),
            ("HOMSE", "*:0"),
            ("LEASE_TTL_SECONDS", "soon"),
        ] {
            values.insert(name, value.into());
        }
        let config = read(&values).unwrap();
        assert_eq!((config.site.contact(), config.admin_keys.is_empty()), (None, true));
        assert_eq!(config.lease_ttl, 30, "not of a deployed service");
        let mut names: Vec<_> =
            config.warnings.iter().map(|m| m.split(':').next().unwrap().to_owned()).collect();
        names.sort();
        let mut expected = [
            "CONTACT_URL",
            "CONTACT_EMAIL",
            "TERMS_URL",
            "STATUS_URL",
            "CHECKOUT_URLS",
            "ADMIN_SECRET_ANN",
            "HOMSE",
            "LEASE_TTL_SECONDS",
        ];
        expected.sort_unstable();
        assert_eq!(names, expected);
        // A ring of which nothing can be read would refuse what it should accept.
        values.insert("OPERATOR_SECRET_20261128T0130_bf4257beeb", "short".into());
        let mistakes = read(&values).unwrap_err();
        assert!(mistakes[0].starts_with("OPERATOR_SECRET_20261128T0130"), "{mistakes:?}");
    }

    #[test]
    fn a_value_that_isnt_the_one_of_its_name_is_left_out_while_there_is_another() {
        let mut values = values();
        let unfit = [
            "SESSION_SECRET_20261128T0130_0000000000",
            "SESSION_SECRET_20261328T0130_bf4257beeb",
            "SESSION_SECRET_20261128T01300_bf4257beeb",
            "SESSION_SECRET_20261128_bf4257beeb",
            "SESSION_SECRET_é0261128T013_bf4257beeb",
            "SESSION_SECRET_A",
        ];
        for name in unfit {
            values.insert(name, "w".repeat(43));
        }
        let config = read(&values).unwrap();
        assert_eq!(config.session_secrets.ids().collect::<Vec<_>>(), ["bf4257beeb"]);
        for name in unfit {
            let named = |warning: &String| warning.starts_with(&format!("{name}: "));
            assert!(config.warnings.iter().any(named), "{name}");
        }
    }

    #[test]
    fn a_value_signs_ten_minutes_after_the_minute_in_its_name_in_an_isolate_that_lives_on() {
        let mut values = values();
        values.insert("SESSION_SECRET_20261128T0200_7c2a11c963", "0".repeat(43));
        let config = read(&values).unwrap();
        // 2026-11-28T02:09:59Z
        let before = 1_795_831_799;
        for (now, signs) in [(before, "bf4257beeb"), (before + 1, "7c2a11c963")] {
            config.turn_rings(now);
            assert_eq!(config.session_secrets.signing().0, signs, "{now}");
        }
    }

    #[test]
    fn a_service_may_begin_without_an_origin() {
        let mut values = values();
        values.remove("ORIGINS");
        assert_eq!(read(&values).unwrap().origins, [""; 0]);
    }

    #[test]
    fn origins_are_asked_in_the_clear_on_this_machine_only() {
        let mistakes = |origins: &str| {
            let mut values = values();
            values.insert("ORIGINS", origins.into());
            read(&values).err().unwrap_or_default()
        };
        for fine in
            ["http://localhost:8788", "http://[::1]:8788", "http://127.1.2.3", "https://a.example"]
        {
            assert_eq!(mistakes(fine), [""; 0], "{fine}");
        }
        for wrong in [
            "http://a.example",
            "http://10.0.0.1:8788",
            "http://localhost.example",
            "http://localhost:1@a.example",
            "http://127.0.0.1.a.example",
            "https://a.example,http://b.example",
        ] {
            assert_eq!(
                mistakes(wrong),
                ["ORIGINS: expected https, http only on this machine"],
                "{wrong}"
            );
        }
    }

    #[test]
    fn the_budget_ends_before_the_lease() {
        let mut values = values();
        values.insert("PORTAL_URL", "http://127.0.0.1:8787".into());
        values.insert("LEASE_TTL_SECONDS", "15".into());
        values.insert("UPSTREAM_BUDGET_MS", "14999".into());
        assert!(read(&values).is_ok());
        values.insert("UPSTREAM_BUDGET_MS", "15000".into());
        let mistakes = read(&values).unwrap_err();
        assert_eq!(mistakes, ["UPSTREAM_BUDGET_MS: expected less than LEASE_TTL_SECONDS"]);
    }

    #[test]
    fn hides_secrets_from_debug() {
        let mut values = values();
        values.insert("TURNSTILE_SECRET", "0x4wwww".into());
        let shown = format!("{:?}", read(&values).unwrap());
        assert!(shown.contains("bf4257beeb") && !shown.contains("wwww"), "{shown}");
        assert!(shown.contains("https://challenges.cloudflare.com/turnstile/v0/siteverify"));
    }
}

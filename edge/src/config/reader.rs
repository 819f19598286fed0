//! Reads variables and secrets into types, and collects mistakes. After one, an `Option` is `None`.

use std::net::IpAddr;

use rcpt_shared::Address;
use secrecy::SecretString;

use super::{
    DAY_S, HOUR_S, Homes, RetryTimes, Site, Throttle,
    names::{self, BUDGETS, SETTINGS, TEST_NUMBERS},
    site::Checkout,
};
use crate::{
    credentials::admin_keys::{self, AdminKeys},
    limits::rules::Rule,
    outbound::turnstile::Turnstile,
};

fn is_loopback(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

pub fn is_on_this_machine(portal_url: &str) -> bool {
    portal_url.split_once("://").is_some_and(|(_, rest)| is_loopback(rest))
}

/// `optional` isn't inlined: it is called for many values, and the Worker's size is limited.
pub struct Reader<'a> {
    value: &'a dyn Fn(&str) -> Option<String>,
    /// Names of the variables, secrets and bindings.
    pub names: &'a [String],
    /// Settings without which answers would be wrong: the service stops.
    pub mistakes: Vec<String>,
    /// Settings without which the service goes on.
    pub warnings: Vec<String>,
    pub is_local: bool,
}

impl<'a> Reader<'a> {
    pub fn new(value: &'a dyn Fn(&str) -> Option<String>, names: &'a [String]) -> Self {
        Self { value, names, mistakes: Vec::new(), warnings: Vec::new(), is_local: false }
    }

    /// Names the settings that nothing reads.
    pub fn look_for_unknown(&mut self) {
        let is_known = |name: &str| {
            let is_listed = SETTINGS.contains(&name) || BUDGETS.contains(&name);
            is_listed || names::is_secret(name) || self.has_number(name)
        };
        let is_text = |name: &str| (self.value)(name).is_some();
        let unknown = self.names.iter().filter(|name| is_text(name) && !is_known(name));
        let unknown: Vec<_> = unknown.map(|name| names::unknown(name)).collect();
        self.warnings.extend(unknown);
    }

    fn has_number(&self, name: &str) -> bool {
        self.is_local && TEST_NUMBERS.contains(&name)
    }

    pub fn text(&mut self, name: &str) -> String {
        let text = (self.value)(name).map(|text| text.trim().to_owned()).unwrap_or_default();
        if text.is_empty() {
            self.mistakes.push(format!("{name}: missing"));
        }
        text
    }

    pub fn url(&mut self, name: &str) -> String {
        let text = self.text(name);
        self.check_url(name, text)
    }

    fn check_url(&mut self, name: &str, text: String) -> String {
        let is_http = text.starts_with("https://") || text.starts_with("http://");
        if !text.is_empty() && !is_http {
            self.mistakes.push(format!("{name}: expected an http(s) URL"));
        }
        text.trim_end_matches('/').to_owned()
    }

    pub fn site(&mut self) -> Site {
        let contact_url = self.optional_url("CONTACT_URL");
        let contact_email = self.optional("CONTACT_EMAIL");
        let contact_email = contact_email.filter(|text| {
            let is_address = Address::parse(text).is_ok();
            if !is_address {
                self.warnings.push("CONTACT_EMAIL: expected an email address".to_owned());
            }
            is_address
        });
        let terms_url = self.optional_url("TERMS_URL");
        let status_url = self.optional_url("STATUS_URL");
        let checkouts = Checkout::parse_all(&self.optional("CHECKOUT_URLS").unwrap_or_default());
        let checkouts = checkouts.unwrap_or_else(|mistakes| {
            let named_mistakes =
                mistakes.into_iter().map(|mistake| format!("CHECKOUT_URLS: {mistake}"));
            self.warnings.extend(named_mistakes);
            Vec::new()
        });
        Site { contact_url, contact_email, terms_url, status_url, checkouts }
    }

    #[inline(never)]
    pub fn optional(&self, name: &str) -> Option<String> {
        let text = (self.value)(name)?.trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    fn optional_url(&mut self, name: &str) -> Option<String> {
        let url = self.optional(name)?;
        let is_url = url.starts_with("https://") || url.starts_with("http://");
        if !is_url {
            self.warnings.push(format!("{name}: expected an http(s) URL"));
        }
        is_url.then_some(url)
    }

    pub fn origins(&mut self, name: &str) -> Vec<String> {
        let list = self.optional(name).unwrap_or_default();
        let urls = list.split(',').map(str::trim).filter(|url| !url.is_empty());
        urls.map(|url| self.origin(name, url)).collect()
    }

    /// `off` means no resolver.
    pub fn resolver(&mut self, name: &str, default: &str) -> Option<String> {
        let text = (self.value)(name).unwrap_or_else(|| default.to_owned());
        let text = text.trim();
        (text != "off").then(|| self.origin(name, text))
    }

    /// The URL must be HTTPS unless it is on this machine: an origin receives an address and a ticket, a resolver a
    /// domain, and Turnstile a token and our secret.
    fn origin(&mut self, name: &str, url: &str) -> String {
        if url.strip_prefix("http://").is_some_and(|rest| !is_loopback(rest)) {
            self.mistakes.push(format!("{name}: expected https, http only on this machine"));
        }
        self.check_url(name, url.to_owned())
    }

    /// Rejects a budget that outlasts the lease: once the lease has expired, a verdict can't be charged.
    pub fn check_budget(&mut self, name: &str, budget_ms: u64, lease_ttl: u64) {
        if budget_ms >= lease_ttl.saturating_mul(1000) {
            self.mistakes.push(format!("{name}: expected less than LEASE_TTL_SECONDS"));
        }
    }

    pub fn retries(&mut self, name: &str) -> RetryTimes {
        let text = (self.value)(name).filter(|_| self.has_number(name));
        let Some(text) = text else { return RetryTimes::default() };
        let times: Result<Vec<u64>, _> =
            text.split(',').map(|part| part.trim().parse::<u64>()).collect();
        match times {
            Ok(times)
                if times.len() <= RetryTimes::RETRIES_MAX
                    && times.iter().all(|t| *t <= DAY_S / 4) =>
            {
                RetryTimes(times)
            }
            _ => {
                let most = RetryTimes::RETRIES_MAX;
                let mistake =
                    format!("{name}: expected at most {most} numbers of seconds, up to 21600");
                self.mistakes.push(mistake);
                RetryTimes::default()
            }
        }
    }

    pub fn homes(&mut self, name: &str, databases: usize) -> Option<Homes> {
        let text = (self.value)(name).unwrap_or_else(|| "*:0".to_owned());
        let homes = Homes::parse(&text, databases);
        let mistakes = homes.as_ref().err().into_iter().flatten();
        self.mistakes.extend(mistakes.map(|mistake| format!("{name}: {mistake}")));
        homes.ok()
    }

    pub fn throttle(&mut self) -> Throttle {
        let mut rule = |attempts, burst, seconds, interval| Rule {
            burst: self.number(attempts, burst, 1, 1_000_000_000),
            interval: self.number(seconds, interval, 1, DAY_S),
        };
        // Slightly more than the 100 consecutive failures that NIST SP 800-63B §3.2.2 allows (docs/security.md): twenty
        // attempts, then one every 15 minutes, make 116 on the first day and 96 on each further day.
        let account =
            rule("THROTTLE_ACCOUNT_FREE_ATTEMPTS", 20, "THROTTLE_ACCOUNT_SECONDS", 15 * 60);
        // Allows for an office behind one address; successful attempts don't count.
        let network = rule("THROTTLE_NETWORK_FREE_ATTEMPTS", 100, "THROTTLE_NETWORK_SECONDS", 6);
        // One address gets at most three emails an hour, resets included; registrations can't use the third.
        let registration_mail =
            rule("REGISTRATION_MAILS_FREE", 2, "REGISTRATION_MAILS_SECONDS", HOUR_S);
        let reset_mail = rule("RESET_MAILS_FREE", 1, "RESET_MAILS_SECONDS", HOUR_S);
        // Lets 60 people behind one address register within an hour (docs/security.md, B5).
        let mails_of_network = rule("MAILS_NETWORK_FREE", 60, "MAILS_NETWORK_SECONDS", 10 * 60);
        let mails_of_site = rule("MAILS_SITE_FREE", 120, "MAILS_SITE_SECONDS", 3 * 60);
        // A hash takes about 40 ms, so 300 a minute take a fifth of the isolate's time.
        let hashes_per_minute = self.number("PASSWORD_HASHES_PER_MINUTE", 300, 1, 1_000_000_000);
        let account_requests_per_second =
            self.number("ACCOUNT_REQUESTS_PER_SECOND", 10, 1, 1_000_000_000);
        let mut per_day = |name| self.number(name, 2_000, 1, 1_000_000_000);
        let registrations_per_day = per_day("REGISTRATION_MAILS_PER_DAY");
        let resets_per_day = per_day("RESET_MAILS_PER_DAY");
        Throttle {
            account,
            network,
            registration_mail,
            reset_mail,
            mails_of_network,
            mails_of_site,
            all_registration_mails: Rule::per_day(registrations_per_day),
            all_reset_mails: Rule::per_day(resets_per_day),
            all_exempt_reset_mails: Rule::per_day(resets_per_day.div_ceil(2)),
            hashes_per_minute,
            account_requests_per_second,
        }
    }

    /// `None` unless its secret is set.
    pub fn turnstile(&mut self) -> Option<Turnstile> {
        let secret = SecretString::from(self.optional("TURNSTILE_SECRET")?);
        let url = self.optional("TURNSTILE_URL");
        let url =
            url.as_deref().unwrap_or("https://challenges.cloudflare.com/turnstile/v0/siteverify");
        Some(Turnstile { url: self.origin("TURNSTILE_URL", url), secret })
    }

    /// Reads the secrets of the operators: one name each.
    pub fn admin_keys(&mut self) -> AdminKeys {
        let mut keys = AdminKeys::default();
        for name in self.names.iter().filter(|name| name.starts_with(admin_keys::PREFIX)) {
            if let Some(value) = self.optional(name)
                && let Err(mistake) = keys.add(name, &value)
            {
                self.warnings.push(format!("{name}: {mistake}"));
            }
        }
        keys
    }

    pub fn number(&mut self, name: &str, default: u64, least: u64, most: u64) -> u64 {
        let text = (self.value)(name).filter(|_| BUDGETS.contains(&name) || self.has_number(name));
        let Some(text) = text else { return default };
        match text.trim().parse() {
            Ok(number) if (least..=most).contains(&number) => number,
            _ => {
                self.mistakes.push(format!("{name}: expected a number from {least} to {most}"));
                default
            }
        }
    }
}

//! What is throttled, by whom, and how much: the rules behind `store/throttle.rs`.

use std::net::IpAddr;

use crate::account::AccountId;

/// How attempts under one key are limited: a bucket that drains.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Attempts that fit at once.
    pub burst: u64,
    /// Seconds in which one drains.
    pub interval: u64,
}

impl Rule {
    /// So many a day, a quarter of them at once.
    pub fn per_day(attempts: u64) -> Self {
        let attempts = attempts.max(1);
        Self { burst: (attempts / 4).max(1), interval: (24 * 60 * 60 / attempts).max(1) }
    }

    /// Seconds from `now` until one more attempt fits, for a bucket that will have drained at
    /// `drained_at` (both unix seconds); at least 1.
    pub fn wait(self, drained_at: u64, now: u64) -> u64 {
        let room = self.burst.saturating_sub(1).saturating_mul(self.interval);
        drained_at.saturating_sub(now.saturating_add(room)).max(1)
    }
}

/// What is attempted and by whom or on whom. Holds hashes and ids, no address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    #[inline(never)]
    fn of(kind: &str, what: &str) -> Self {
        Self([kind, ":", what].concat())
    }

    /// Anything from one network that costs us a hash or a mail.
    pub fn network(network_hash: &str) -> Self {
        Self::of("network", network_hash)
    }

    /// Sign-in to the account of an address, whether or not there is one.
    pub fn sign_in(address_hash: &str) -> Self {
        Self::of("sign-in", address_hash)
    }

    /// Mails that a registration of an address causes.
    pub fn registration_mail(address_hash: &str) -> Self {
        Self::of("registration-mail", address_hash)
    }

    /// Reset links mailed to an address.
    pub fn reset_mail(address_hash: &str) -> Self {
        Self::of("reset-mail", address_hash)
    }

    /// All mails that strangers can cause: to addresses without a confirmed account, and registrations.
    pub fn all_registration_mails() -> Self {
        Self("all-registration-mails".to_owned())
    }

    /// All reset links of confirmed accounts: a flood of registrations must not use these up.
    pub fn all_reset_mails() -> Self {
        Self("all-reset-mails".to_owned())
    }

    /// Two-factor codes of an account, after its password.
    pub fn code(account: AccountId) -> Self {
        Self::of("code", &account.to_string())
    }

    /// Codes beside one mailed reset link: only who has the link can use these up.
    pub fn reset(token_hash: &str) -> Self {
        Self::of("reset", token_hash)
    }

    /// The password, asked again within a session.
    pub fn password(account: AccountId) -> Self {
        Self::of("password", &account.to_string())
    }

    /// Test deliveries to an account's webhook: we are not to be used to flood a server.
    pub fn webhook_test(account: AccountId) -> Self {
        Self::of("webhook-test", &account.to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The network that a client's address stands for: the address itself for IPv4, its /64 for IPv6,
/// which one customer has whole (RFC 6177).
pub fn network_of(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

/// The /48 of an IPv6 client: what one subscriber may get, 65,536 networks of [`network_of`].
pub fn site_of(address: IpAddr) -> Option<String> {
    match address.to_canonical() {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => {
            let [a, b, c, ..] = address.segments();
            Some(format!("{a:x}:{b:x}:{c:x}::/48"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Rule, network_of, site_of};

    #[test]
    fn networks_of_one_site_are_told_to_belong_together() {
        let site = |text: &str| site_of(text.parse().unwrap());
        assert_eq!(site("2001:db8:1:2::1"), site("2001:db8:1:ffff::9"));
        assert_ne!(site("2001:db8:1::1"), site("2001:db8:2::1"));
        assert_eq!(site("192.0.2.7"), None);
    }

    #[test]
    fn the_wait_is_until_one_attempt_has_drained() {
        let rule = Rule { burst: 3, interval: 10 };
        // Full: three attempts at second 100.
        assert_eq!(rule.wait(130, 100), 10);
        assert_eq!(rule.wait(130, 109), 1);
        let daily = Rule::per_day(2_000);
        assert_eq!((daily.burst, daily.interval), (500, 43));
    }

    #[test]
    fn ipv6_clients_are_told_apart_by_their_64_and_mapped_ones_by_their_ipv4() {
        let network = |text: &str| network_of(text.parse().unwrap());
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("2001:db8:1:2:3::4"), network("2001:db8:1:2:ffff::1"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
    }

    /// 200 people behind one address for a week, each signing in a hundred times a day and mistyping one
    /// password in ten; what turns out well is given back (docs/trust.md, B5).
    #[test]
    fn an_office_behind_one_address_never_waits_a_minute() {
        let rule = Rule { burst: 100, interval: 6 };
        let mut seed = 20_261_121_u64;
        let mut random = move || {
            // xorshift64
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let (mut drained_at, mut longest, mut attempts) = (0_u64, 0, 0);
        for now in 0..7 * 24 * 60 * 60_u64 {
            // 20,000 attempts a day, all of them in the eight hours of work.
            let at_work = now % 86_400 < 8 * 3_600;
            if !at_work || random() % 1_000 >= 694 {
                continue;
            }
            attempts += 1;
            if drained_at > now + (rule.burst - 1) * rule.interval {
                longest = longest.max(rule.wait(drained_at, now));
            } else if random() % 10 == 0 {
                drained_at = drained_at.max(now) + rule.interval;
            }
        }
        println!("{attempts} attempts, longest wait {longest} s, \u{2264} 60 allowed");
        assert!(attempts > 100_000 && longest <= 60, "{longest}");
    }
}

//! Rules of the throttle: which attempts are limited, for which party, and how many.

use std::net::IpAddr;

use crate::account::AccountId;

const DAY_S: u64 = 24 * 60 * 60;

/// Limit on the attempts under one key, as a leaky bucket.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Capacity of the bucket, in attempts.
    pub burst: u64,
    /// Seconds until one attempt has drained.
    pub interval: u64,
}

impl Rule {
    /// Allows `attempts` a day, half of them as a burst. A gate with a reserve keeps a third of
    /// that half for parties without an attempt in the last day: 333 of 2,000 (docs/security.md, B9).
    pub fn per_day(attempts: u64) -> Self {
        let attempts = attempts.max(1);
        Self { burst: (attempts / 2).max(1), interval: (DAY_S / attempts).max(1) }
    }

    pub const DAILY: Self = Self { burst: 1, interval: DAY_S };

    /// The bucket's capacity without its reserve, which is a third.
    pub const fn unreserved(self) -> u64 {
        self.burst.saturating_sub(self.burst / 3)
    }

    /// Seconds from `now` until another attempt fits into a bucket that will have drained at `drained_at` (both in Unix
    /// seconds); at least 1.
    pub fn wait(self, drained_at: u64, now: u64) -> u64 {
        let room = self.burst.saturating_sub(1).saturating_mul(self.interval);
        drained_at.saturating_sub(now.saturating_add(room)).max(1)
    }
}

#[derive(Debug, Clone)]
pub struct Gate {
    pub key: Key,
    pub rule: Rule,
    /// Counts parties for the rule's reserve: a third of its capacity is kept for parties without an
    /// attempt in the last day.
    pub reserve: Option<Box<Self>>,
}

impl Gate {
    pub const fn new(key: Key, rule: Rule) -> Self {
        Self { key, rule, reserve: None }
    }

    pub fn wait(&self, drained_at: u64, now: u64) -> u64 {
        let Rule { burst, interval } = self.rule;
        let full = now.saturating_add(burst.saturating_sub(1).saturating_mul(interval));
        let is_reserved = self.reserve.is_some() && drained_at <= full;
        let burst = if is_reserved { self.rule.unreserved() } else { burst };
        Rule { burst, interval }.wait(drained_at, now)
    }

    /// `party` is the current one.
    #[must_use]
    pub fn reserved_for(self, party: Key) -> Self {
        Self { reserve: Some(Box::new(Self::new(party, Rule::DAILY))), ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(String);

/// Purpose of an email that anyone can cause. Each purpose has separate limits, so that flooding
/// one purpose doesn't affect the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailPurpose {
    Registration,
    Reset,
}

impl MailPurpose {
    const fn names(self) -> [&'static str; 4] {
        match self {
            Self::Registration => [
                "registration-mail",
                "registration-network",
                "registration-first",
                "all-registration-mails",
            ],
            Self::Reset => ["reset-mail", "reset-network", "reset-first", "all-reset-mails"],
        }
    }
}

impl Key {
    fn of(kind: &str, what: &str) -> Self {
        Self([kind, ":", what].concat())
    }

    pub fn network(network_hash: &str) -> Self {
        Self::of("network", network_hash)
    }

    pub fn sign_in(mailbox_hash: &str) -> Self {
        Self::of("sign-in", mailbox_hash)
    }

    pub fn mail(purpose: MailPurpose, mailbox_hash: &str) -> Self {
        Self::of(purpose.names()[0], mailbox_hash)
    }

    pub fn mails_of_network(purpose: MailPurpose, network_hash: &str) -> Self {
        Self::of(purpose.names()[1], network_hash)
    }

    pub fn first_mail_of_site(purpose: MailPurpose, site_hash: &str) -> Self {
        Self::of(purpose.names()[2], site_hash)
    }

    pub fn all_mails(purpose: MailPurpose) -> Self {
        Self(purpose.names()[3].to_owned())
    }

    pub fn all_verified_mails(purpose: MailPurpose) -> Self {
        Self(["verified-", purpose.names()[3]].concat())
    }

    /// Counts reset links mailed to a confirmed account although the total budget was used up.
    pub fn exempt_reset_mail(mailbox_hash: &str) -> Self {
        Self::of("exempt-reset-mail", mailbox_hash)
    }

    pub fn all_exempt_reset_mails() -> Self {
        Self("all-exempt-reset-mails".to_owned())
    }

    /// Set while the reader of a mailbox has opted out of emails caused by others.
    pub fn opt_out(mailbox_hash: &str) -> Self {
        Self::of("opt-out", mailbox_hash)
    }

    /// Set for thirty days on the mailbox of a deleted account, and on one that an account has moved from.
    pub fn former(mailbox_hash: &str) -> Self {
        Self::of("former", mailbox_hash)
    }

    pub fn code(account: AccountId) -> Self {
        Self::of("code", &account.to_string())
    }

    /// Counts codes entered with an account's mailed reset link: only a reader of its mailbox can use up these
    /// attempts.
    pub fn reset_code(account: AccountId) -> Self {
        Self::of("reset-code", &account.to_string())
    }

    /// Counts passwords entered again within a session, or with the link to a new address.
    pub fn password(account: AccountId) -> Self {
        Self::of("password", &account.to_string())
    }

    pub fn email_change(account: AccountId) -> Self {
        Self::of("email-change", &account.to_string())
    }

    pub fn operator(person: &str) -> Self {
        Self::of("operator", person)
    }

    pub fn export(account: AccountId) -> Self {
        Self::of("export", &account.to_string())
    }

    /// Counts test deliveries to an account's webhook, which mustn't be used to flood a server.
    pub fn webhook_test(account: AccountId) -> Self {
        Self::of("webhook-test", &account.to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The network of a client's address: the address itself for IPv4, its /64 for IPv6, which belongs to one customer
/// (RFC 6177).
pub fn network_of(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

/// The /48 of an IPv6 client: a subscriber's largest usual assignment, 65,536 networks of [`network_of`].
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
    use std::collections::HashSet;

    use super::{Gate, Key, MailPurpose, Rule, network_of, site_of};
    use crate::account::AccountId;

    #[test]
    fn each_attempt_is_counted_for_its_own_party_and_purpose_alone() {
        let texts = ["one", "other"].into_iter().flat_map(|text| {
            let of_mails = [MailPurpose::Registration, MailPurpose::Reset].map(|purpose| {
                [
                    Key::mail(purpose, text),
                    Key::mails_of_network(purpose, text),
                    Key::first_mail_of_site(purpose, text),
                ]
            });
            let others = [
                Key::network(text),
                Key::sign_in(text),
                Key::exempt_reset_mail(text),
                Key::opt_out(text),
                Key::former(text),
                Key::operator(text),
            ];
            of_mails.into_iter().flatten().chain(others)
        });
        let accounts = [1, 2].map(AccountId::from_u64).into_iter().flat_map(|account| {
            [
                Key::code(account),
                Key::reset_code(account),
                Key::password(account),
                Key::email_change(account),
                Key::export(account),
                Key::webhook_test(account),
            ]
        });
        let of_all = [MailPurpose::Registration, MailPurpose::Reset]
            .map(|purpose| [Key::all_mails(purpose), Key::all_verified_mails(purpose)]);
        let of_all = of_all.into_iter().flatten().chain([Key::all_exempt_reset_mails()]);
        let keys: Vec<_> = texts.chain(accounts).chain(of_all).collect();
        let names: HashSet<_> = keys.iter().map(Key::as_str).collect();
        assert_eq!(names.len(), keys.len(), "{keys:?}");
    }

    /// Six of nine attempts are for everybody, and the rest for parties that come for the first time.
    #[test]
    fn whoever_finds_only_the_reserve_left_waits_until_it_is_whole_again() {
        let rule = Rule { burst: 9, interval: 10 };
        let plain = Gate::new(Key::network("n"), rule);
        let reserved = plain.clone().reserved_for(Key::network("party"));
        // Used attempts and the seconds until one more fits.
        for (used, without, with) in [(7, 1, 20), (8, 1, 30), (9, 10, 10)] {
            let drained_at = 1_000 + used * rule.interval;
            let waits = [&plain, &reserved].map(|gate| gate.wait(drained_at, 1_000));
            assert_eq!(waits, [without, with], "{used}");
        }
        let party = reserved.reserve.unwrap();
        assert_eq!((party.key, party.rule.burst), (Key::network("party"), 1), "one a day");
    }

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
        // The bucket is full: three attempts at second 100.
        assert_eq!(rule.wait(130, 100), 10);
        assert_eq!(rule.wait(130, 109), 1);
        let daily = Rule::per_day(2_000);
        assert_eq!((daily.burst, daily.interval), (1_000, 43));
        assert_eq!(daily.unreserved(), 667);
        let small = [1, 2, 3].map(|burst| Rule { burst, interval: 1 }.unreserved());
        assert_eq!(small, [1, 2, 2], "a budget without room for a reserve has none");
    }

    #[test]
    fn ipv6_clients_are_told_apart_by_their_64_and_mapped_ones_by_their_ipv4() {
        let network = |text: &str| network_of(text.parse().unwrap());
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("2001:db8:1:2:3::4"), network("2001:db8:1:2:ffff::1"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
    }

    /// A bucket of the day's emails with its reserve, by the rules in `throttle.rs`.
    struct Budget {
        rule: Rule,
        drained_at: u64,
    }

    impl Budget {
        fn admits(&mut self, now: u64, took_at: &mut Option<u64>) -> bool {
            let is_fresh = took_at.is_none_or(|at| now >= at + Rule::DAILY.interval);
            let burst = if is_fresh { self.rule.burst } else { self.rule.unreserved() };
            let admitted = self.drained_at <= now + (burst - 1) * self.rule.interval;
            if admitted {
                self.drained_at = self.drained_at.max(now) + self.rule.interval;
                if is_fresh {
                    *took_at = Some(now);
                }
            }
            admitted
        }
    }

    /// For a week, 300 networks cause as many emails as allowed, each at the worst moment: as soon as
    /// its day has passed. Every ten minutes a new network requests one (docs/security.md, B9).
    #[test]
    fn a_fresh_network_gets_its_email_beside_three_hundred_that_take_what_they_can() {
        let of_network = Rule { burst: 60, interval: 600 };
        let mut all = Budget { rule: Rule::per_day(2_000), drained_at: 0 };
        let mut attackers = vec![(0, None); 300];
        let (mut taken, mut honest) = (0, 0);
        for now in (0..7 * 24 * 60 * 60_u64).step_by(10) {
            for (drained_at, took_at) in &mut attackers {
                while *drained_at <= now + (of_network.burst - 1) * of_network.interval
                    && all.admits(now, took_at)
                {
                    *drained_at = now.max(*drained_at) + of_network.interval;
                    taken += 1;
                }
            }
            if now % 600 == 0 {
                assert!(all.admits(now, &mut None), "second {now}: {taken} taken");
                honest += 1;
            }
        }
        println!("300 networks took {taken} emails in a week; {honest} fresh networks got theirs");
        assert!(taken > 10_000 && honest == 1_008, "{taken} {honest}");
    }

    /// 200 people behind one address for a week: each signs in a hundred times a day and mistypes
    /// one password in ten. Successful attempts don't count (docs/security.md, B5).
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
            // 20,000 attempts a day, all within eight working hours.
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

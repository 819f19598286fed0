//! What is throttled, by whom, and how much: the rules behind `store/throttle.rs`.

use std::net::IpAddr;

use crate::account::AccountId;

/// How attempts under one key are limited. All limits are vars.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Attempts before the first wait.
    pub free_attempts: u64,
    /// Seconds; waits double from 2 s up to this.
    pub longest_wait: u64,
    /// Seconds without attempts after which they are forgotten.
    pub forget_after: u64,
}

/// What is attempted and by whom or on whom. Holds hashes and ids, no address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Anything from one network that costs us a hash or a mail.
    pub fn network(network_hash: &str) -> Self {
        Self(format!("network:{network_hash}"))
    }

    /// Sign-in to the account of an address, whether or not there is one.
    pub fn sign_in(address_hash: &str) -> Self {
        Self(format!("sign-in:{address_hash}"))
    }

    /// Registrations of an address, each of which mails it.
    pub fn registration(address_hash: &str) -> Self {
        Self(format!("registration:{address_hash}"))
    }

    /// Reset links mailed to an address.
    pub fn reset_mail(address_hash: &str) -> Self {
        Self(format!("reset-mail:{address_hash}"))
    }

    /// Two-factor codes of an account, after its password.
    pub fn code(account: AccountId) -> Self {
        Self(format!("code:{account}"))
    }

    /// Codes beside one mailed reset link: only who has the link can use these up.
    pub fn reset(token_hash: &str) -> Self {
        Self(format!("reset:{token_hash}"))
    }

    /// The password, asked again within a session.
    pub fn password(account: AccountId) -> Self {
        Self(format!("password:{account}"))
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

#[cfg(test)]
mod tests {
    use super::network_of;

    #[test]
    fn ipv6_clients_are_told_apart_by_their_64_and_mapped_ones_by_their_ipv4() {
        let network = |text: &str| network_of(text.parse().unwrap());
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("2001:db8:1:2:3::4"), network("2001:db8:1:2:ffff::1"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
    }
}

//! A delivery attempt for a webhook. Only the response's status is read.
//!
//! The runtime doesn't reveal the address it connects to. So the name is resolved first, and must lead to the public
//! Internet; the runtime may fetch from nowhere else (wrangler.toml, `global_fetch_strictly_public`).

use std::net::IpAddr;

use super::url::host;
use crate::{cf::fetch::OutgoingRequest, outbound::dns::resolve};

/// Time limit in milliseconds; slower servers are retried later. At the limit, an unread body is aborted as well.
const PATIENCE_MS: u32 = 5_000;

#[derive(Debug)]
pub struct DeliveryAttempt<'a> {
    pub url: &'a str,
    pub id: &'a str,
    pub timestamp: u64,
    pub signature: &'a str,
    pub body: &'a str,
}

/// Result of an attempt: an HTTP status, or the kind of failure.
pub type ReceiverAnswer = Result<u16, &'static str>;

const NO_ANSWER: ReceiverAnswer = Err("no_answer");
const NOT_PUBLIC: ReceiverAnswer = Err("not_public");
const NO_DNS: ReceiverAnswer = Err("no_dns");

/// Sends the attempt. If `dns_url` is set, the resolver there must first confirm that the name
/// resolves to public addresses only.
pub async fn send(dns_url: Option<&str>, attempt: &DeliveryAttempt<'_>) -> ReceiverAnswer {
    if let Some(dns_url) = dns_url {
        let mut count = 0;
        for kind in ["A", "AAAA"] {
            let Some(found) = resolve(dns_url, host(attempt.url), kind).await else {
                return NO_DNS;
            };
            if !found.addresses().all(is_public) {
                return NOT_PUBLIC;
            }
            count += found.addresses().count();
        }
        if count == 0 {
            return NO_DNS;
        }
    }
    let event = OutgoingRequest {
        url: attempt.url,
        headers: &[
            ("Content-Type", "application/json"),
            ("User-Agent", "rcpt-webhook"),
            ("webhook-id", attempt.id),
            ("webhook-timestamp", &attempt.timestamp.to_string()),
            ("webhook-signature", attempt.signature),
        ],
        body: Some(attempt.body),
        timeout_ms: PATIENCE_MS,
    };
    event.send().await.map_or(NO_ANSWER, |reply| Ok(reply.status()))
}

/// True for an address on the public Internet (the registries of RFC 6890). Text that isn't an address isn't public.
fn is_public(address: &str) -> bool {
    match address.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(IpAddr::V4(address)) => {
            let [a, b, c, _] = address.octets();
            !(address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_documentation()
                || matches!(
                    (a, b, c),
                    (0 | 224.., ..) | (100, 64..=127, _) | (192, 0, 0) | (198, 18 | 19, _)
                ))
        }
        // Allocated addresses begin with the bits 001; tunnel ranges among them may lead anywhere.
        Ok(IpAddr::V6(address)) => {
            let [a, b, ..] = address.segments();
            a & 0xe000 == 0x2000
                && a != 0x2002
                && !(a == 0x2001 && (b < 0x200 || b == 0xdb8))
                && a != 0x3fff
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn only_public_addresses_are_told() {
        for public in ["1.1.1.1", "100.63.0.1", "198.20.0.1", "2606:4700::1", "::ffff:8.8.8.8"] {
            assert!(is_public(public), "{public}");
        }
        for inside in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "fe80::1",
            "fc00::1",
            "ff02::1",
            "2001:db8::1",
            "2001:0:1::1",
            "2002:a00:1::1",
            "3fff::1",
            "localhost",
            "",
        ] {
            assert!(!is_public(inside), "{inside}");
        }
    }
}

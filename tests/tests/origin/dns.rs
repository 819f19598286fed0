//! Verdicts from DNS, against NSD, a real authoritative server (docs/security.md, P9), and the addresses that are
//! dialled afterwards.
//!
//! - Null and implicit MX, aliases, 1,000 MX records, truncated answers and SERVFAIL, each with its documented verdict.

use std::collections::BTreeMap;

use rcpt_shared::{
    Reason::{self, ConnectionFailed, DnsFailure, DomainNotFound, NoMx, NoUsableAddress, NullMx},
    Status::{self, Accepted, FatalException, NoMxRecords, Refused, SmtpConnectError},
    Verdict,
};
use rcpt_tests::{Answer, Nsd, Origin, SmtpServer, process::port, service::origin};
use tokio::{
    net::UdpSocket,
    sync::{OnceCell, mpsc},
};

/// Zone of the tests. Mail servers listen on the addresses in `SERVERS`, but not on 127.0.0.9x.
const ZONE: &str = "
order           MX 10 first.order
order           MX 20 second.order
first.order     A  127.0.0.11
second.order    A  127.0.0.12

failover        MX 10 down.failover
failover        MX 20 up.failover
down.failover   A  127.0.0.91
up.failover     A  127.0.0.13

two-addresses      MX 10 mx.two-addresses
mx.two-addresses   A  127.0.0.92
mx.two-addresses   A  127.0.0.14

*.equal         MX 10 one.equal
*.equal         MX 10 other.equal
one.equal       A  127.0.0.15
other.equal     A  127.0.0.16

null            MX 0  .
null            A  127.0.0.17

implicit        A  127.0.0.18
implicit-down   A  127.0.0.93
bare            TXT \"neither mail nor addresses\"

down            MX 10 mx.down
down            A  127.0.0.19
mx.down         A  127.0.0.94

alias           CNAME canonical
canonical       MX 10 mx.canonical
mx.canonical    A  127.0.0.20

mx-alias        MX 10 mx.mx-alias
mx.mx-alias     CNAME real.mx-alias
real.mx-alias   A  127.0.0.21

circle          CNAME circle-back
circle-back     CNAME circle

dangling        MX 10 gone.dangling
mute            MX 10 mx.mute
mx.mute         TXT \"no address\"

inside          MX 10 a.inside
inside          MX 20 b.inside
inside          MX 30 c.inside
a.inside        A    127.0.0.22
b.inside        A    10.0.0.1
b.inside        A    169.254.169.254
c.inside        AAAA ::1
c.inside        AAAA ::ffff:127.0.0.22

xn--bcher-kva   MX 10 mx.xn--bcher-kva
mx.xn--bcher-kva A 127.0.0.23
";

/// Addresses on which mail servers listen, by name.
const SERVERS: [(&str, &str); 15] = [
    ("first.order", "127.0.0.11"),
    ("second.order", "127.0.0.12"),
    ("up.failover", "127.0.0.13"),
    ("two-addresses", "127.0.0.14"),
    ("one.equal", "127.0.0.15"),
    ("other.equal", "127.0.0.16"),
    ("null", "127.0.0.17"),
    ("implicit", "127.0.0.18"),
    ("down", "127.0.0.19"),
    ("canonical", "127.0.0.20"),
    ("mx-alias", "127.0.0.21"),
    ("inside", "127.0.0.22"),
    ("idn", "127.0.0.23"),
    ("eleventh", "127.0.0.24"),
    ("of-thousand", "127.0.0.25"),
];

/// Connections of one check: its own, and perhaps one for the evidence, which may come after the answer.
const ONE_AND_EVIDENCE: std::ops::RangeInclusive<usize> = 1..=2;

struct World {
    nsd: Nsd,
    smtp_port: u16,
    origin: Origin,
    servers: BTreeMap<&'static str, SmtpServer>,
}

impl World {
    async fn start() -> Self {
        let (smtp_port, zone) = (port::free(), format!("{ZONE}{}", many_mx()));
        let zones = [("rcpt-tests.net", zone.as_str())];
        let nsd = Nsd::start(&zones, &["broken-zone.net"]).await.expect("NSD");
        let listen = |(name, ip): (&'static str, &str)| {
            let address = format!("{ip}:{smtp_port}").parse().expect("an address");
            // Evidence may be asked for in time or not: either way it says that someone exists.
            let answer = |recipient: &str| match recipient.starts_with("someone@") {
                true => Answer::accept(),
                false => Answer::unknown(),
            };
            (name, SmtpServer::start(address, answer).expect("a mail server"))
        };
        let servers = SERVERS.map(listen).into();
        let origin = resolving(&nsd, smtp_port).start().await.expect("origin");
        Self { nsd, smtp_port, origin, servers }
    }

    async fn shared() -> &'static Self {
        static WORLD: OnceCell<World> = OnceCell::const_new();
        WORLD.get_or_init(Self::start).await
    }

    /// The number of connections of a mail server.
    fn connections(&self, name: &str) -> usize {
        self.servers.get(name).expect("a known server").sessions().len()
    }
}

/// The records of two domains. `ten` has ten hosts that are down, and a last host that is up. `thousand` has a
/// thousand hosts, whose response of 50 KB doesn't fit into UDP; only the most preferred is up.
fn many_mx() -> String {
    let ten = (1..=10).map(|n| format!("ten MX {n} h{n}.ten\nh{n}.ten A 127.0.0.95\n"));
    let eleventh = "ten MX 11 up.ten\nup.ten A 127.0.0.24\n".to_owned();
    let host = |n: u32| format!("long-enough-to-fill-a-datagram-{n}.thousand");
    let thousand = (1..=1_000).map(|n| {
        let ip = if n == 1 { "127.0.0.25" } else { "127.0.0.96" };
        format!("thousand MX {n} {0}\n{0} A {ip}\n", host(n))
    });
    ten.chain([eleventh]).chain(thousand).collect()
}

fn resolving(nsd: &Nsd, smtp_port: u16) -> origin::OriginBuilder {
    let origin = Origin::builder().env("RCPT_SMTP_PORT", smtp_port.to_string());
    // Each check has a separate session, because these tests count connections.
    let origin = origin.env("RCPT_SESSION_RECIPIENTS", "1");
    origin.env("RCPT_NAMESERVERS", nsd.address().to_string())
}

async fn probe(domain: &str) -> Verdict {
    World::shared().await.origin.probe(&format!("someone@{domain}.rcpt-tests.net")).await
}

async fn gist(domain: &str) -> (Status, Reason) {
    let verdict = probe(domain).await;
    (verdict.status, verdict.reason)
}

#[tokio::test]
async fn the_host_with_the_lowest_preference_is_asked_and_no_other() {
    let world = World::shared().await;
    let verdict = probe("order").await;
    assert_eq!((verdict.status, verdict.reason), (Accepted, Reason::Accepted));
    assert_eq!(verdict.mx_host.as_deref(), Some("first.order.rcpt-tests.net"));
    let refused = world.origin.probe("nobody@order.rcpt-tests.net").await;
    assert_eq!((refused.status, refused.reason), (Refused, Reason::NoSuchMailbox));
    assert!(world.connections("first.order") > 0);
    assert_eq!(world.connections("second.order"), 0);
}

#[tokio::test]
async fn the_next_host_is_asked_when_the_first_is_down() {
    let verdict = probe("failover").await;
    assert_eq!(verdict.status, Accepted, "{verdict:?}");
    assert_eq!(verdict.mx_host.as_deref(), Some("up.failover.rcpt-tests.net"));
}

#[tokio::test]
async fn the_next_address_is_asked_when_one_of_a_host_is_down() {
    assert_eq!(gist("two-addresses").await, (Accepted, Reason::Accepted));
}

#[tokio::test]
async fn hosts_of_equal_preference_share_the_domains_and_each_keeps_its_own() {
    // Forty fair coins fall on one side once in 5 × 10¹¹ runs.
    for number in 0..40 {
        let domain = format!("domain-{number}.equal");
        let (first, again) = (probe(&domain).await, probe(&domain).await);
        assert_eq!((first.status, again.status), (Accepted, Accepted));
        assert_eq!(first.mx_host, again.mx_host, "{domain}");
    }
    let world = World::shared().await;
    assert!(world.connections("one.equal") > 0);
    assert!(world.connections("other.equal") > 0);
}

#[tokio::test]
async fn a_null_mx_means_no_mail_and_no_connection() {
    assert_eq!(gist("null").await, (NoMxRecords, NullMx));
    assert_eq!(World::shared().await.connections("null"), 0);
}

#[tokio::test]
async fn without_mx_the_domain_itself_is_asked() {
    assert_eq!(gist("implicit").await, (Accepted, Reason::Accepted));
    assert!(ONE_AND_EVIDENCE.contains(&World::shared().await.connections("implicit")));
}

#[tokio::test]
async fn without_mx_and_without_a_listener_the_connection_fails() {
    assert_eq!(gist("implicit-down").await, (SmtpConnectError, ConnectionFailed));
}

#[tokio::test]
async fn without_mx_and_without_address_there_is_no_mail() {
    assert_eq!(gist("bare").await, (NoMxRecords, NoMx));
}

#[tokio::test]
async fn where_there_is_an_mx_the_domain_itself_is_never_asked() {
    assert_eq!(gist("down").await, (SmtpConnectError, ConnectionFailed));
    assert_eq!(World::shared().await.connections("down"), 0);
}

#[tokio::test]
async fn a_domain_that_is_an_alias_is_followed() {
    assert_eq!(gist("alias").await, (Accepted, Reason::Accepted));
}

#[tokio::test]
async fn a_mail_host_that_is_an_alias_is_followed() {
    assert_eq!(gist("mx-alias").await, (Accepted, Reason::Accepted));
}

#[tokio::test]
async fn aliases_in_a_circle_lead_to_no_mail_host() {
    assert_eq!(gist("circle").await, (NoMxRecords, NoMx));
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_domain_not_found() {
    assert_eq!(gist("missing").await, (Status::DomainNotFound, DomainNotFound));
}

#[tokio::test]
async fn an_mx_to_a_name_that_does_not_exist_cannot_be_connected_to() {
    assert_eq!(gist("dangling").await, (SmtpConnectError, NoUsableAddress));
}

#[tokio::test]
async fn an_mx_to_a_name_without_address_cannot_be_connected_to() {
    assert_eq!(gist("mute").await, (SmtpConnectError, NoUsableAddress));
}

#[tokio::test]
async fn at_most_ten_hosts_are_tried() {
    assert_eq!(gist("ten").await, (SmtpConnectError, ConnectionFailed));
    assert_eq!(World::shared().await.connections("eleventh"), 0);
}

#[tokio::test]
async fn a_thousand_mail_hosts_too_many_for_a_datagram_are_all_read() {
    assert_eq!(gist("thousand").await, (Accepted, Reason::Accepted));
    assert!(ONE_AND_EVIDENCE.contains(&World::shared().await.connections("of-thousand")));
}

#[tokio::test]
async fn an_internationalised_domain_is_looked_up_by_its_a_labels() {
    assert_eq!(gist("bücher").await, (Accepted, Reason::Accepted));
    assert!(ONE_AND_EVIDENCE.contains(&World::shared().await.connections("idn")));
}

#[tokio::test]
async fn private_and_loopback_addresses_are_never_dialled() {
    let world = World::shared().await;
    let guarded = resolving(&world.nsd, world.smtp_port).env("RCPT_ALLOW_NETWORKS", "");
    let guarded = guarded.start().await.expect("origin");
    for domain in ["inside", "null", "implicit", "order"] {
        let before = world.connections("inside");
        let verdict = guarded.probe(&format!("someone@{domain}.rcpt-tests.net")).await;
        let expected = match domain {
            "null" => (NoMxRecords, NullMx),
            "implicit" => (NoMxRecords, NoMx),
            _ => (SmtpConnectError, NoUsableAddress),
        };
        assert_eq!((verdict.status, verdict.reason), expected, "{domain}");
        assert_eq!(world.connections("inside"), before);
    }
}

#[tokio::test]
async fn a_zone_that_cannot_be_loaded_is_our_failure_to_find_out() {
    let origin = &World::shared().await.origin;
    let servfail = origin.probe("someone@broken-zone.net").await;
    assert_eq!((servfail.status, servfail.reason), (FatalException, DnsFailure));
    let refused = origin.probe("someone@not-served-here.net").await;
    assert_eq!((refused.status, refused.reason), (FatalException, DnsFailure));
}

#[tokio::test]
async fn the_second_nameserver_answers_when_the_first_does_not() {
    let world = World::shared().await;
    let nameservers = format!("127.0.0.1:1,{}", world.nsd.address());
    let origin = resolving(&world.nsd, world.smtp_port).env("RCPT_NAMESERVERS", nameservers);
    let origin = origin.start().await.expect("origin");
    let verdict = origin.probe("someone@implicit-down.rcpt-tests.net").await;
    assert_eq!(verdict.reason, ConnectionFailed);
}

#[tokio::test]
async fn no_query_is_sent_for_names_of_special_use() {
    let nameserver = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let address = nameserver.local_addr().expect("an address").to_string();
    let (received, mut names) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut query = [0; 512];
        while let Ok((length, from)) = nameserver.recv_from(&mut query).await {
            // RFC 1035 §4.1: a header of 12 bytes, then the name; the root's is one byte of 0.
            if query[12] == 0 {
                // A reply, REFUSED, which shows that the nameserver works.
                (query[2], query[3]) = (0x80, 5);
                nameserver.send_to(&query[..length], from).await.expect("a reply");
            }
            received.send(String::from_utf8_lossy(&query[12..length]).to_lowercase()).ok();
        }
    });
    let origin = Origin::builder().env("RCPT_NAMESERVERS", address);
    let origin = origin.env("RCPT_DNS_TIMEOUT_MS", "200").start().await.expect("origin");

    for domain in ["a.test", "test", "b.invalid", "localhost", "c.localhost", "d.example"] {
        let verdict = origin.probe(&format!("someone@{domain}")).await;
        let expected = (Status::DomainNotFound, DomainNotFound);
        assert_eq!((verdict.status, verdict.reason), expected, "{domain}");
    }
    // A query of a name that isn't special: what was sent before it has been received by its end.
    let verdict = origin.probe("someone@ordinary.rcpt-tests.net").await;
    assert_eq!((verdict.status, verdict.reason), (FatalException, DnsFailure));

    // Origin looks up its own names at startup; none of them is special-use.
    let names: Vec<_> = std::iter::from_fn(|| names.try_recv().ok()).collect();
    for special in ["\u{4}test", "\u{7}invalid", "\u{9}localhost", "\u{7}example\0"] {
        assert!(!names.iter().any(|name| name.contains(special)), "a query was sent: {names:?}");
    }
    assert!(names.iter().any(|name| name.starts_with("\u{8}ordinary")), "no query: {names:?}");
}

//! No DNS records lead origin to a special-use address (docs/security.md, P4).
//!
//! - At least 200 records (MX, A, AAAA, CNAME) to special ranges, and names that change their address between check and
//!   use.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::Arc,
};

use parking_lot::Mutex;
use rcpt_shared::{Reason, Stage, Status, Verdict};
use rcpt_tests::{Answer, Nsd, Origin, SmtpServer, process::port};
use tokio::{sync::Semaphore, task::JoinSet};

/// Addresses in each range of the IANA special-purpose registries and of multicast, mostly the first and the last.
#[rustfmt::skip]
const SPECIAL: [&str; 72] = [
    "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
    "127.0.0.1", "127.255.255.254", "169.254.0.1", "169.254.169.254", "172.16.0.0", "172.31.255.255",
    "192.0.0.0", "192.0.0.255", "192.0.2.0", "192.0.2.255", "192.31.196.0", "192.31.196.255",
    "192.52.193.0", "192.52.193.255", "192.88.99.0", "192.88.99.255", "192.168.0.0", "192.168.255.255",
    "192.175.48.0", "192.175.48.255", "198.18.0.0", "198.19.255.255", "198.51.100.0", "198.51.100.255",
    "203.0.113.0", "203.0.113.255", "224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
    "64:ff9b::", "64:ff9b::127.0.0.1", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "100::",
    "100::ffff:ffff:ffff:ffff", "2001::", "2001:0:7f00:1::1", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:2::", "2001:10::1", "2001:20::1", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
    "2002::", "2002:7f00:1::1", "2002:a00:1::1", "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff",
    "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "5f00::1", "fc00::", "fd00:ec2::254",
    "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe80::1", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "fec0::1", "ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
];

/// Mail hosts that are addresses or internal names.
const TARGETS: [&str; 6] =
    ["localhost.", "127.0.0.1.", "10.0.0.1.", "2130706433.", "0x7f000001.", "metadata.internal."];

/// Creates a domain for each target, and four for each special address: the address itself, a mail host with it, an
/// alias of that host, and an alias of the domain. Returns the zone, and the expected reason by domain.
fn zone() -> (String, BTreeMap<String, Reason>) {
    let (mut zone, mut cases) = (String::new(), BTreeMap::new());
    for (n, address) in SPECIAL.iter().enumerate() {
        let kind =
            if address.parse::<IpAddr>().expect("an address").is_ipv4() { "A" } else { "AAAA" };
        writeln!(
            zone,
            "host{n} {kind} {address}\nmx{n} MX 10 host{n}\nhost-alias{n} CNAME host{n}\n\
             mx-alias{n} MX 10 host-alias{n}\nalias{n} CNAME mx{n}"
        )
        .expect("a string");
        cases.insert(format!("host{n}"), Reason::NoMx);
        for name in ["mx", "mx-alias", "alias"] {
            cases.insert(format!("{name}{n}"), Reason::NoUsableAddress);
        }
    }
    for (n, target) in TARGETS.iter().enumerate() {
        writeln!(zone, "target{n} MX 10 {target}").expect("a string");
        cases.insert(format!("target{n}"), Reason::NoUsableAddress);
    }
    (zone, cases)
}

/// Starts a mail server that accepts connections on `port` at any address of this machine.
fn everywhere(port: u16) -> SmtpServer {
    let listen = |any: &str| {
        SmtpServer::start(format!("{any}:{port}").parse().unwrap(), |_| Answer::accept())
    };
    // `[::]` listens on both families; a machine without IPv6 has only the second address.
    listen("[::]").or_else(|_| listen("0.0.0.0")).expect("a mail server")
}

async fn origin(nameserver: SocketAddr, smtp_port: u16, allowed: &str) -> Arc<Origin> {
    let origin = Origin::builder()
        .env("RCPT_NAMESERVERS", nameserver.to_string())
        .env("RCPT_SMTP_PORT", smtp_port.to_string())
        .env("RCPT_ALLOW_NETWORKS", allowed)
        // Each probe has a separate session: otherwise names of one machine would share a session.
        .env("RCPT_SESSION_RECIPIENTS", "1");
    Arc::new(origin.start().await.expect("origin"))
}

async fn probe_all<'a>(
    origin: &Arc<Origin>,
    domains: impl IntoIterator<Item = &'a String>,
) -> BTreeMap<String, Verdict> {
    // The queries of two hundred at once would be too late on a busy machine.
    let places = Arc::new(Semaphore::new(16));
    let mut probes = JoinSet::new();
    for domain in domains {
        let (origin, domain, places) = (origin.clone(), domain.clone(), places.clone());
        probes.spawn(async move {
            let _place = places.acquire().await;
            let verdict = origin.probe(&format!("someone@{domain}.rcpt-tests.net")).await;
            (domain, verdict)
        });
    }
    probes.join_all().await.into_iter().collect()
}

#[tokio::test]
async fn of_more_than_two_hundred_ways_to_name_an_address_of_special_use_none_is_dialled() {
    let (zone, cases) = zone();
    let zones = [
        ("rcpt-tests.net", zone.as_str()),
        ("internal", "metadata A 169.254.169.254"),
        ("0x7f000001", "@ A 127.0.0.1"),
    ];
    let nsd = Nsd::start(&zones, &[]).await.expect("NSD");
    let smtp_port = port::free();
    let inside = everywhere(smtp_port);
    let guarded = origin(nsd.address(), smtp_port, "").await;
    let verdicts = probe_all(&guarded, cases.keys()).await;
    for (domain, reason) in &cases {
        let verdict = verdicts.get(domain).expect("a verdict");
        // The stage shows that no connection was made, not even to a distant address.
        assert_eq!((verdict.reason, verdict.stage), (*reason, Stage::Dns), "{domain}: {verdict:?}");
    }
    assert!(cases.len() >= 200, "{} cases", cases.len());
    println!("{} cases, {} connections", cases.len(), inside.sessions().len());
    assert_eq!(inside.sessions().len(), 0);

    // Proves that the server would have received a connection.
    let unguarded = origin(nsd.address(), smtp_port, "127.0.0.0/8").await;
    let loopback = SPECIAL.iter().position(|address| *address == "127.0.0.1").expect("loopback");
    let verdict = unguarded.probe(&format!("someone@mx{loopback}.rcpt-tests.net")).await;
    assert_eq!((verdict.status, inside.sessions().len()), (Status::Accepted, 1), "{verdict:?}");
}

#[tokio::test]
async fn of_addresses_that_are_mixed_only_the_permitted_ones_are_dialled() {
    const ZONE: &str = "
mx     A    127.0.0.40
mx     A    127.0.0.41
mx     AAAA ::1
mixed  MX 10 mx
inner  A    127.0.0.41
first  MX 10 inner
first  MX 20 outer
outer  A    127.0.0.40
";
    let nsd = Nsd::start(&[("rcpt-tests.net", ZONE)], &[]).await.expect("NSD");
    let smtp_port = port::free();
    let listen = |ip: [u8; 4]| SmtpServer::start((ip, smtp_port).into(), |_| Answer::accept());
    let [outside, inside] =
        [[127, 0, 0, 40], [127, 0, 0, 41]].map(|ip| listen(ip).expect("a mail server"));
    let origin = origin(nsd.address(), smtp_port, "127.0.0.40/32").await;
    for domain in ["mixed", "first"] {
        let verdict = origin.probe(&format!("someone@{domain}.rcpt-tests.net")).await;
        assert_eq!(verdict.status, Status::Accepted, "{domain}: {verdict:?}");
    }
    assert_eq!((outside.sessions().is_empty(), inside.sessions().len()), (false, 0));
}

/// Starts a nameserver for DNS rebinding: a name's first query gets 127.0.0.40, later queries 127.0.0.41, with a TTL of
/// 0.
fn rebinding_nameserver() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = socket.local_addr().expect("an address");
    let queries: Mutex<BTreeMap<Vec<u8>, u32>> = Mutex::default();
    std::thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((length, client)) = socket.recv_from(&mut query) {
            let Some(question) = query.get(12..length).and_then(question) else { continue };
            // The first label's length, and its text. A nameserver that knew every name would be taken for a liar.
            let is_known = question.get(1..).is_some_and(|name| name.starts_with(b"rebinding"));
            let a = is_known && question.ends_with(&[0, 1, 0, 1]);
            let mut answer = query.get(..2).unwrap_or_default().to_vec();
            // RFC 1035 §4.1: an answer, recursion available, perhaps NXDOMAIN; one question, and one record for A.
            let code = if is_known { 0x80 } else { 0x83 };
            answer.extend([0x81, code, 0, 1, 0, u8::from(a), 0, 0, 0, 0]);
            answer.extend(question);
            if a {
                let mut queries = queries.lock();
                let times = queries.entry(question.to_vec()).or_default();
                *times += 1;
                let last = if *times == 1 { 40 } else { 41 };
                // The record: the question's name, type A, class IN, TTL 0, four octets.
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, last]);
            }
            let _ = socket.send_to(&answer, client);
        }
    });
    address
}

/// The name, type and class at the start of `octets`.
fn question(octets: &[u8]) -> Option<&[u8]> {
    let name = octets.iter().position(|octet| *octet == 0)?;
    octets.get(..name + 5)
}

#[tokio::test]
async fn a_name_that_changes_its_address_between_check_and_use_gains_nothing() {
    let smtp_port = port::free();
    let listen = |ip: [u8; 4]| SmtpServer::start((ip, smtp_port).into(), |_| Answer::accept());
    let [outside, inside] =
        [[127, 0, 0, 40], [127, 0, 0, 41]].map(|ip| listen(ip).expect("a mail server"));
    let origin = origin(rebinding_nameserver(), smtp_port, "127.0.0.40/32").await;
    let names: Vec<_> = (0..20).map(|n| format!("rebinding{n}")).collect();
    let first = probe_all(&origin, &names).await;
    assert!(first.values().all(|verdict| verdict.status == Status::Accepted), "{first:?}");
    assert_eq!((outside.sessions().len(), inside.sessions().len()), (20, 0));
}

//! Zones and nameservers with the mistakes of real ones, each with the verdict that is right.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use crate::harness::{internet::mx, obey, origin, verdict};
use axum::Router;
use hickory_resolver::proto::{
    op::{Message, ResponseCode},
    rr::{
        Name, RData, Record, RecordType,
        rdata::{A, AAAA, CNAME, SOA},
    },
};
use parking_lot::Mutex;
use rcpt_shared::{
    Confidence, Deliverability, Reason,
    Status::{self, Accepted, DomainNotFound, FatalException, NoMxRecords, SmtpConnectError},
};
use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    net::{TcpListener, UdpSocket},
    task::JoinSet,
    time::sleep,
};

use RecordType::{AAAA as Aaaa, CNAME as Cname, MX as Mx};

const TYPE_A: RecordType = RecordType::A;
/// The address of the mail server, which accepts everything. Nothing listens at `DOWN`.
const UP: &str = "127.0.0.2";
const DOWN: &str = "127.0.0.9";

/// Owner, type, and data: a record's, or what happens instead. Other types of a known owner have no data, and
/// other names don't exist.
type Row = (&'static str, RecordType, &'static str);

const ZONE: &[Row] = &[
    // A load balancer's nameserver knows no AAAA: for a mail host, and for a domain without MX.
    ("aaaa-servfail.org", Mx, "mx.aaaa-servfail.org"),
    ("mx.aaaa-servfail.org", TYPE_A, UP),
    ("mx.aaaa-servfail.org", Aaaa, "servfail"),
    ("aaaa-notimp.org", TYPE_A, UP),
    ("aaaa-notimp.org", Aaaa, "notimp"),
    ("aaaa-silent.org", Mx, "mx.aaaa-silent.org"),
    ("mx.aaaa-silent.org", TYPE_A, UP),
    ("mx.aaaa-silent.org", Aaaa, "silence"),
    ("aaaa-refused.org", TYPE_A, UP),
    ("aaaa-refused.org", Aaaa, "refused"),
    ("aaaa-nxdomain.org", Mx, "mx.aaaa-nxdomain.org"),
    ("mx.aaaa-nxdomain.org", TYPE_A, UP),
    ("mx.aaaa-nxdomain.org", Aaaa, "nxdomain"),
    ("aaaa-nxdomain-first.org", TYPE_A, "late 127.0.0.2"),
    ("aaaa-nxdomain-first.org", Aaaa, "nxdomain"),
    // Addresses that are nobody's, or refuse.
    ("link-local.org", Mx, "mx.link-local.org"),
    ("mx.link-local.org", TYPE_A, UP),
    ("mx.link-local.org", Aaaa, "fe80::1"),
    ("v6-down.org", Mx, "mx.v6-down.org"),
    ("mx.v6-down.org", Aaaa, "::1"),
    ("mx.v6-down.org", TYPE_A, UP),
    ("v6-inside.org", Aaaa, "fd00::1"),
    // Mistakes of MX records.
    ("mx-is-ip.org", Mx, "192.0.2.25"),
    ("mx-is-our-ip.org", Mx, UP),
    ("no-final-dot.org", Mx, "mx1.provider.example.com.no-final-dot.org"),
    ("no-final-dot.org", Mx, "mx2.provider.example.com.no-final-dot.org"),
    ("null-and-a.org", Mx, ""),
    ("null-and-a.org", TYPE_A, UP),
    ("null-at-10.org", Mx, ""),
    ("mx-localhost.org", Mx, "localhost"),
    ("mx-localhost.org", TYPE_A, UP),
    ("mx-alias.org", Mx, "mail.mx-alias.org"),
    ("mail.mx-alias.org", Cname, "mx.provider.org"),
    ("mx.provider.org", TYPE_A, UP),
    ("mx-alone.org", Mx, "mx.provider.org"),
    ("mx-beside-nxdomain.org", Mx, "mx.provider.org"),
    ("mx-beside-nxdomain.org", TYPE_A, "nxdomain"),
    ("mx-beside-nxdomain.org", Aaaa, "nxdomain"),
    ("underscore.org", Mx, "_mx._x.underscore.org"),
    ("_mx._x.underscore.org", TYPE_A, UP),
    // A CNAME at the apex: the MX is answered, or only the alias.
    ("apex-mx.org", Mx, "mx.provider.org"),
    ("apex-mx.org", TYPE_A, "alias host.cdn.org"),
    ("apex-alias.org", Cname, "mx.provider.org"),
    ("apex-alias-down.org", Cname, "host.cdn.org"),
    ("host.cdn.org", TYPE_A, DOWN),
    // Nameservers that fail.
    ("silent.org", Mx, "silence"),
    ("servfail.org", Mx, "servfail"),
    ("refused.org", Mx, "refused"),
    ("first-host-servfail.org", Mx, "servfail-host.org"),
    ("first-host-servfail.org", Mx, "mx.provider.org"),
    ("servfail-host.org", TYPE_A, "servfail"),
    ("servfail-host.org", Aaaa, "servfail"),
    ("gmial.com", Mx, "mx.provider.org"),
];

/// Whether a check of `ann` at the domain has this status and reason; `None` if any reason of the status is right.
const CASES: &[(&str, Status, Option<Reason>)] = &[
    ("aaaa-servfail.org", Accepted, None),
    ("aaaa-notimp.org", Accepted, None),
    ("aaaa-silent.org", Accepted, None),
    ("aaaa-refused.org", Accepted, None),
    ("aaaa-nxdomain.org", Accepted, None),
    ("aaaa-nxdomain-first.org", Accepted, None),
    ("link-local.org", Accepted, None),
    ("v6-down.org", Accepted, None),
    ("v6-inside.org", NoMxRecords, Some(Reason::NoMx)),
    ("mx-is-ip.org", SmtpConnectError, Some(Reason::NoUsableAddress)),
    ("mx-is-our-ip.org", SmtpConnectError, Some(Reason::NoUsableAddress)),
    ("no-final-dot.org", SmtpConnectError, Some(Reason::NoUsableAddress)),
    ("null-and-a.org", NoMxRecords, Some(Reason::NullMx)),
    ("null-at-10.org", NoMxRecords, Some(Reason::NullMx)),
    ("mx-localhost.org", SmtpConnectError, Some(Reason::NoUsableAddress)),
    ("mx-alias.org", Accepted, None),
    ("mx-alone.org", Accepted, None),
    ("mx-beside-nxdomain.org", Accepted, None),
    ("underscore.org", Accepted, None),
    ("apex-mx.org", Accepted, None),
    ("apex-alias.org", Accepted, None),
    ("apex-alias-down.org", SmtpConnectError, Some(Reason::ConnectionFailed)),
    ("silent.org", FatalException, Some(Reason::DnsFailure)),
    ("servfail.org", FatalException, Some(Reason::DnsFailure)),
    ("refused.org", FatalException, Some(Reason::DnsFailure)),
    ("first-host-servfail.org", Accepted, None),
    ("gmial.com", Accepted, None),
    ("nowhere.org", DomainNotFound, Some(Reason::DomainNotFound)),
    ("gmail", DomainNotFound, Some(Reason::DomainNotFound)),
    ("1.168.192.in-addr.arpa", DomainNotFound, Some(Reason::DomainNotFound)),
    ("under.invalid", DomainNotFound, Some(Reason::DomainNotFound)),
    ("under.test", DomainNotFound, Some(Reason::DomainNotFound)),
    ("x.localhost", DomainNotFound, Some(Reason::DomainNotFound)),
    ("x.example", DomainNotFound, Some(Reason::DomainNotFound)),
    ("printer.local", DomainNotFound, Some(Reason::DomainNotFound)),
    ("hidden.onion", DomainNotFound, Some(Reason::DomainNotFound)),
    ("home.arpa", DomainNotFound, Some(Reason::DomainNotFound)),
    ("onion", DomainNotFound, Some(Reason::DomainNotFound)),
];

/// A response, `None` for silence, and whether it comes late.
fn answer(query: Message) -> (Option<Vec<u8>>, bool) {
    let name = query.queries[0].name().clone();
    let owner = name.to_ascii().trim_end_matches('.').to_owned();
    let kind = query.queries[0].query_type();
    let mut response = query.into_response();
    let (mut owner, mut is_late) = (owner, false);
    for _ in 0..3 {
        let rows: Vec<_> = ZONE.iter().filter(|(of, ..)| *of == owner).collect();
        if rows.is_empty() {
            response.metadata.response_code = ResponseCode::NXDomain;
        }
        let mut alias = None;
        for (of, row_kind, data) in rows {
            if *row_kind != kind && *row_kind != Cname {
                continue;
            }
            let data = data.strip_prefix("late ").inspect(|_| is_late = true).unwrap_or(data);
            let target = data.strip_prefix("alias ").or((*row_kind == Cname).then_some(data));
            let data = match (data, target) {
                ("silence", _) => return (None, false),
                ("servfail", _) => return coded(response, ResponseCode::ServFail),
                ("refused", _) => return coded(response, ResponseCode::Refused),
                ("notimp", _) => return coded(response, ResponseCode::NotImp),
                ("nxdomain", _) => return coded(response, ResponseCode::NXDomain),
                (_, Some(target)) => {
                    alias = Some(target.to_owned());
                    RData::CNAME(CNAME(Name::from_ascii(format!("{target}.")).unwrap()))
                }
                _ if kind == Mx => mx(10, data),
                _ if kind == TYPE_A => RData::A(A(data.parse().unwrap())),
                _ => RData::AAAA(AAAA(data.parse().unwrap())),
            };
            let of = Name::from_ascii(format!("{of}.")).unwrap();
            response.add_answer(Record::from_rdata(of, 60, data));
        }
        match alias {
            Some(target) => owner = target,
            None => break,
        }
    }
    let root = Name::root();
    let soa = SOA::new(root.clone(), root.clone(), 1, 60, 60, 60, 60);
    response.add_authority(Record::from_rdata(root, 60, RData::SOA(soa)));
    (Some(response.to_vec().unwrap()), is_late)
}

fn coded(mut response: Message, code: ResponseCode) -> (Option<Vec<u8>>, bool) {
    response.metadata.response_code = code;
    (Some(response.to_vec().unwrap()), false)
}

type Queries = Arc<Mutex<Vec<(String, RecordType)>>>;
type Dialled = Arc<Mutex<Vec<IpAddr>>>;

/// Starts the nameserver and the mail server; both end with the set.
async fn start() -> (Router, Queries, Dialled, JoinSet<()>) {
    let (queries, dialled) = (Queries::default(), Dialled::default());
    let mut running = JoinSet::new();
    let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let nameserver: SocketAddr = socket.local_addr().unwrap();
    let seen = queries.clone();
    running.spawn(async move {
        let mut query = [0; 1_500];
        loop {
            let (length, from) = socket.recv_from(&mut query).await.unwrap();
            let query = Message::from_vec(&query[..length]).unwrap();
            let asked = &query.queries[0];
            seen.lock().push((asked.name().to_ascii().to_lowercase(), asked.query_type()));
            let (Some(response), is_late) = answer(query) else { continue };
            let socket = socket.clone();
            tokio::spawn(async move {
                sleep(Duration::from_millis(if is_late { 200 } else { 0 })).await;
                let _ = socket.send_to(&response, from).await;
            });
        }
    });
    let listener = TcpListener::bind((UP, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let seen = dialled.clone();
    running.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            seen.lock().push(stream.local_addr().unwrap().ip());
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let _ = stream.write_all(b"220 mx\r\n").await;
                let _ = obey(&mut stream, "", "250 ok", "250 ok").await;
            });
        }
    });
    let origin = origin(&[
        ("RCPT_NAMESERVERS", &nameserver.to_string()),
        ("RCPT_DNS_TIMEOUT_MS", "600"),
        ("RCPT_SMTP_PORT", &port),
        ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8,::1/128"),
    ]);
    (origin, queries, dialled, running)
}

#[tokio::test]
async fn mistakes_of_zones_and_nameservers_get_the_right_verdict() {
    let (origin, queries, dialled, _running) = start().await;
    let mut wrong = Vec::new();
    for (domain, status, reason) in CASES {
        let verdict = verdict(&origin, &format!("ann@{domain}")).await;
        let is_right = verdict.status == *status && reason.is_none_or(|due| due == verdict.reason);
        if !is_right {
            wrong.push(format!(
                "{domain}: {:?} {:?}, due {status:?} {reason:?}",
                verdict.status, verdict.reason
            ));
        }
        let details = verdict.details.unwrap();
        if verdict.reason == Reason::NoUsableAddress {
            let told = (details.confidence, details.verdict);
            assert_eq!(told, (Confidence::High, Deliverability::Undeliverable), "{domain}");
        }
        let suggested = details.traits.suggested_domain;
        let meant = ["gmial.com", "gmail"].contains(domain).then_some("gmail.com");
        assert_eq!(suggested.as_deref(), meant, "{domain}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let up: IpAddr = UP.parse().unwrap();
    assert!(dialled.lock().iter().all(|ip| *ip == up));
    for (name, kind) in &*queries.lock() {
        // Neither ANY nor TXT, no name completed by a search list, and no name that mustn't leave the machine.
        assert!([Mx, TYPE_A, Aaaa].contains(kind), "{kind} of {name}");
        let known = ZONE.iter().map(|(owner, ..)| *owner);
        let asked_for = CASES.iter().map(|(domain, ..)| *domain);
        let mut targets = ZONE.iter().filter(|(_, kind, _)| *kind == Mx).map(|(.., host)| *host);
        let plain = name.trim_end_matches('.');
        assert!(
            known.chain(asked_for).any(|it| it == plain) || targets.any(|it| it == plain),
            "{name}"
        );
        for special in ["invalid", "test", "localhost", "example", "local", "onion", "home.arpa"] {
            assert!(!plain.ends_with(special), "{name} was asked");
        }
    }
}

/// Some resolvers answer every missing name with the address of an advertising page, at which a mail server may accept
/// everything.
#[tokio::test]
async fn an_invented_address_makes_no_domain_exist_once_the_nameserver_was_examined() {
    let invented = |name: &str, kind| {
        let is_good = name == "good.org" || name == "mx.good.org";
        match kind {
            Mx if name == "good.org" => vec![mx(10, "mx.good.org")],
            Mx if name == "typo.org" => vec![mx(10, "mx.misspelt-host.org")],
            RecordType::A if is_good => vec![RData::A(A("127.0.0.2".parse().unwrap()))],
            RecordType::A => vec![RData::A(A("127.0.0.3".parse().unwrap()))],
            _ => vec![],
        }
    };
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let nameserver = socket.local_addr().unwrap().to_string();
    let mut running = JoinSet::new();
    running.spawn(async move {
        let mut query = [0; 1_500];
        loop {
            let (length, from) = socket.recv_from(&mut query).await.unwrap();
            let query = Message::from_vec(&query[..length]).unwrap();
            let (name, kind) = (query.queries[0].name().clone(), query.queries[0].query_type());
            let mut response = query.into_response();
            for data in invented(name.to_ascii().trim_end_matches('.'), kind) {
                response.add_answer(Record::from_rdata(name.clone(), 60, data));
            }
            socket.send_to(&response.to_vec().unwrap(), from).await.unwrap();
        }
    });
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    running.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let _ = stream.write_all(b"220 mx\r\n").await;
                let _ = obey(&mut stream, "", "250 ok", "250 ok").await;
            });
        }
    });
    let state = crate::harness::state(&[
        ("RCPT_NAMESERVERS", &nameserver),
        ("RCPT_SMTP_PORT", &port),
        ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8"),
    ]);
    let origin = rcpt_origin::build(state.clone());
    let unprotected = verdict(&origin, "ann@surely-not-registered.org").await;
    assert_eq!(unprotected.status, Accepted, "nothing is known of the nameserver");
    state.prober.dns().examine().await;
    for address in ["ann@surely-not-registered-2.org", "ann@typo.org"] {
        let verdict = verdict(&origin, address).await;
        assert_eq!(
            (verdict.status, verdict.reason),
            (FatalException, Reason::DnsFailure),
            "{address}"
        );
    }
    assert_eq!(verdict(&origin, "ann@good.org").await.status, Accepted);
}

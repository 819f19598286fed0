//! DNS decides which hosts are tried. A nameserver answers from a table, and mail servers listen on several loopback
//! addresses at one port.

use std::{
    collections::HashSet,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use parking_lot::Mutex;

use crate::harness::{domain_report, json_of, origin, shut_port, verdict};
use axum::Router;
use hickory_resolver::proto::{
    op::{Message, ResponseCode},
    rr::{
        Name, RData, Record, RecordType,
        rdata::{A, AAAA, CNAME, MX, SOA},
    },
};
use rcpt_shared::{DomainKind, DomainReport, Reason, Stage, Status, Verdict};
use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    net::{TcpListener, UdpSocket},
    task::{JoinHandle, JoinSet},
};

/// The banner of a server that accepts connections and says nothing.
const SILENT: &str = "";

/// Owner, type, data. A missing name means NXDOMAIN, a missing type NODATA.
const ZONE: &[(&str, RecordType, &str)] = &[
    ("accepts.org.", RecordType::MX, "10 mx2.org."),
    ("rejects.org.", RecordType::MX, "10 mx3.org."),
    ("falls-back.org.", RecordType::MX, "20 mx2.org."),
    ("falls-back.org.", RecordType::MX, "10 down.org."),
    ("falls-back.org.", RecordType::MX, "5 mx4.org."),
    ("by-address.org.", RecordType::MX, "10 multihomed.org."),
    ("down-only.org.", RecordType::MX, "10 down.org."),
    ("final.org.", RecordType::MX, "10 mx3.org."),
    ("final.org.", RecordType::MX, "20 mx2.org."),
    ("silent-first.org.", RecordType::MX, "10 mx5.org."),
    ("silent-first.org.", RecordType::MX, "20 mx2.org."),
    ("mx5.org.", RecordType::A, "127.0.0.5"),
    ("equal.org.", RecordType::MX, "10 mx6.org."),
    ("equal.org.", RecordType::MX, "10 mx7.org."),
    ("equal.org.", RecordType::MX, "20 mx2.org."),
    ("mx6.org.", RecordType::A, "127.0.0.6"),
    ("mx7.org.", RecordType::A, "127.0.0.7"),
    ("null.org.", RecordType::MX, "0 ."),
    ("null.org.", RecordType::A, "127.0.0.2"),
    ("mixed.org.", RecordType::MX, "0 ."),
    ("mixed.org.", RecordType::MX, "10 mx2.org."),
    ("implicit.org.", RecordType::A, "127.0.0.2"),
    ("implicit-down.org.", RecordType::A, "127.0.0.9"),
    ("implicit-inside.org.", RecordType::A, "10.0.0.1"),
    ("text-only.org.", RecordType::TXT, ""),
    ("mx-not-a.org.", RecordType::MX, "10 nowhere.org."),
    ("mx-not-a.org.", RecordType::A, "127.0.0.2"),
    ("inside.org.", RecordType::MX, "10 ten.org."),
    ("inside.org.", RecordType::MX, "20 mapped.org."),
    ("inside.org.", RecordType::MX, "30 nat64.org."),
    ("literal.org.", RecordType::MX, "10 127.0.0.2."),
    ("special.org.", RecordType::MX, "10 localhost."),
    ("alias.org.", RecordType::CNAME, "accepts.org."),
    ("loop.org.", RecordType::CNAME, "pool.org."),
    ("pool.org.", RecordType::CNAME, "loop.org."),
    ("broken.org.", RecordType::SRV, "servfail"),
    ("half-broken.org.", RecordType::MX, "10 broken.org."),
    ("half-broken.org.", RecordType::MX, "20 nowhere.org."),
    ("unknown-first.org.", RecordType::MX, "10 broken.org."),
    ("unknown-first.org.", RecordType::MX, "20 mx2.org."),
    ("unknown-equal.org.", RecordType::MX, "10 broken.org."),
    ("unknown-equal.org.", RecordType::MX, "10 mx3.org."),
    ("unknown-equal.org.", RecordType::MX, "20 mx2.org."),
    ("mx2.org.", RecordType::A, "127.0.0.2"),
    ("mx3.org.", RecordType::A, "127.0.0.3"),
    ("mx4.org.", RecordType::A, "127.0.0.4"),
    ("down.org.", RecordType::A, "127.0.0.9"),
    ("multihomed.org.", RecordType::A, "127.0.0.9"),
    ("multihomed.org.", RecordType::A, "127.0.0.4"),
    ("multihomed.org.", RecordType::A, "10.0.0.1"),
    ("multihomed.org.", RecordType::A, "127.0.0.2"),
    ("ten.org.", RecordType::A, "10.0.0.1"),
    ("mapped.org.", RecordType::AAAA, "::ffff:127.0.0.2"),
    ("nat64.org.", RecordType::AAAA, "64:ff9b::7f00:2"),
    ("parked.org.", RecordType::MX, "10 mail.h-email.net."),
    ("half-parked.org.", RecordType::MX, "10 mail.h-email.net."),
    ("half-parked.org.", RecordType::MX, "20 mx2.org."),
    ("rotating.org.", RecordType::MX, "10 mail.wabblywabble.com."),
    ("mail.h-email.net.", RecordType::A, "127.0.0.2"),
    ("mail.wabblywabble.com.", RecordType::A, "127.0.0.2"),
    ("gmail.con.", RecordType::MX, "10 mx2.org."),
    ("own.org.", RecordType::MX, "10 mx.own.org."),
    ("mx.own.org.", RecordType::A, "127.0.0.2"),
    ("six.org.", RecordType::MX, "10 mx-six.org."),
    ("mx-six.org.", RecordType::AAAA, "::1"),
];

fn answer(query: &[u8]) -> Option<Vec<u8>> {
    let query = Message::from_vec(query).unwrap();
    let mut name = query.queries[0].name().to_ascii().to_lowercase();
    let kind = query.queries[0].query_type();
    if name == "silent.org." {
        return None;
    }
    let mut response = query.into_response();
    for _ in 0..3 {
        let rows: Vec<_> = ZONE.iter().filter(|(owner, ..)| *owner == name).collect();
        if rows.is_empty() {
            response.metadata.response_code = ResponseCode::NXDomain;
        }
        if rows.iter().any(|(.., data)| *data == "servfail") {
            response.metadata.response_code = ResponseCode::ServFail;
        }
        let mut alias = None;
        for (owner, row_kind, data) in rows {
            let data = match row_kind {
                _ if *row_kind != kind && *row_kind != RecordType::CNAME => continue,
                RecordType::A => RData::A(A(data.parse().unwrap())),
                RecordType::AAAA => RData::AAAA(AAAA(data.parse().unwrap())),
                RecordType::CNAME => {
                    alias = Some((*data).to_owned());
                    RData::CNAME(CNAME(Name::from_ascii(data).unwrap()))
                }
                _ => {
                    let (preference, host) = data.split_once(' ').unwrap();
                    let host = Name::from_ascii(host).unwrap();
                    RData::MX(MX::new(preference.parse().unwrap(), host))
                }
            };
            response.add_answer(Record::from_rdata(Name::from_ascii(owner).unwrap(), 60, data));
        }
        match alias {
            Some(target) => name = target,
            None => break,
        }
    }
    // RFC 2308 §5: a negative answer is cached by its SOA record.
    let org = Name::from_ascii("org.").unwrap();
    let soa = SOA::new(org.clone(), org.clone(), 1, 60, 60, 60, 60);
    response.add_authority(Record::from_rdata(org, 60, RData::SOA(soa)));
    Some(response.to_vec().unwrap())
}

/// The nameserver, six mail servers, and an origin that may dial the loopback.
struct Internet {
    origin: Router,
    nameserver: SocketAddr,
    /// The port of every mail server.
    port: u16,
    running: Vec<JoinHandle<()>>,
    /// The mail servers that got connections, and the number of queries.
    connections: Arc<Mutex<Vec<IpAddr>>>,
    /// The different queries: one that is slow is sent again after a third of a second, octet by octet the same.
    questions: Arc<Mutex<HashSet<Vec<u8>>>>,
}

impl Drop for Internet {
    fn drop(&mut self) {
        self.running.iter().for_each(JoinHandle::abort);
    }
}

impl Internet {
    async fn start() -> Self {
        let connections = Arc::new(Mutex::new(Vec::new()));
        let questions = Arc::new(Mutex::new(HashSet::new()));
        let mut running = Vec::new();
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let nameserver = socket.local_addr().unwrap();
        let received = questions.clone();
        running.push(tokio::spawn(async move {
            let mut query = [0; 1_500];
            loop {
                let (length, from) = socket.recv_from(&mut query).await.unwrap();
                received.lock().insert(query[..length].to_vec());
                if let Some(answer) = answer(&query[..length]) {
                    socket.send_to(&answer, from).await.unwrap();
                }
            }
        }));
        let mut port = 0;
        for (ip, banner, rcpt) in [
            ("127.0.0.2", "220 mx", "250 ok"),
            ("127.0.0.3", "220 mx", "550 5.1.1 no"),
            ("127.0.0.4", "421 4.3.2 not today", ""),
            ("127.0.0.5", SILENT, ""),
            ("127.0.0.6", "220 mx", "451 4.3.0 Temporary lookup failure"),
            ("127.0.0.7", "220 mx", "451 4.3.5 Out of order"),
        ] {
            let listener = TcpListener::bind((ip, port)).await.unwrap();
            port = listener.local_addr().unwrap().port();
            let connections_seen = connections.clone();
            running.push(tokio::spawn(async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    connections_seen.lock().push(stream.local_addr().unwrap().ip());
                    let mut stream = BufReader::new(stream);
                    if banner == SILENT {
                        tokio::spawn(crate::harness::drain(stream.into_inner()));
                        continue;
                    }
                    stream.write_all(format!("{banner}\r\n").as_bytes()).await.unwrap();
                    tokio::spawn(async move {
                        crate::harness::obey(&mut stream, "", "250 ok", rcpt).await
                    });
                }
            }));
        }
        let origin = Self::newcomer(nameserver, port);
        Self { origin, nameserver, port, running, connections, questions }
    }

    /// A new origin, with empty caches, in this simulated Internet.
    fn newcomer(nameserver: SocketAddr, port: u16) -> Router {
        origin(&[
            ("RCPT_NAMESERVERS", &nameserver.to_string()),
            ("RCPT_SMTP_PORT", &port.to_string()),
            ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8"),
            // Each probe opens its own connections, which show the mail servers that were asked.
            ("RCPT_SESSION_RECIPIENTS", "1"),
            ("RCPT_SESSION_INTERVAL_MS", "0"),
            // The number of sessions mustn't limit the probes.
            ("RCPT_MACHINE_SESSIONS", "1000"),
            ("RCPT_NETWORK_SESSIONS", "1000"),
            // Even on a busy machine, no query may be repeated.
            ("RCPT_DNS_TIMEOUT_MS", "5000"),
        ])
    }

    async fn ask(&self, domain: &str) -> Verdict {
        self.connections.lock().clear();
        verdict(&self.origin, &format!("user@{domain}")).await
    }

    /// The last bytes of the addresses connected to for the last probe.
    fn connected(&self) -> Vec<u8> {
        let connections = self.connections.lock();
        connections
            .iter()
            .map(|ip| ip.to_string().rsplit('.').next().unwrap().parse().unwrap())
            .collect()
    }
}

/// Maps both reasons for an acceptance to one reason: the control recipient, in the background, decides between them.
fn plain(reason: Reason) -> Reason {
    if reason == Reason::AcceptedCatchAll { Reason::Accepted } else { reason }
}

#[tokio::test]
async fn dns_gives_the_evidence_for_a_domains_kind_and_for_a_suggestion() {
    let internet = Internet::start().await;
    for (domain, kind, suspected, accepts_mail, suggested) in [
        ("own.org", "organization", None, Some(true), None),
        ("accepts.org", "unknown", None, Some(true), None),
        ("parked.org", "parked", None, Some(true), None),
        ("half-parked.org", "unknown", None, Some(true), None),
        ("rotating.org", "unknown", Some("disposable"), Some(true), None),
        ("gmail.con", "unknown", None, Some(true), None),
        ("gmail.cpm", "unknown", None, Some(false), Some("gmail.com")),
        ("null.org", "unknown", None, Some(false), None),
        ("implicit.org", "organization", None, Some(true), None),
        ("text-only.org", "unknown", None, Some(false), None),
        ("broken.org", "unknown", None, None, None),
        ("mailinator.com", "disposable", None, Some(false), None),
    ] {
        let verdict = verdict(&internet.origin, &format!("user@{domain}")).await;
        let details = verdict.details.expect("details");
        let facts = details.domain.expect("facts");
        let suspicion = facts.suspected.map(DomainKind::as_str);
        let facts_found = (facts.kind.as_str(), suspicion, facts.accepts_mail);
        assert_eq!(facts_found, (kind, suspected, accepts_mail), "{domain}");
        assert_eq!(details.traits.suggested_domain.as_deref(), suggested, "{domain}");
        assert_eq!(details.traits.disposable, kind == "disposable", "{domain}");
        // A request about the domain alone has the same result, if any.
        let answer = domain_report(&internet.origin, domain).await;
        if accepts_mail.is_none() {
            assert_eq!(answer.status(), 503, "{domain}");
            continue;
        }
        let report: DomainReport = serde_json::from_value(json_of(answer).await).unwrap();
        assert_eq!((report.facts, report.suggested_domain.as_deref()), (*facts, suggested));
    }
    internet.connections.lock().clear();
    assert_eq!(domain_report(&internet.origin, "own.org").await.status(), 200);
    assert!(internet.connected().is_empty(), "no mail server is asked");
    for no_domain in ["Own.org", "own.org.", "a@own.org", "", "[192.0.2.1]"] {
        assert_eq!(domain_report(&internet.origin, no_domain).await.status(), 400, "{no_domain}");
    }
}

type Expected = (&'static str, Status, Reason, Stage, Option<&'static str>, &'static [u8]);

#[tokio::test]
async fn dns_decides_who_is_asked() {
    use Reason::{
        Accepted, ConnectionFailed, DnsFailure, NoMx, NoSuchMailbox, NoUsableAddress, NullMx,
    };
    use Stage::{Connect, Dns, Rcpt};
    use Status::{DomainNotFound, FatalException, NoMxRecords, Refused, SmtpConnectError};
    let internet = Internet::start().await;
    let expected: &[Expected] = &[
        ("accepts.org", Status::Accepted, Accepted, Rcpt, Some("mx2.org"), &[2]),
        ("rejects.org", Refused, NoSuchMailbox, Rcpt, Some("mx3.org"), &[3]),
        (
            "falls-back.org",
            SmtpConnectError,
            Reason::ServerUnavailable,
            Stage::Banner,
            Some("mx4.org"),
            &[4, 2],
        ),
        // 127.0.0.4 has just closed the connection: the host's other address is tried.
        ("by-address.org", Status::Accepted, Accepted, Rcpt, Some("multihomed.org"), &[2]),
        ("final.org", Refused, NoSuchMailbox, Rcpt, Some("mx3.org"), &[3]),
        ("down-only.org", SmtpConnectError, ConnectionFailed, Connect, Some("down.org"), &[]),
        ("nxdomain.org", DomainNotFound, Reason::DomainNotFound, Dns, None, &[]),
        ("null.org", NoMxRecords, NullMx, Dns, None, &[]),
        ("mixed.org", Status::Accepted, Accepted, Rcpt, Some("mx2.org"), &[2]),
        ("implicit.org", Status::Accepted, Accepted, Rcpt, Some("implicit.org"), &[2]),
        (
            "implicit-down.org",
            SmtpConnectError,
            ConnectionFailed,
            Connect,
            Some("implicit-down.org"),
            &[],
        ),
        ("implicit-inside.org", NoMxRecords, NoMx, Dns, None, &[]),
        ("text-only.org", NoMxRecords, NoMx, Dns, None, &[]),
        ("mx-not-a.org", SmtpConnectError, NoUsableAddress, Dns, Some("nowhere.org"), &[]),
        ("inside.org", SmtpConnectError, NoUsableAddress, Dns, Some("ten.org"), &[]),
        ("literal.org", SmtpConnectError, NoUsableAddress, Dns, Some("127.0.0.2"), &[]),
        ("special.org", SmtpConnectError, NoUsableAddress, Dns, Some("localhost"), &[]),
        ("alias.org", Status::Accepted, Accepted, Rcpt, Some("mx2.org"), &[2]),
        ("loop.org", NoMxRecords, NoMx, Dns, None, &[]),
        ("broken.org", FatalException, DnsFailure, Dns, None, &[]),
        ("half-broken.org", FatalException, DnsFailure, Dns, Some("broken.org"), &[]),
        // Our failure to look up the first host doesn't lead to a backup host.
        ("unknown-first.org", FatalException, DnsFailure, Dns, Some("broken.org"), &[]),
        ("unknown-equal.org", Refused, NoSuchMailbox, Rcpt, Some("mx3.org"), &[3]),
        ("silent.org", FatalException, DnsFailure, Dns, None, &[]),
    ];
    for (domain, status, reason, stage, mx_host, connected) in expected {
        let verdict = internet.ask(domain).await;
        assert_eq!(
            (verdict.status, plain(verdict.reason), verdict.stage, verdict.mx_host.as_deref()),
            (*status, *reason, *stage, *mx_host),
            "{domain}"
        );
        assert_eq!(internet.connected(), *connected, "{domain}");
    }
}

/// Mail servers pause before they greet. A backup host may accept everything, so it's no reason to wait less.
#[tokio::test]
async fn a_silent_first_host_has_all_the_time_and_the_second_does_not_speak_for_it() {
    let internet = Internet::start().await;
    let started = tokio::time::Instant::now();
    let verdict = internet.ask("silent-first.org").await;
    assert_eq!(
        (verdict.status, verdict.mx_host.as_deref()),
        (Status::SmtpTimeout, Some("mx5.org"))
    );
    assert_eq!(verdict.reason, Reason::Timeout, "{verdict:?}");
    assert!(started.elapsed().as_secs() >= 9, "{:?}", started.elapsed());
    assert_eq!(internet.connected(), [5]);
}

#[tokio::test]
async fn a_host_out_of_order_sends_us_to_its_equal_and_to_no_backup() {
    let internet = Internet::start().await;
    let verdict = internet.ask("equal.org").await;
    assert_eq!(verdict.stage, Stage::Rcpt, "{verdict:?}");
    assert_ne!(verdict.status, Status::Accepted, "{verdict:?}");
    let mut connected = internet.connected();
    connected.sort_unstable();
    assert_eq!(connected, [6, 7]);
}

#[tokio::test]
async fn a_domain_is_looked_up_once_for_many_addresses() {
    let internet = Internet::start().await;
    for _ in 0..20 {
        internet.ask("accepts.org").await;
    }
    assert!(internet.questions.lock().len() <= 3, "MX, A, AAAA");
}

/// Runs repeatedly on several threads: without a lock, a second query occasionally slips through between "not cached"
/// and "not in progress".
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_probes_of_one_domain_at_once_ask_three_questions() {
    let internet = Internet::start().await;
    for (domain, due) in
        [("accepts.org", Status::Accepted), ("nxdomain.org", Status::DomainNotFound)]
    {
        // MX, A and AAAA; only MX for a name that doesn't exist.
        let needed = if due == Status::Accepted { 3 } else { 1 };
        for _ in 0..20 {
            let origin = Internet::newcomer(internet.nameserver, internet.port);
            internet.questions.lock().clear();
            let mut probes = JoinSet::new();
            for n in 0..100 {
                let origin = origin.clone();
                probes
                    .spawn(async move { verdict(&origin, &format!("u{n}@{domain}")).await.status });
            }
            assert_eq!(probes.join_all().await, [due; 100]);
            assert_eq!(internet.questions.lock().len(), needed, "{domain}");
        }
    }
}

#[tokio::test]
async fn a_nameserver_that_failed_is_asked_again() {
    let internet = Internet::start().await;
    for questions in 1..=3 {
        assert_eq!(internet.ask("broken.org").await.reason, Reason::DnsFailure);
        assert_eq!(internet.questions.lock().len(), questions);
    }
}

#[tokio::test]
async fn the_second_nameserver_is_asked_when_the_first_is_silent() {
    let internet = Internet::start().await;
    let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let nameservers = format!("{},{}", silent.local_addr().unwrap(), internet.nameserver);
    let origin = origin(&[("RCPT_NAMESERVERS", &nameservers)]);
    let verdict = verdict(&origin, "user@nxdomain.org").await;
    assert_eq!(verdict.status, Status::DomainNotFound);
}

#[tokio::test]
async fn a_family_that_is_switched_off_is_neither_asked_for_nor_dialled() {
    let internet = Internet::start().await;
    let origin = origin(&[
        ("RCPT_NAMESERVERS", &internet.nameserver.to_string()),
        ("RCPT_SMTP_PORT", &internet.port.to_string()),
        ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8,::1"),
        ("RCPT_FAMILIES", "ipv4"),
    ]);
    assert_eq!(verdict(&origin, "user@accepts.org").await.status, Status::Accepted);
    assert_eq!(internet.questions.lock().len(), 2, "MX and A");
    // The host's only address is of a family that we don't use, which isn't its fault.
    let verdict = verdict(&origin, "user@six.org").await;
    assert_eq!((verdict.status, verdict.reason), (Status::FatalException, Reason::OurLimit));
}

#[tokio::test]
async fn a_banner_heard_by_a_probe_shows_that_the_port_is_open() {
    let internet = Internet::start().await;
    let shut = shut_port().await;
    let origin = origin(&[
        ("RCPT_NAMESERVERS", &internet.nameserver.to_string()),
        ("RCPT_SMTP_PORT", &internet.port.to_string()),
        ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8"),
        ("RCPT_PORT_CHECK", &shut),
    ]);
    assert_eq!(verdict(&origin, "user@accepts.org").await.status, Status::Accepted);
    let verdict = verdict(&origin, "user@down-only.org").await;
    assert_eq!(verdict.status, Status::SmtpConnectError);
}

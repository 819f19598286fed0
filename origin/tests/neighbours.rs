//! Nobody in anybody's way: one domain's, one customer's or one machine's trouble is not everybody's
//! (docs/trust.md, N1–N5). DNS is ours and says that the domains are at well-known operators.

mod harness;

use std::{
    collections::HashMap,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::Router;
use harness::{batch, origin, send, verdict_for};
use hickory_resolver::proto::{
    op::Message,
    rr::{
        Name, RData, Record, RecordType,
        rdata::{A, MX},
    },
};
use rcpt_shared::{BatchLine, Reason, Status, Verdict};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream, UdpSocket},
    task::{JoinHandle, JoinSet},
    time::{sleep, timeout},
};

const GOOGLE: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 1);
const EVIL: [&str; 3] = [
    "421 4.7.0 IP not in whitelist for RCPT domain, closing connection.",
    "550 5.7.51 TenantInboundAttribution; There is a partner connector configured",
    "421 4.7.0 try again in 1 hour",
];

/// What the mail servers say at RCPT, by the recipient's domain; and after how long.
struct World {
    refusals: Mutex<HashMap<String, &'static str>>,
    /// Each domain's own host, at an address of its own: Microsoft's way.
    own_hosts: bool,
    delay: Duration,
    open: AtomicUsize,
    most_open: AtomicUsize,
    /// Recipients refused in each session.
    refused: Mutex<Vec<usize>>,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.running.lock().unwrap().iter().for_each(JoinHandle::abort);
    }
}

struct Settings {
    own_hosts: bool,
    delay: Duration,
}

impl World {
    /// The world, and an origin in it.
    async fn start(settings: Settings, environment: &[(&str, &str)]) -> (Arc<Self>, Router) {
        let world = Arc::new(Self {
            refusals: Mutex::default(),
            own_hosts: settings.own_hosts,
            delay: settings.delay,
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
            refused: Mutex::default(),
            running: Mutex::default(),
        });
        // All of 127/8 on one port.
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let serving = Arc::downgrade(&world);
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let Some(world) = serving.upgrade() else { return };
                stream.set_nodelay(true).unwrap();
                tokio::spawn(async move {
                    // The end of another connection may have come before, and be noticed only now.
                    sleep(Duration::from_millis(20)).await;
                    let open = world.open.fetch_add(1, Ordering::Relaxed) + 1;
                    world.most_open.fetch_max(open, Ordering::Relaxed);
                    let _ = world.converse(stream).await;
                    world.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        let nameserver = world.nameserver().await.to_string();
        world.running.lock().unwrap().push(accepting);
        let mut all = vec![
            ("RCPT_NAMESERVERS", nameserver.as_str()),
            ("RCPT_SMTP_PORT", port.as_str()),
            ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8"),
        ];
        all.extend(environment);
        let origin = origin(&all);
        (world, origin)
    }

    /// `<n>.own.org` has a host of its own; every other domain is at Google, or at Microsoft.
    async fn nameserver(self: &Arc<Self>) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let own_hosts = self.own_hosts;
        let answering = tokio::spawn(async move {
            let mut query = [0; 1_500];
            loop {
                let (length, from) = socket.recv_from(&mut query).await.unwrap();
                let query = Message::from_vec(&query[..length]).unwrap();
                let name = query.queries[0].name().clone();
                let text = name.to_ascii();
                let data = match query.queries[0].query_type() {
                    RecordType::MX => {
                        let domain = text.trim_end_matches('.').replace('.', "-");
                        let host = match () {
                            () if text.ends_with("named.org.") => format!("mx.{text}"),
                            () if own_hosts => format!("{domain}.mail.protection.outlook.com."),
                            () => "aspmx.l.google.com.".to_owned(),
                        };
                        Some(RData::MX(MX::new(10, Name::from_ascii(host).unwrap())))
                    }
                    RecordType::A => Some(RData::A(A(address_of(&text)))),
                    _ => None,
                };
                let mut response = query.into_response();
                if let Some(data) = data {
                    response.add_answer(Record::from_rdata(name, 60, data));
                }
                socket.send_to(&response.to_vec().unwrap(), from).await.unwrap();
            }
        });
        self.running.lock().unwrap().push(answering);
        address
    }

    async fn converse(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        stream.write_all(b"220 mx\r\n").await?;
        let (mut line, mut refused) = (String::new(), 0);
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                break;
            }
            let answer = match line.split([' ', '\r']).next().unwrap() {
                "EHLO" => "250-mx\r\n250 PIPELINING".to_owned(),
                "QUIT" => break,
                "RCPT" => {
                    sleep(self.delay).await;
                    self.told(&line).to_owned()
                }
                _ => "250 ok".to_owned(),
            };
            refused += usize::from(answer.starts_with("550 5.1.1"));
            stream.write_all(format!("{answer}\r\n").as_bytes()).await?;
            if answer.starts_with("421") {
                break;
            }
        }
        self.refused.lock().unwrap().push(refused);
        Ok(())
    }

    fn told(&self, line: &str) -> &'static str {
        let address = line.split(['<', '>']).nth(1).unwrap_or_default();
        let (local_part, domain) = address.split_once('@').unwrap_or_default();
        match self.refusals.lock().unwrap().get(domain) {
            Some(refusal) => refusal,
            None if local_part.starts_with("known") => "250 2.1.5 ok",
            None => "550 5.1.1 no such user here",
        }
    }

    fn refuse(&self, domain: &str, reply: &'static str) {
        self.refusals.lock().unwrap().insert(domain.to_owned(), reply);
    }
}

/// Google's hosts have one address, one machine bears `named.org`'s, and all others have their own.
fn address_of(host: &str) -> Ipv4Addr {
    if host.contains("google") {
        return GOOGLE;
    }
    if host.ends_with("named.org.") {
        return Ipv4Addr::new(127, 0, 2, 1);
    }
    let sum = host.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let [_, a, b, c] = sum.to_be_bytes();
    Ipv4Addr::new(127, 3 + a % 100, b, c.clamp(1, 254))
}

/// Asks about others' domains 20 times a second, for as long as the attack lasts.
async fn neighbours(origin: Router, attack: JoinHandle<()>) -> Vec<Verdict> {
    let mut all = JoinSet::new();
    let mut n = 0;
    while !attack.is_finished() || n < 100 {
        let origin = origin.clone();
        let domain =
            if n % 10 == 0 { "gmail.com".to_owned() } else { format!("good{}.org", n % 50) };
        all.spawn(
            async move { verdict_for(&origin, "neighbour", &format!("known{n}@{domain}")).await },
        );
        n += 1;
        sleep(Duration::from_millis(50)).await;
    }
    attack.await.unwrap();
    all.join_all().await
}

/// How long an attack lasts.
const ATTACK: Duration = Duration::from_secs(6);

/// Each of `domains`, by the tenant it is asked for by, `times` times and eight at once.
fn attack(origin: &Router, domains: Vec<(String, String)>, times: usize) -> JoinHandle<()> {
    let origin = origin.clone();
    let attacking = async move {
        let mut all = JoinSet::new();
        for n in 0..times {
            for (tenant, domain) in domains.clone() {
                let origin = origin.clone();
                all.spawn(async move {
                    verdict_for(&origin, &tenant, &format!("u{n}@{domain}")).await;
                });
                if all.len() >= 8 {
                    all.join_next().await;
                }
            }
        }
        all.join_all().await;
    };
    tokio::spawn(async move { drop(timeout(ATTACK, attacking).await) })
}

fn assert_untouched(told: &[Verdict], attack: &str) {
    for verdict in told {
        assert_eq!(verdict.status, Status::Accepted, "{attack}: {verdict:?}");
    }
    assert!(told.len() >= 100);
}

/// N1, the attack as a sequence of checks of one domain.
#[tokio::test(flavor = "multi_thread")]
async fn one_domain_shuts_nothing_for_its_neighbours() {
    for refusal in EVIL {
        for own_hosts in [false, true] {
            let settings = Settings { own_hosts, delay: Duration::from_millis(2) };
            let (world, origin) = World::start(settings, &[]).await;
            world.refuse("evil.org", refusal);
            let domains = vec![("attacker".to_owned(), "evil.org".to_owned())];
            let attack = attack(&origin, domains, 200);
            assert_untouched(&neighbours(origin, attack).await, refusal);
        }
    }
}

/// N1, many domains of one tenant, and one domain each of many tenants.
#[tokio::test(flavor = "multi_thread")]
async fn many_domains_and_many_tenants_shut_nothing_either() {
    let of_one = |n: usize| ("attacker".to_owned(), format!("evil{n}.org"));
    let of_many = |n: usize| (format!("attacker{n}"), format!("evil{n}.org"));
    for refusal in EVIL {
        for domains in [(0..20).map(of_one).collect::<Vec<_>>(), (0..5).map(of_many).collect()] {
            let settings = Settings { own_hosts: false, delay: Duration::from_millis(2) };
            let (world, origin) = World::start(settings, &[]).await;
            for (_, domain) in &domains {
                world.refuse(domain, refusal);
            }
            let attack = attack(&origin, domains, 2);
            assert_untouched(&neighbours(origin, attack).await, refusal);
        }
    }
}

async fn operators(origin: &Router) -> Value {
    let request = axum::http::Request::get("/operators").body(axum::body::Body::empty()).unwrap();
    harness::json_of(send(origin, request).await).await
}

/// N2.
#[tokio::test(flavor = "multi_thread")]
async fn a_ban_of_our_address_is_noticed_shown_and_made_good() {
    const BAN: &str = "550 5.7.1 Service unavailable; client host blocked using zen.spamhaus.org";
    let settings = Settings { own_hosts: false, delay: Duration::ZERO };
    let (world, origin) = World::start(settings, &[]).await;
    for n in 0..16 {
        let domain = format!("d{n}.org");
        world.refuse(&domain, BAN);
        let told = verdict_for(&origin, &format!("t{}", n % 4), &format!("known@{domain}")).await;
        assert_eq!(told.status, Status::BlockedByProvider, "{n}: {told:?}");
    }
    let shown = operators(&origin).await;
    let google = &shown["operators"][0];
    assert_eq!(
        (&google["operator"], &google["source"]),
        (&"google".into(), &"probe.example.com".into())
    );
    assert_eq!(google["interval_ms"], 5_000, "{google}");
    assert!(google["lowered_since"].is_u64());
    let words = google["words"].as_str().unwrap();
    assert!(words.contains("blocked using") && !words.contains(".org "), "{words}");
    world.refusals.lock().unwrap().clear();
    for n in 0..8 {
        let told = verdict_for(&origin, "t", &format!("known@good{n}.org")).await;
        assert_eq!(told.status, Status::Accepted, "{n}");
    }
    let shown = operators(&origin).await;
    assert_eq!(shown["operators"][0]["interval_ms"], 100);
    assert_eq!(shown["operators"][0]["lowered_since"], Value::Null);
}

/// N3.
#[tokio::test(flavor = "multi_thread")]
async fn one_machine_with_five_hundred_names_sees_two_sessions() {
    let settings = Settings { own_hosts: false, delay: Duration::from_millis(5) };
    let (world, origin) = World::start(settings, &[]).await;
    let addresses: Vec<_> = (0..500).map(|n| format!("known@d{n}.named.org")).collect();
    let lines = batch(&origin, &addresses[..20], None).await;
    assert_eq!(lines.len(), 21);
    let mut all = JoinSet::new();
    for address in addresses.into_iter().skip(20) {
        let origin = origin.clone();
        let tenant = format!("t{}", all.len() % 4);
        all.spawn(async move { verdict_for(&origin, &tenant, &address).await.status });
    }
    let told = all.join_all().await;
    assert!(told.contains(&Status::Accepted));
    let most = world.most_open.load(Ordering::Relaxed);
    assert!(most <= 2, "{most} at once");
    assert!(world.open.load(Ordering::Relaxed) <= 2, "idle ones included");
}

/// N4.
#[tokio::test(flavor = "multi_thread")]
async fn every_address_of_a_batch_has_its_line_and_single_checks_do_not_wait_for_it() {
    let settings = Settings { own_hosts: true, delay: Duration::from_millis(100) };
    let environment = [("RCPT_BUDGET_MS", "10000")];
    let (_world, origin) = World::start(settings, &environment).await;
    let single = async |n: usize| {
        let started = tokio::time::Instant::now();
        let told = verdict_for(&origin, "single", &format!("known@single{n}.org")).await;
        assert_eq!(told.status, Status::Accepted, "{told:?}");
        started.elapsed()
    };
    let mut alone = Vec::new();
    for n in 0..5 {
        alone.push(single(100 + n).await);
    }
    alone.sort_unstable();
    let alone = alone[2];
    let addresses: Vec<_> = (0..500).map(|n| format!("known@d{n}.org")).collect();
    let (asked, others) = (origin.clone(), addresses.clone());
    let running = tokio::spawn(async move {
        let started = tokio::time::Instant::now();
        (batch(&asked, &others, Some("lister")).await, started.elapsed())
    });
    sleep(Duration::from_secs(3)).await;
    let mut beside = Vec::new();
    for n in 1..12 {
        beside.push(single(n).await);
        sleep(Duration::from_millis(500)).await;
    }
    beside.sort_unstable();
    let (lines, took) = running.await.unwrap();
    assert!(took <= Duration::from_secs(61), "{took:?}");
    assert_eq!(lines.len(), 501);
    let (mut verdicts, mut missed) = (0, 0);
    for line in &lines {
        match line {
            BatchLine::Answer(answer) => {
                assert_eq!(answer.verdict.status, Status::Accepted, "{answer:?}");
                verdicts += 1;
            }
            BatchLine::NotAsked(address) => {
                assert!(address.not_asked_retry_after > 0);
                missed += 1;
            }
            BatchLine::End(end) => assert_eq!((end.answered, end.not_asked), (verdicts, missed)),
        }
    }
    assert!(verdicts >= 100, "{verdicts} answered, {missed} not asked");
    println!(
        "{verdicts} answered, {missed} not asked in {took:?}; alone {alone:?}, beside {beside:?}"
    );
}

/// N5.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_dead_addresses_is_no_dictionary_attack() {
    let settings = Settings { own_hosts: false, delay: Duration::ZERO };
    let dir = std::env::temp_dir().join(format!("rcpt-neighbours-{}.toml", std::process::id()));
    std::fs::write(&dir, "[[operator]]\nname = \"google\"\nrefused_per_hour = 60\n").unwrap();
    let environment = [("RCPT_OPERATORS_FILE", dir.to_str().unwrap())];
    let (world, origin) = World::start(settings, &environment).await;
    std::fs::remove_file(&dir).unwrap();
    let mut refused = 0;
    for part in 0..2 {
        let addresses: Vec<_> = (0..500).map(|n| format!("dead{part}-{n}@dead.org")).collect();
        let lines = batch(&origin, &addresses, Some("harvester")).await;
        assert_eq!(lines.len(), 501);
        for line in lines {
            match line {
                BatchLine::Answer(answer) => {
                    assert_eq!(answer.verdict.reason, Reason::NoSuchMailbox, "{answer:?}");
                    refused += 1;
                }
                BatchLine::NotAsked(missed) => assert!(missed.not_asked_retry_after > 0),
                BatchLine::End(_) => {}
            }
        }
    }
    // Half of sixty is the tenant's share, and those under way when it is spent.
    assert!((30..=38).contains(&refused), "{refused}");
    let other = verdict_for(&origin, "other", "known@alive.org").await;
    assert_eq!(other.status, Status::Accepted, "{other:?}");
    let most = world.refused.lock().unwrap().iter().copied().max();
    assert!(most.is_some_and(|most| most <= 3), "{most:?} in one session");
}

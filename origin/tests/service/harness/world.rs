//! A simulated Internet whose domains belong to well-known operators: a nameserver, and mail servers on all of 127/8
//! that answer by the recipient's domain.

use std::{
    collections::HashMap,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::Router;
use hickory_resolver::proto::{
    op::Message,
    rr::{
        Name, RData, Record, RecordType,
        rdata::{A, MX},
    },
};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream, UdpSocket},
    task::JoinHandle,
    time::sleep,
};

use super::origin;

const GOOGLE: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 1);
/// The simulated Internet: its settings, and records of connections and refused recipients.
pub struct World {
    pub refusals: Mutex<HashMap<String, &'static str>>,
    /// True if each domain has its own host with its own address, as at Microsoft.
    pub own_hosts: bool,
    pub delay: Duration,
    /// Port of the mail servers.
    port: u16,
    /// Number of connections so far.
    pub accepted: AtomicUsize,
    /// Highest number of open connections seen when a connection was accepted, if recorded.
    pub most_open: AtomicUsize,
    /// Number of recipients refused in each session.
    pub refused: Mutex<Vec<usize>>,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.running.lock().iter().for_each(JoinHandle::abort);
    }
}

#[derive(Default)]
pub struct Settings {
    pub own_hosts: bool,
    pub delay: Duration,
    /// True to read [`World::open`] when a connection is accepted. Reading takes twenty milliseconds, in which no other
    /// connection is accepted.
    pub watches_open: bool,
}

impl World {
    /// Starts the world, and an origin in it.
    pub async fn start(settings: Settings, environment: &[(&str, &str)]) -> (Arc<Self>, Router) {
        let (world, own) = Self::without_origin(settings).await;
        let mut all: Vec<_> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
        all.extend(environment);
        (world, origin(&all))
    }

    /// Starts the world, and returns the environment of an origin in it.
    pub async fn without_origin(settings: Settings) -> (Arc<Self>, [(&'static str, String); 3]) {
        // Listens on all of 127/8 at one port.
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let world = Arc::new(Self {
            refusals: Mutex::default(),
            own_hosts: settings.own_hosts,
            delay: settings.delay,
            port,
            accepted: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
            refused: Mutex::default(),
            running: Mutex::default(),
        });
        let serving = Arc::downgrade(&world);
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let Some(world) = serving.upgrade() else { return };
                stream.set_nodelay(true).unwrap();
                world.accepted.fetch_add(1, Ordering::Relaxed);
                if settings.watches_open {
                    world.most_open.fetch_max(world.open(), Ordering::Relaxed);
                }
                tokio::spawn(async move { world.converse(stream).await });
            }
        });
        let nameserver = world.nameserver().await.to_string();
        world.running.lock().push(accepting);
        let environment = [
            ("RCPT_NAMESERVERS", nameserver),
            ("RCPT_SMTP_PORT", port.to_string()),
            ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8".to_owned()),
        ];
        (world, environment)
    }

    /// The number of connections that origin holds open, from the kernel's view of origin's ends: connections
    /// closed by origin don't count. The table is read a page at a time, and a changing entry may occur twice.
    pub fn open(&self) -> usize {
        [(); 3].map(|()| self.open_in_table()).into_iter().min().unwrap_or_default()
    }

    fn open_in_table(&self) -> usize {
        const ESTABLISHED: &str = "01";
        let sockets = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let own = format!(":{:04X}", self.port);
        let is_open = |line: &&str| {
            let mut columns = line.split_whitespace().skip(2);
            let [remote, state] = [columns.next(), columns.next()];
            remote.is_some_and(|it| it.ends_with(&own)) && state == Some(ESTABLISHED)
        };
        sockets.lines().filter(is_open).count()
    }

    /// Starts a nameserver: `<n>.named.org` has its own host; every other domain is at Google, or at
    /// Microsoft.
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
        self.running.lock().push(answering);
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
                    self.reply_to(&line).to_owned()
                }
                _ => "250 ok".to_owned(),
            };
            refused += usize::from(answer.starts_with("550 5.1.1"));
            stream.write_all(format!("{answer}\r\n").as_bytes()).await?;
            if answer.starts_with("421") {
                break;
            }
        }
        self.refused.lock().push(refused);
        Ok(())
    }

    fn reply_to(&self, line: &str) -> &'static str {
        let address = line.split(['<', '>']).nth(1).unwrap_or_default();
        let (local_part, domain) = address.split_once('@').unwrap_or_default();
        match self.refusals.lock().get(domain) {
            Some(refusal) => refusal,
            None if local_part.starts_with("known") => "250 2.1.5 ok",
            None => "550 5.1.1 no such user here",
        }
    }

    pub fn refuse(&self, domain: &str, reply: &'static str) {
        self.refusals.lock().insert(domain.to_owned(), reply);
    }
}

/// A host's address: Google's hosts share one address, one machine serves all names of `named.org`, and all
/// other hosts have their own address.
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

//! Conversations with servers that people have met, from bug trackers of mail programs: each is played over real
//! sockets, with the verdicts that are right. `data/conversations.json` has the scripts. A text is one byte for each
//! letter up to U+00FF, otherwise UTF-8. A reply is a text, or an object with the times and the end of a reply.

use std::{collections::HashMap, net::IpAddr, pin::Pin, sync::Arc, time::Duration};

use hickory_resolver::proto::rr::{RData, RecordType};
use serde_json::Value;
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader,
    },
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    harness::{
        internet::{Internet, a, mx},
        verdict,
    },
    starttls::acceptor,
};

/// Latest time of an answer: the budget of ten seconds, and a busy machine.
const LIMIT: Duration = Duration::from_millis(10_500);
/// The fatal alert `protocol_version`, with which a server refuses a newer TLS.
const TLS_TOO_NEW: [u8; 7] = [21, 3, 1, 0, 2, 2, 70];

/// A host of a conversation, and what its texts name.
struct Script {
    host: Value,
    defaults: Arc<Value>,
    domain: String,
    recipient: String,
}

/// Event after a reply.
#[derive(PartialEq)]
enum Then {
    GoOn,
    Close,
    Reset,
    Silence,
    Tls,
    OldTls,
    /// The server agreed to TLS, and goes on in the clear.
    StayPlain,
}

fn bytes_of(text: &str) -> Vec<u8> {
    let latin: Option<Vec<u8>> = text.chars().map(|it| u8::try_from(u32::from(it)).ok()).collect();
    latin.unwrap_or_else(|| text.as_bytes().to_vec())
}

impl Script {
    fn reply(&self, key: &str) -> Value {
        let own = self.host.get(key).or_else(|| self.defaults.get(key));
        own.cloned().unwrap_or_else(|| Value::from("500 5.5.2 What?\r\n"))
    }

    fn rule(&self, name: &str) -> Option<&str> {
        self.host.get("rules")?.get(name)?.as_str()
    }

    fn fill(&self, text: &str, recipient: &str) -> Vec<u8> {
        bytes_of(&text.replace("{domain}", &self.domain).replace("{rcpt}", recipient))
    }
}

/// The server's side of one connection.
struct Talk<'a> {
    script: &'a Script,
    is_encrypted: bool,
    /// Number of each command so far.
    counts: HashMap<String, usize>,
    /// Replies that wait for the end of the flight, if the server sends them together.
    held: Option<Vec<u8>>,
}

impl Talk<'_> {
    /// Sends the reply to `key`, and returns what follows.
    async fn reply<S>(&mut self, stream: &mut BufReader<S>, key: &str, recipient: &str) -> Then
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let count = self.counts.entry(key.to_owned()).or_default();
        *count += 1;
        let mut reply = self.script.reply(key);
        for (name, applies) in [
            ("before_tls", !self.is_encrypted),
            ("after_tls", self.is_encrypted),
            ("first", *count == 1),
            ("second", *count > 1),
        ] {
            if let (true, Some(one)) = (applies, reply.get(name)) {
                reply = one.clone();
            }
        }
        let pause = |ms: &Value| sleep(Duration::from_millis(ms.as_u64().unwrap_or_default()));
        let then = match reply["then"].as_str() {
            None => Then::GoOn,
            Some("close") => Then::Close,
            Some("reset") => Then::Reset,
            Some("silence") => Then::Silence,
            Some("tls") if reply.get("tls").is_some() => Then::OldTls,
            Some("tls") => Then::Tls,
            Some("stay_plain") => Then::StayPlain,
            Some(other) => panic!("{other}"),
        };
        let mut pieces = Vec::new();
        if let Some(all) = reply["pieces"].as_array() {
            pieces.extend(all.iter().map(|piece| (piece[0].clone(), piece[1].clone())));
        } else {
            let text = reply.as_str().or(reply["send"].as_str()).unwrap_or_default().to_owned();
            let before = if then == Then::Reset { Value::Null } else { reply["after_ms"].clone() };
            pieces.push((before, Value::from(text)));
        }
        for (before, text) in pieces {
            pause(&before).await;
            let text = self.script.fill(text.as_str().unwrap(), recipient);
            let step = if reply.get("drip_ms").is_some() { 1 } else { text.len().max(1) };
            for piece in text.chunks(step) {
                if let Some(held) = &mut self.held {
                    held.extend(piece);
                } else if stream.write_all(piece).await.is_err() {
                    return Then::Close;
                }
                if step == 1 {
                    pause(&reply["drip_ms"]).await;
                }
            }
        }
        if let Some(held) = self.held.as_mut().filter(|_| stream.buffer().is_empty()) {
            let _ = stream.write_all(held).await;
            held.clear();
        }
        if then == Then::Reset {
            pause(&reply["after_ms"]).await;
        }
        then
    }

    /// Answers commands until something else than a command must follow.
    async fn converse<S>(&mut self, stream: &mut BufReader<S>) -> Then
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        loop {
            let mut line = Vec::new();
            if stream.read_until(b'\n', &mut line).await.unwrap_or(0) == 0 {
                return Then::Close;
            }
            if let (Some(rule), false) =
                (self.script.rule("two commands in one read"), stream.buffer().is_empty())
            {
                let unread = stream.buffer().len();
                stream.consume(unread);
                if rule.starts_with("500") {
                    let _ = stream.write_all(rule.as_bytes()).await;
                    continue;
                }
            }
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            let mut key = line.split(' ').next().unwrap_or_default().to_ascii_uppercase();
            let mut recipient = "";
            if key == "RCPT" {
                recipient = line.split(['<', '>']).nth(1).unwrap_or_default();
                if recipient != self.script.recipient {
                    "RCPT other".clone_into(&mut key);
                }
            }
            match self.reply(stream, &key, recipient).await {
                Then::GoOn => {}
                Then::StayPlain => {
                    let _ = stream.read(&mut [0; 4_096]).await;
                    let _ = stream.write_all(b"500 5.5.2 What?\r\n").await;
                }
                then => return then,
            }
        }
    }
}

async fn serve(stream: TcpStream, script: &Script) {
    let held = script.rule("delay all replies").map(|_| Vec::new());
    let mut talk = Talk { script, is_encrypted: false, counts: HashMap::new(), held };
    let mut stream = BufReader::new(stream);
    if script.rule("any byte before the banner").is_some() {
        let early = timeout(Duration::from_secs(3), stream.fill_buf()).await;
        if early.is_ok() {
            let _ = stream.write_all(b"550 5.5.1 Command received before SMTP greeting\r\n").await;
            return;
        }
    }
    let mut then = talk.reply(&mut stream, "banner", "").await;
    if then == Then::GoOn {
        then = talk.converse(&mut stream).await;
    }
    match then {
        Then::GoOn | Then::Close | Then::StayPlain => {}
        Then::Reset => stream.get_ref().set_zero_linger().unwrap(),
        Then::Silence => drop(stream.read_to_end(&mut Vec::new()).await),
        Then::OldTls => {
            let _ = stream.read(&mut [0; 4_096]).await;
            let _ = stream.write_all(&TLS_TOO_NEW).await;
        }
        Then::Tls => {
            let Ok(encrypted) = acceptor().accept(stream.into_inner()).await else { return };
            talk.is_encrypted = true;
            talk.converse(&mut BufReader::new(encrypted)).await;
        }
    }
}

/// The domain of a conversation.
fn domain(number: usize) -> String {
    format!("c{number}.org")
}

#[tokio::test]
async fn every_conversation_that_people_have_met_ends_in_a_right_verdict() {
    let all: Value = serde_json::from_str(include_str!("data/conversations.json")).unwrap();
    let defaults = Arc::new(all["defaults"].clone());
    let conversations = all["conversations"].as_array().unwrap();
    assert_eq!(conversations.len(), 48);
    let mut scripts: HashMap<IpAddr, Arc<Script>> = HashMap::new();
    let mut hosts_of: HashMap<String, usize> = HashMap::new();
    for (number, conversation) in conversations.iter().enumerate() {
        let hosts = conversation["hosts"].as_object().unwrap();
        hosts_of.insert(domain(number), hosts.len());
        for (position, host) in hosts.values().enumerate() {
            let recipient = conversation["recipient"].as_str().unwrap();
            let script = Script {
                host: host.clone(),
                defaults: defaults.clone(),
                domain: domain(number),
                recipient: recipient.replace("{domain}", &domain(number)),
            };
            scripts.insert(
                IpAddr::from([127, 9, number as u8 + 1, position as u8 + 1]),
                Arc::new(script),
            );
        }
    }
    let zone = move |name: &str, kind| match kind {
        RecordType::MX => (1..=hosts_of.get(name).copied().unwrap_or_default())
            .map(|host| mx(host as u16 * 10, &format!("mx{host}.{name}")))
            .collect(),
        RecordType::A => address_of(name).into_iter().collect(),
        _ => Vec::new(),
    };
    let internet = Internet::start(zone, move |stream, dialled| {
        let script = scripts.get(&dialled).cloned();
        let serving: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            if let Some(script) = script {
                serve(stream, &script).await;
            }
        });
        serving
    })
    .await;
    let origins = ["on_demand", "always"].map(|starttls| {
        (
            starttls,
            internet.origin(&[("RCPT_STARTTLS", starttls), ("RCPT_NETWORK_SESSIONS", "100")]),
        )
    });
    let mut checks = JoinSet::new();
    for (number, conversation) in conversations.iter().enumerate() {
        let recipient = conversation["recipient"].as_str().unwrap();
        let address = recipient.replace("{domain}", &domain(number));
        let origin = origins.iter().find(|(starttls, _)| conversation["starttls"] == *starttls);
        let (conversation, origin) = (conversation.clone(), origin.unwrap().1.clone());
        checks.spawn(async move {
            let began = Instant::now();
            let verdict = verdict(&origin, &address).await;
            (conversation, verdict, began.elapsed())
        });
    }
    let mut wrong = Vec::new();
    while let Some(done) = checks.join_next().await {
        let (conversation, verdict, took) = done.unwrap();
        let name = conversation["name"].as_str().unwrap();
        // Whether the domain accepts everything is asked in the background.
        let reason = verdict.reason.as_str().trim_end_matches("_catch_all");
        let found = [verdict.status.as_str(), reason];
        let expected = conversation["expected"].as_array().unwrap();
        let is_right = expected.iter().any(|pair| found == [&pair[0], &pair[1]]);
        println!("{name}: {found:?} after {:.1} s", took.as_secs_f64());
        if !is_right || took > LIMIT {
            wrong.push(format!("{name}: {found:?} instead of {expected:?}, {took:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The address of `mx2.c7.org`.
fn address_of(name: &str) -> Option<RData> {
    let (host, domain) = name.strip_prefix("mx")?.split_once('.')?;
    let number: u8 = domain.strip_prefix('c')?.strip_suffix(".org")?.parse().ok()?;
    Some(a(&format!("127.9.{}.{host}", number + 1)))
}

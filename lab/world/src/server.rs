//! A simulated mail server: one SMTP engine, and a behaviour for each kind of server.

use std::{net::IpAddr, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream},
    time::sleep,
};

use crate::{
    internet::Observations,
    journal::Journal,
    trace::{ReplyEvent, Trace},
    truth,
};

/// A reply, its delay, and the connection's state after it.
pub struct Say {
    pub after: Duration,
    pub text: String,
    pub ending: Ending,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Stays,
    /// The server closes the connection after its reply.
    Closes,
    /// The server closes the connection without a reply.
    Resets,
    /// The server never sends anything again.
    Hangs,
}

impl Say {
    pub fn now(text: impl Into<String>) -> Self {
        Self { after: Duration::ZERO, text: text.into(), ending: Ending::Stays }
    }

    pub fn after(after: Duration, text: impl Into<String>) -> Self {
        Self { after, ..Self::now(text) }
    }

    pub fn closing(text: impl Into<String>) -> Self {
        Self { ending: Ending::Closes, ..Self::now(text) }
    }

    pub fn ending(ending: Ending) -> Self {
        Self { ending, ..Self::now("") }
    }

    pub fn ok() -> Self {
        Self::now("250 2.1.0 OK")
    }

    pub fn accepted() -> Self {
        Self::now("250 2.1.5 OK")
    }
}

/// The client of a session, as the server sees it.
pub struct Caller<'a> {
    pub source: IpAddr,
    pub now: Duration,
    /// Open sessions of the source with the server's operator, including this session.
    pub open: usize,
    /// Number of earlier recipients in this session.
    pub asked: usize,
    pub journal: &'a Journal,
}

/// Behaviour of one operator or one host, which may depend on earlier sessions. Times and limits are fields of the
/// implementing type.
pub trait Behaviour: Send {
    fn banner(&mut self, _: &Caller<'_>) -> Say {
        Say::now("220 mx.example.net ESMTP")
    }

    fn ehlo(&mut self, _: &Caller<'_>) -> Say {
        Say::now("250-mx.example.net\r\n250-PIPELINING\r\n250 ENHANCEDSTATUSCODES")
    }

    fn mail(&mut self, _: &Caller<'_>) -> Say {
        Say::ok()
    }

    fn rcpt(&mut self, caller: &Caller<'_>, recipient: &str) -> Say;

    fn rset(&mut self, _: &Caller<'_>) -> Say {
        Say::now("250 2.0.0 Flushed")
    }
}

/// An operator's servers, which share their memory, or one host.
pub struct Server {
    /// Kind of server, for figures.
    pub kind: &'static str,
    /// Name in the pool's table of operators; `None` if unlisted.
    pub operator: Option<&'static str>,
    /// Time of a round trip.
    pub round_trip: Duration,
    behaviour: Mutex<Box<dyn Behaviour>>,
}

impl Server {
    pub fn new(
        kind: &'static str,
        operator: Option<&'static str>,
        round_trip_ms: u64,
        behaviour: impl Behaviour + 'static,
    ) -> Arc<Self> {
        let round_trip = Duration::from_millis(round_trip_ms);
        let behaviour: Box<dyn Behaviour> = Box::new(behaviour);
        Arc::new(Self { kind, operator, round_trip, behaviour: Mutex::new(behaviour) })
    }

    fn behaviour(&self) -> MutexGuard<'_, Box<dyn Behaviour>> {
        self.behaviour.lock()
    }
}

/// The server's side of one session.
pub struct Visit {
    pub server: Arc<Server>,
    pub machine: IpAddr,
    pub source: IpAddr,
    pub observations: Arc<Observations>,
    pub asked: usize,
}

impl Visit {
    fn caller(&self) -> Caller<'_> {
        Caller {
            source: self.source,
            now: self.observations.clock.now(),
            open: self.observations.open_at(self.source, self.server.kind, self.machine),
            asked: self.asked,
            journal: &self.observations.journal,
        }
    }

    fn trace(&self) -> &Trace {
        &self.observations.trace
    }

    /// Holds the server's side of the session until either side ends it.
    pub async fn converse(mut self, mut stream: DuplexStream) {
        let banner = {
            let mut behaviour = self.server.behaviour();
            behaviour.banner(&self.caller())
        };
        let round_trip = self.server.round_trip;
        sleep(round_trip).await;
        let (mut input, mut output) = (Vec::new(), Vec::new());
        if !utter(&mut stream, &mut output, banner).await
            || stream.write_all(&output).await.is_err()
        {
            return;
        }
        output.clear();
        loop {
            match stream.read_buf(&mut input).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            sleep(round_trip).await;
            while let Some(line) = take_line(&mut input) {
                let say = self.answer(&line);
                let is_last = line.starts_with("QUIT");
                if !utter(&mut stream, &mut output, say).await || is_last {
                    let _ = stream.write_all(&output).await;
                    return;
                }
            }
            if stream.write_all(&output).await.is_err() {
                return;
            }
            output.clear();
        }
    }

    fn answer(&mut self, line: &str) -> Say {
        let server = Arc::clone(&self.server);
        let mut behaviour = server.behaviour();
        match line.get(..4).unwrap_or_default() {
            "EHLO" | "HELO" => behaviour.ehlo(&self.caller()),
            "MAIL" => behaviour.mail(&self.caller()),
            "RCPT" => {
                let recipient = line.split(['<', '>']).nth(1).unwrap_or_default();
                let mut say = behaviour.rcpt(&self.caller(), recipient);
                self.asked += 1;
                self.note(recipient, &mut say);
                say
            }
            "RSET" => behaviour.rset(&self.caller()),
            "QUIT" => Say::closing("221 2.0.0 Bye"),
            _ => Say::now("502 5.5.2 Unknown command"),
        }
    }

    fn note(&self, recipient: &str, say: &mut Say) {
        if say.text.is_empty() {
            return;
        }
        say.text = format!("{} {}", say.text, truth::tag(recipient));
        self.observations.journal.replied(recipient, &say.text);
        self.trace().reply(&ReplyEvent {
            at: self.observations.clock.now(),
            source: self.source,
            server: self.machine,
            recipient,
            reply: &say.text,
        });
    }
}

fn take_line(input: &mut Vec<u8>) -> Option<String> {
    let end = input.windows(2).position(|pair| pair == b"\r\n")?;
    let line: Vec<u8> = input.drain(..end + 2).collect();
    Some(String::from_utf8_lossy(line.get(..end).unwrap_or_default()).into_owned())
}

/// The output is sent before a delay and before closing. True if the session continues.
async fn utter(stream: &mut DuplexStream, output: &mut Vec<u8>, say: Say) -> bool {
    if !say.after.is_zero() {
        if stream.write_all(output).await.is_err() {
            return false;
        }
        output.clear();
        sleep(say.after).await;
    }
    if !say.text.is_empty() {
        output.extend_from_slice(say.text.as_bytes());
        output.extend_from_slice(b"\r\n");
    }
    match say.ending {
        Ending::Stays => {
            if !say.after.is_zero() || output.len() > 4_096 {
                let is_sent = stream.write_all(output).await.is_ok();
                output.clear();
                return is_sent;
            }
            true
        }
        Ending::Closes => {
            let _ = stream.write_all(output).await;
            output.clear();
            false
        }
        Ending::Resets => false,
        Ending::Hangs => {
            let _ = stream.write_all(output).await;
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            false
        }
    }
}

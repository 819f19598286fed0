//! A small mail server that answers each recipient as configured, accepts no mail, and keeps a record.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::process::runtime;

/// RFC 5321 §4.5.3.1.4 asks for 512; twice that leaves room for the extensions.
const MAX_LINE: u64 = 1024;
/// A session without a command is closed after this long.
const IDLE: Duration = Duration::from_secs(60);

const EHLO: &str = "250-sandbox.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n\
    250 ENHANCEDSTATUSCODES\r\n";

/// Behaviour of the server for a recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This line, without its CRLF.
    Reply(String),
    /// This line, later.
    After(Duration, String),
    /// Nothing at all.
    Silence,
}

impl Answer {
    /// 250.
    pub fn accept() -> Self {
        Self::reply("250 2.1.5 Ok")
    }

    /// 550 5.1.1.
    pub fn unknown() -> Self {
        Self::reply("550 5.1.1 No such user here")
    }

    /// A reply of one line, given without its CRLF.
    pub fn reply(line: &str) -> Self {
        Self::Reply(line.to_owned())
    }
}

/// Commands of one connection, in order.
pub type Session = Vec<String>;
type Rule = dyn Fn(&str) -> Answer + Send + Sync;
type Record = Arc<Mutex<Vec<Session>>>;

/// A running server; dropping it closes its port.
#[derive(Debug)]
pub struct SmtpServer {
    address: SocketAddr,
    record: Record,
    task: JoinHandle<()>,
}

impl SmtpServer {
    /// Listens on `address` (port 0: any) and asks `rule` about each recipient.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn start(
        address: SocketAddr,
        rule: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Result<Self> {
        let listener = std::net::TcpListener::bind(address)
            .with_context(|| format!("a test mail server cannot listen on {address}"))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let record = Record::default();
        let task = runtime::spawn(serve(listener, Arc::new(rule), record.clone()));
        Ok(Self { address, record, task })
    }

    /// Address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every connection so far, in the order they came.
    pub fn sessions(&self) -> Vec<Session> {
        self.record.lock().clone()
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: std::net::TcpListener, rule: Arc<Rule>, record: Record) {
    let listener = TcpListener::from_std(listener).expect("a nonblocking listener");
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let index = {
            let mut sessions = record.lock();
            sessions.push(Session::new());
            sessions.len() - 1
        };
        let (rule, record) = (rule.clone(), record.clone());
        // An error is the client's leaving.
        tokio::spawn(async move { converse(stream, &*rule, &record, index).await.ok() });
    }
}

async fn converse(stream: TcpStream, rule: &Rule, record: &Record, index: usize) -> Result<()> {
    stream.set_nodelay(true)?;
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    writer.write_all(b"220 sandbox.test ESMTP\r\n").await?;
    while let Some(line) = next_line(&mut reader).await? {
        if let Some(session) = record.lock().get_mut(index) {
            session.push(line.clone());
        }
        let verb = line.get(..4).unwrap_or(&line).to_ascii_uppercase();
        let reply = match verb.as_str() {
            "EHLO" => EHLO,
            "HELO" => "250 sandbox.test\r\n",
            "MAIL" => "250 2.1.0 Ok\r\n",
            "RCPT" => {
                answer(&mut writer, rule(recipient(&line))).await?;
                continue;
            }
            "RSET" | "NOOP" => "250 2.0.0 Ok\r\n",
            "QUIT" => {
                writer.write_all(b"221 2.0.0 Bye\r\n").await?;
                break;
            }
            "DATA" => "554 5.5.1 This server takes no mail\r\n",
            _ => "502 5.5.2 Command not implemented\r\n",
        };
        writer.write_all(reply.as_bytes()).await?;
    }
    Ok(())
}

/// Returns `None` when the client left or was silent for too long.
async fn next_line(reader: &mut BufReader<OwnedReadHalf>) -> Result<Option<String>> {
    let mut line = Vec::new();
    let mut bounded = reader.take(MAX_LINE);
    let Ok(read) = timeout(IDLE, bounded.read_until(b'\n', &mut line)).await else {
        return Ok(None);
    };
    let whole = read? > 0 && line.ends_with(b"\n");
    Ok(whole.then(|| String::from_utf8_lossy(&line).trim_end().to_owned()))
}

async fn answer(writer: &mut OwnedWriteHalf, answer: Answer) -> Result<()> {
    let line = match answer {
        Answer::Reply(line) => line,
        Answer::After(pause, line) => {
            sleep(pause).await;
            line
        }
        Answer::Silence => return Ok(()),
    };
    writer.write_all(format!("{line}\r\n").as_bytes()).await?;
    Ok(())
}

/// The address in `RCPT TO:<address>`.
fn recipient(line: &str) -> &str {
    let path = line.split_once('<').map_or("", |(_, rest)| rest);
    path.rsplit_once('>').map_or(path, |(address, _)| address)
}

//! A small mail server that answers each recipient as configured, accepts no mail, and records its connections.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader,
    },
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

use crate::process::runtime;

/// Greatest length of a command line: RFC 5321 §4.5.3.1.4 requires 512, and twice that leaves room for the extensions.
const LINE_BYTES_MAX: u64 = 1024;
/// Time without a command after which a session is closed.
const IDLE: Duration = Duration::from_secs(60);

const EHLO: &str = "250-sandbox.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n\
    250 ENHANCEDSTATUSCODES\r\n";

/// Behaviour of the server for a recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This line, without its CRLF, immediately.
    Reply(String),
    /// This line, without its CRLF, after a delay.
    After(Duration, String),
    /// No reply at all.
    Silence,
}

impl Answer {
    /// The reply 250.
    pub fn accept() -> Self {
        Self::reply("250 2.1.5 Ok")
    }

    /// The reply 550 5.1.1.
    pub fn unknown() -> Self {
        Self::reply("550 5.1.1 No such user here")
    }

    /// A reply of this line, without its CRLF.
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
    /// Listens on `address` (port 0: any). `rule` returns the behaviour for each recipient.
    pub fn start(
        address: SocketAddr,
        rule: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::serving(address, Arc::new(rule), None)
    }

    /// Like [`Self::start`], and offers STARTTLS with a self-signed certificate.
    pub fn start_with_tls(
        address: SocketAddr,
        rule: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::serving(address, Arc::new(rule), Some(acceptor()?))
    }

    fn serving(address: SocketAddr, rule: Arc<Rule>, tls: Option<TlsAcceptor>) -> Result<Self> {
        let listener = std::net::TcpListener::bind(address)
            .with_context(|| format!("a test mail server cannot listen on {address}"))?;
        listener.set_nonblocking(true)?;
        // The standard library's backlog of 128 is too small: further concurrent clients would retry after a second.
        rustix::net::listen(&listener, 4_096)?;
        let address = listener.local_addr()?;
        let record = Record::default();
        let task = runtime::spawn(serve(listener, rule, record.clone(), tls));
        Ok(Self { address, record, task })
    }

    /// The address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The commands of every connection so far, in the order of arrival.
    pub fn sessions(&self) -> Vec<Session> {
        self.record.lock().clone()
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn acceptor() -> Result<TlsAcceptor> {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["sandbox.test".to_owned()])?;
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).map_err(anyhow::Error::msg)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn serve(
    listener: std::net::TcpListener,
    rule: Arc<Rule>,
    record: Record,
    tls: Option<TlsAcceptor>,
) {
    let listener = TcpListener::from_std(listener).expect("a nonblocking listener");
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let index = {
            let mut sessions = record.lock();
            sessions.push(Session::new());
            sessions.len() - 1
        };
        let session = MailSession { rule: rule.clone(), record: record.clone(), index };
        let tls = tls.clone();
        // An error means that the client has disconnected.
        tokio::spawn(async move { session.hold(stream, tls).await.ok() });
    }
}

/// A connection: the rule for its replies, and its place in the record.
struct MailSession {
    rule: Arc<Rule>,
    record: Record,
    /// Index of the connection in the record.
    index: usize,
}

impl MailSession {
    async fn hold(&self, mut stream: TcpStream, tls: Option<TlsAcceptor>) -> Result<()> {
        stream.set_nodelay(true)?;
        stream.write_all(b"220 sandbox.test ESMTP\r\n").await?;
        let offer = if tls.is_some() { "250-STARTTLS\r\n" } else { "" };
        let stream = self.converse(stream, offer).await?;
        if let (Some(stream), Some(tls)) = (stream, tls) {
            self.converse(tls.accept(stream).await?, "").await?;
        }
        Ok(())
    }

    /// Answers until the client leaves. Returns the stream if the client requests an offered STARTTLS.
    async fn converse<S>(&self, stream: S, offer: &str) -> Result<Option<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut stream = BufReader::new(stream);
        while let Some(line) = next_line(&mut stream).await? {
            if let Some(session) = self.record.lock().get_mut(self.index) {
                session.push(line.clone());
            }
            let verb = line.get(..4).unwrap_or(&line).to_ascii_uppercase();
            let reply = match verb.as_str() {
                "EHLO" => {
                    let offers = EHLO.replacen("\r\n", &format!("\r\n{offer}"), 1);
                    stream.write_all(offers.as_bytes()).await?;
                    continue;
                }
                "STAR" if !offer.is_empty() => {
                    stream.write_all(b"220 2.0.0 Go ahead\r\n").await?;
                    return Ok(Some(stream.into_inner()));
                }
                "HELO" => "250 sandbox.test\r\n",
                "MAIL" => "250 2.1.0 Ok\r\n",
                "RCPT" => {
                    answer(&mut stream, (self.rule)(recipient(&line))).await?;
                    continue;
                }
                "RSET" | "NOOP" => "250 2.0.0 Ok\r\n",
                "QUIT" => {
                    stream.write_all(b"221 2.0.0 Bye\r\n").await?;
                    break;
                }
                "DATA" => "554 5.5.1 This server takes no mail\r\n",
                _ => "502 5.5.2 Command not implemented\r\n",
            };
            stream.write_all(reply.as_bytes()).await?;
        }
        Ok(None)
    }
}

/// Reads a command line; `None` if the client has left, was silent for too long, or sent too long a line.
async fn next_line(reader: &mut BufReader<impl AsyncRead + Unpin>) -> Result<Option<String>> {
    let mut line = Vec::new();
    let mut bounded = reader.take(LINE_BYTES_MAX);
    let Ok(read) = timeout(IDLE, bounded.read_until(b'\n', &mut line)).await else {
        return Ok(None);
    };
    let whole = read? > 0 && line.ends_with(b"\n");
    Ok(whole.then(|| String::from_utf8_lossy(&line).trim_end().to_owned()))
}

async fn answer(writer: &mut (impl AsyncWrite + Unpin), answer: Answer) -> Result<()> {
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

/// The address in `RCPT TO:<address>`; empty if there is none.
fn recipient(line: &str) -> &str {
    let path = line.split_once('<').map_or("", |(_, rest)| rest);
    path.rsplit_once('>').map_or(path, |(address, _)| address)
}

//! STARTTLS: when it is used, and the verdicts after failures.

use std::{net::IpAddr, sync::Arc};

use hickory_resolver::proto::rr::RecordType;
use parking_lot::Mutex;

use crate::harness::{
    MailServer,
    internet::{Internet, a, mx, one_machine},
    obey, origin, verdict, verdict_for,
};
use rcpt_shared::{Reason, Stage, Status};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader,
    },
    net::TcpStream,
    task::JoinSet,
    time::Instant,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{HandshakeKind, ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

const ADDRESS: &str = "user@sandbox.test";
const OFFER: &str = "250-PIPELINING\r\n250-STARTTLS\r\n";
const DEMAND: &str = "530 5.7.0 Must issue a STARTTLS command first";

/// Behaviour of a server after STARTTLS.
#[derive(Clone, Copy, PartialEq)]
enum Handshake {
    Works,
    Fails,
    /// Works, after a reply in the clear that came with `220 go ahead` (CVE-2011-0411).
    Injected,
    Refused,
}

/// A server's handshakes with their results.
type Handshakes = Arc<Mutex<Vec<Option<HandshakeKind>>>>;

/// Starts a server that accepts the recipient only inside TLS. Outside, it demands STARTTLS if `demanding`, and
/// otherwise refuses the recipient. The server's certificate is self-signed and for another name.
async fn server(demanding: bool, handshake: Handshake) -> MailServer {
    watched(demanding, handshake, Handshakes::default()).await
}

/// An acceptor with a self-signed certificate for another name.
pub fn acceptor() -> TlsAcceptor {
    let signed = rcgen::generate_simple_self_signed(["unrelated.example".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

async fn watched(demanding: bool, handshake: Handshake, handshakes: Handshakes) -> MailServer {
    let acceptor = acceptor();
    MailServer::serving(move |stream, _| {
        let (acceptor, handshakes) = (acceptor.clone(), handshakes.clone());
        async move {
            let mut stream = BufReader::new(stream);
            stream.write_all(b"220 mx\r\n").await.unwrap();
            let (mail, rcpt) =
                if demanding { (DEMAND, "503 5.5.1 no") } else { ("250 ok", "550 5.1.1 clear") };
            if !obey(&mut stream, OFFER, mail, rcpt).await {
                return;
            }
            let go_ahead = match handshake {
                Handshake::Injected => "220 go ahead\r\n250-PIPELINING\r\n250 injected\r\n",
                Handshake::Refused => "454 4.7.0 TLS not available\r\n",
                Handshake::Works | Handshake::Fails => "220 go ahead\r\n",
            };
            stream.write_all(go_ahead.as_bytes()).await.unwrap();
            if handshake == Handshake::Fails {
                let _ = stream.read(&mut [0; 1_024]).await;
                let _ = stream.write_all(b"this is not a server hello\r\n").await;
                return;
            }
            let Ok(encrypted) = acceptor.accept(stream.into_inner()).await else { return };
            handshakes.lock().push(encrypted.get_ref().1.handshake_kind());
            let mut encrypted = BufReader::new(encrypted);
            obey(&mut encrypted, "250-PIPELINING\r\n", "250 ok", "250 encrypted").await;
        }
    })
    .await
}

async fn ask(server: &MailServer, starttls: &str) -> (Status, Reason, Stage) {
    let environment = [("RCPT_ROUTES", &*server.route()), ("RCPT_STARTTLS", starttls)];
    let verdict = verdict(&origin(&environment), ADDRESS).await;
    (verdict.status, verdict.reason, verdict.stage)
}

/// The server accepts every recipient.
const ENCRYPTED: (Status, Reason, Stage) =
    (Status::Accepted, Reason::AcceptedCatchAll, Stage::Rcpt);
const CLEAR: (Status, Reason, Stage) = (Status::Refused, Reason::NoSuchMailbox, Stage::Rcpt);
const FAILED: (Status, Reason, Stage) =
    (Status::SmtpConnectError, Reason::ProtocolError, Stage::StartTls);

#[tokio::test]
async fn on_demand_encrypts_when_the_server_demands_it() {
    assert_eq!(ask(&server(true, Handshake::Works).await, "on_demand").await, ENCRYPTED);
    assert_eq!(ask(&server(false, Handshake::Works).await, "on_demand").await, CLEAR);
}

#[tokio::test]
async fn always_encrypts_when_the_server_offers_it() {
    assert_eq!(ask(&server(false, Handshake::Works).await, "always").await, ENCRYPTED);
    assert_eq!(ask(&server(true, Handshake::Works).await, "always").await, ENCRYPTED);
    let never_heard_of_it = MailServer::answering("220 mx", "", "250 ok").await;
    assert_eq!(ask(&never_heard_of_it, "always").await, ENCRYPTED);
}

#[tokio::test]
async fn a_failed_handshake_is_retried_in_the_clear_only_where_it_was_not_demanded() {
    assert_eq!(ask(&server(false, Handshake::Fails).await, "always").await, CLEAR);
    assert_eq!(ask(&server(true, Handshake::Fails).await, "always").await, FAILED);
    assert_eq!(ask(&server(true, Handshake::Fails).await, "on_demand").await, FAILED);
    assert_eq!(ask(&server(false, Handshake::Refused).await, "always").await, CLEAR);
    assert_eq!(ask(&server(true, Handshake::Refused).await, "on_demand").await, FAILED);
}

#[tokio::test]
async fn a_demand_without_an_offer_is_a_refusal_of_us() {
    let server = MailServer::answering("220 mx", "", DEMAND).await;
    let result = ask(&server, "on_demand").await;
    assert_eq!(result, (Status::BlockedByProvider, Reason::Blocked, Stage::Rcpt));
}

#[tokio::test]
async fn plaintext_before_the_handshake_is_not_believed_inside() {
    assert_eq!(ask(&server(true, Handshake::Injected).await, "on_demand").await, ENCRYPTED);
}

#[tokio::test]
async fn the_next_session_with_a_host_resumes_its_encryption() {
    let handshakes = Handshakes::default();
    let server = watched(true, Handshake::Works, handshakes.clone()).await;
    let environment = [("RCPT_ROUTES", &*server.route()), ("RCPT_SESSION_RECIPIENTS", "1")];
    let origin = origin(&environment);
    for n in 0..3 {
        let result = verdict(&origin, &format!("u{n}@sandbox.test")).await;
        // The host's catch-all behaviour is tested separately.
        assert_eq!((result.status, result.stage), (ENCRYPTED.0, ENCRYPTED.2), "{n}");
    }
    use HandshakeKind::{Full, Resumed};
    assert_eq!(*handshakes.lock(), [Some(Full), Some(Resumed), Some(Resumed)]);
}

/// Serves a machine with many names. A proxy passes a TLS session to the server named in its handshake, which knows its
/// own domain's recipients only. In the clear, the machine knows no recipients.
async fn of_its_name(stream: TcpStream, acceptor: TlsAcceptor) {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 mx\r\n").await.unwrap();
    if !obey(&mut stream, OFFER, "250 ok", "550 5.1.1 not here").await {
        return;
    }
    stream.write_all(b"220 go ahead\r\n").await.unwrap();
    let Ok(encrypted) = acceptor.accept(stream.into_inner()).await else { return };
    let name = encrypted.get_ref().1.server_name().unwrap_or_default().to_owned();
    let domain = name.strip_prefix("mx.").unwrap_or_default().to_owned();
    knows(BufReader::new(encrypted), &domain, usize::MAX).await;
}

/// Accepts recipients of `domain`, refuses others as relaying, and closes the session after `patience` refusals.
async fn knows(
    mut stream: BufReader<impl AsyncRead + AsyncWrite + Unpin>,
    domain: &str,
    patience: usize,
) {
    let (mut line, mut refused) = (String::new(), 0);
    loop {
        line.clear();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        let answer = match line.split([' ', '\r']).next().unwrap() {
            "EHLO" => "250-mx\r\n250 PIPELINING",
            "RCPT" if line.contains(&format!("@{domain}>")) => "250 2.1.5 ok",
            "RCPT" => {
                refused += 1;
                if refused > patience {
                    "421 4.7.0 too many errors"
                } else {
                    "550 5.7.1 relaying denied"
                }
            }
            "QUIT" => "221 bye",
            _ => "250 ok",
        };
        if stream.write_all(format!("{answer}\r\n").as_bytes()).await.is_err()
            || answer.starts_with("421")
        {
            return;
        }
    }
}

/// Tests docs/security.md, N8, with TLS.
#[tokio::test(flavor = "multi_thread")]
async fn names_of_one_machine_share_no_session_under_tls() {
    const NAMES: usize = 12;
    let acceptor = acceptor();
    let serve = move |stream, _: IpAddr| of_its_name(stream, acceptor.clone());
    let internet = Internet::start(one_machine("127.0.6.11"), serve).await;
    let origin = internet.origin(&[("RCPT_STARTTLS", "always")]);
    for round in 0..2 {
        let started = Instant::now();
        let mut all = JoinSet::new();
        for n in 0..NAMES {
            let origin = origin.clone();
            let address = format!("u{round}@d{n}.org");
            all.spawn(async move { verdict_for(&origin, &format!("t{}", n % 4), &address).await });
        }
        let verdicts = all.join_all().await;
        let wrong = verdicts.iter().filter(|verdict| verdict.status == Status::Refused).count();
        let yes = verdicts.iter().filter(|verdict| verdict.status == Status::Accepted).count();
        println!(
            "round {round}: {yes} of {NAMES} accepted, {wrong} false no, {:?}",
            started.elapsed()
        );
        assert_eq!(wrong, 0, "{verdicts:?}");
        assert!(yes > 0, "{verdicts:?}");
    }
}

/// Answers as a machine that knows `ann`, and demands encryption with these words for the recipients of one domain.
async fn demands_for_one(stream: TcpStream, acceptor: TlsAcceptor, demand: &str) {
    async fn answer(
        stream: &mut BufReader<impl AsyncRead + AsyncWrite + Unpin>,
        demand: &str,
    ) -> bool {
        let mut line = String::new();
        loop {
            line.clear();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return false;
            }
            let answer = match line.split([' ', '\r']).next().unwrap() {
                "EHLO" if demand.is_empty() => "250-mx\r\n250 PIPELINING",
                "EHLO" => "250-mx\r\n250-PIPELINING\r\n250 STARTTLS",
                "STARTTLS" => return true,
                "RCPT" if line.contains("@strict") && !demand.is_empty() => demand,
                "RCPT" if line.contains("<ann") => "250 2.1.5 ok",
                "RCPT" => "550 5.1.1 no such user",
                "QUIT" => "221 bye",
                _ => "250 ok",
            };
            if stream.write_all(format!("{answer}\r\n").as_bytes()).await.is_err() {
                return false;
            }
        }
    }
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 mx\r\n").await.unwrap();
    if !answer(&mut stream, demand).await {
        return;
    }
    stream.write_all(b"220 go ahead\r\n").await.unwrap();
    let Ok(encrypted) = acceptor.accept(stream.into_inner()).await else { return };
    answer(&mut BufReader::new(encrypted), "").await;
}

/// Others' domains at the machine have left a session in the clear.
#[tokio::test]
async fn a_demand_in_a_used_session_leads_to_an_encrypted_one() {
    let zone = |_: &str, kind| match kind {
        RecordType::MX => vec![mx(10, "mx.shared.org")],
        RecordType::A => vec![a("127.0.6.13")],
        _ => vec![],
    };
    for demand in [
        "550 5.7.10 Encryption required for this recipient",
        "530 5.7.0 Must issue a STARTTLS command first",
        "451 4.7.0 Encryption required",
    ] {
        let acceptor = acceptor();
        let serve = move |stream, _: IpAddr| demands_for_one(stream, acceptor.clone(), demand);
        let internet = Internet::start(zone, serve).await;
        let origin = internet.origin(&[("RCPT_SESSION_INTERVAL_MS", "0")]);
        for round in 0..2 {
            let plain = verdict_for(&origin, "a", &format!("ann{round}@plain.org")).await;
            assert_eq!(plain.status, Status::Accepted, "{demand}");
            for (name, due) in [("ann", Status::Accepted), ("dead", Status::Refused)] {
                let strict =
                    verdict_for(&origin, "b", &format!("{name}{round}@strict{round}.org")).await;
                assert_eq!(strict.status, due, "{demand}: {:?}", strict.reason);
            }
        }
    }
}

/// The attacker's domain has a mail host with its own name at the victim's address, whose server closes on apparent
/// relaying.
#[tokio::test(flavor = "multi_thread")]
async fn an_attackers_name_at_the_victims_address_spoils_no_session() {
    for starttls in ["on_demand", "always"] {
        let acceptor = acceptor();
        let serve = move |stream: TcpStream, _: IpAddr| {
            let acceptor = acceptor.clone();
            async move {
                let mut stream = BufReader::new(stream);
                stream.write_all(b"220 mx\r\n").await.unwrap();
                if starttls == "on_demand" {
                    return knows(stream, "victim.org", 2).await;
                }
                if obey(&mut stream, OFFER, "250 ok", "450 4.7.0 encrypt").await {
                    stream.write_all(b"220 go ahead\r\n").await.unwrap();
                    let Ok(encrypted) = acceptor.accept(stream.into_inner()).await else { return };
                    knows(BufReader::new(encrypted), "victim.org", 2).await;
                }
            }
        };
        let internet = Internet::start(one_machine("127.0.6.12"), serve).await;
        let origin = internet.origin(&[("RCPT_STARTTLS", starttls)]);
        for n in 0..12 {
            let theirs = verdict_for(&origin, "attacker", &format!("u{n}@evil{}.org", n % 3)).await;
            assert_ne!(theirs.status, Status::Accepted, "{theirs:?}");
            let ours = verdict_for(&origin, "owner", &format!("u{n}@victim.org")).await;
            assert_eq!(ours.status, Status::Accepted, "{starttls}, {n}: {ours:?}");
        }
    }
}

//! STARTTLS: when it is used, and what happens when it fails.

use std::sync::{Arc, Mutex};

use crate::harness::{MailServer, obey, origin, verdict};
use rcpt_shared::{Reason, Stage, Status};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{HandshakeKind, ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

const ADDRESS: &str = "user@sandbox.test";
const OFFER: &str = "250-PIPELINING\r\n250-STARTTLS\r\n";
const DEMAND: &str = "530 5.7.0 Must issue a STARTTLS command first";

/// What a server does when it is sent STARTTLS.
#[derive(Clone, Copy, PartialEq)]
enum Handshake {
    Works,
    Fails,
    /// Works, after a reply in the clear that came with `220 go ahead` (CVE-2011-0411).
    Injected,
    Refused,
}

/// How the handshakes of a server went.
type Handshakes = Arc<Mutex<Vec<Option<HandshakeKind>>>>;

/// A server that accepts the recipient only inside TLS, or also outside when not `demanding`. Its
/// certificate is self-signed and for another name.
async fn server(demanding: bool, handshake: Handshake) -> MailServer {
    watched(demanding, handshake, Handshakes::default()).await
}

async fn watched(demanding: bool, handshake: Handshake, seen: Handshakes) -> MailServer {
    let signed = rcgen::generate_simple_self_signed(["unrelated.example".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    MailServer::serving(move |stream, _| {
        let (acceptor, seen) = (acceptor.clone(), seen.clone());
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
            seen.lock().unwrap().push(encrypted.get_ref().1.handshake_kind());
            let mut encrypted = BufReader::new(encrypted);
            obey(&mut encrypted, "250-PIPELINING\r\n", "250 ok", "250 encrypted").await;
        }
    })
    .await
}

async fn asked(server: &MailServer, starttls: &str) -> (Status, Reason, Stage) {
    let environment = [("RCPT_ROUTES", &*server.route()), ("RCPT_STARTTLS", starttls)];
    let verdict = verdict(&origin(&environment), ADDRESS).await;
    (verdict.status, verdict.reason, verdict.stage)
}

const ENCRYPTED: (Status, Reason, Stage) = (Status::Accepted, Reason::Accepted, Stage::Rcpt);
const CLEAR: (Status, Reason, Stage) = (Status::Refused, Reason::NoSuchMailbox, Stage::Rcpt);
const FAILED: (Status, Reason, Stage) =
    (Status::SmtpConnectError, Reason::TlsFailed, Stage::StartTls);

#[tokio::test]
async fn on_demand_encrypts_when_the_server_demands_it() {
    assert_eq!(asked(&server(true, Handshake::Works).await, "on_demand").await, ENCRYPTED);
    assert_eq!(asked(&server(false, Handshake::Works).await, "on_demand").await, CLEAR);
}

#[tokio::test]
async fn always_encrypts_when_the_server_offers_it() {
    assert_eq!(asked(&server(false, Handshake::Works).await, "always").await, ENCRYPTED);
    assert_eq!(asked(&server(true, Handshake::Works).await, "always").await, ENCRYPTED);
    let never_heard_of_it = MailServer::answering("220 mx", "", "250 ok").await;
    assert_eq!(asked(&never_heard_of_it, "always").await, ENCRYPTED);
}

#[tokio::test]
async fn a_failed_handshake_is_retried_in_the_clear_only_where_it_was_not_demanded() {
    assert_eq!(asked(&server(false, Handshake::Fails).await, "always").await, CLEAR);
    assert_eq!(asked(&server(true, Handshake::Fails).await, "always").await, FAILED);
    assert_eq!(asked(&server(true, Handshake::Fails).await, "on_demand").await, FAILED);
    assert_eq!(asked(&server(false, Handshake::Refused).await, "always").await, CLEAR);
    assert_eq!(asked(&server(true, Handshake::Refused).await, "on_demand").await, FAILED);
}

#[tokio::test]
async fn a_demand_without_an_offer_is_a_refusal_of_us() {
    let server = MailServer::answering("220 mx", "", DEMAND).await;
    let told = asked(&server, "on_demand").await;
    assert_eq!(told, (Status::BlockedByProvider, Reason::Blocked, Stage::Rcpt));
}

#[tokio::test]
async fn plaintext_before_the_handshake_is_not_believed_inside() {
    assert_eq!(asked(&server(true, Handshake::Injected).await, "on_demand").await, ENCRYPTED);
}

#[tokio::test]
async fn the_next_session_with_a_host_resumes_its_encryption() {
    let handshakes = Handshakes::default();
    let server = watched(true, Handshake::Works, handshakes.clone()).await;
    let environment = [("RCPT_ROUTES", &*server.route()), ("RCPT_SESSION_RECIPIENTS", "1")];
    let origin = origin(&environment);
    for n in 0..3 {
        let told = verdict(&origin, &format!("u{n}@sandbox.test")).await;
        // Whether the host accepts everything is learnt beside.
        assert_eq!((told.status, told.stage), (ENCRYPTED.0, ENCRYPTED.2), "{n}");
    }
    use HandshakeKind::{Full, Resumed};
    assert_eq!(*handshakes.lock().unwrap(), [Some(Full), Some(Resumed), Some(Resumed)]);
}

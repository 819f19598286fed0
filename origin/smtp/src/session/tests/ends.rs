//! The last recipient, refused greetings, patience at RCPT, encryption, and what a session may still serve.

use std::sync::Arc;

use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring},
};

use super::*;

const LAST: &str = "MAIL FROM:<>\r\nRCPT TO:<user@example.org>\r\nQUIT\r\n";

async fn open(stream: DuplexStream, patience: Option<Patience>) -> Session<DuplexStream> {
    let mut stage = Stage::Connect;
    let opened =
        Session::open(stream, "probe.example.com", Greeting::Ehlo, patience, &mut stage).await;
    opened.unwrap()
}

async fn ask_one(session: &mut Session<DuplexStream>, last: bool) -> Result<Answer, Failure> {
    let recipient = Address::parse("user@example.org").unwrap();
    let envelope = Envelope { reverse_path: "", recipient: &recipient, last };
    session.ask(envelope, &mut Stage::Connect).await
}

#[tokio::test]
async fn quit_goes_with_the_last_recipient_and_is_sent_once() {
    type Script = &'static [(&'static str, &'static str)];
    let scripts: [(Script, &str); 2] = [
        (
            &[
                ("", "220 ready\r\n"),
                (EHLO, OFFER),
                (LAST, "250 ok\r\n550 5.1.1 no\r\n221 bye\r\n"),
            ],
            "",
        ),
        (
            &[
                ("", "220 ready\r\n"),
                (EHLO, "250 mx\r\n"),
                ("MAIL FROM:<>\r\n", "250 ok\r\n"),
                ("RCPT TO:<user@example.org>\r\n", "550 5.1.1 no\r\n"),
            ],
            "QUIT\r\n",
        ),
    ];
    for (script, rest) in scripts {
        let (client, server) = server(script);
        let mut session = open(client, PATIENCE).await;
        let answer = ask_one(&mut session, true).await;
        assert_eq!(codes(&[answer]), [550]);
        assert!(!session.is_reusable(100) || !rest.is_empty());
        session.quit(());
        assert_eq!(server.await.unwrap(), rest);
    }
}

/// Only a farewell may follow: another reply may be the recipient's.
#[tokio::test]
async fn a_reply_in_the_place_of_the_farewell_says_nothing_of_the_last_recipient() {
    let (client, _server) = saying(&[OFFER, "250 ok\r\n250 ok\r\n250 ok\r\n"]);
    let mut session = open(client, PATIENCE).await;
    assert_eq!(ask_one(&mut session, true).await, Err(SURPLUS));
}

#[tokio::test]
async fn a_refused_greeting_is_reported_with_its_stage_and_reply() {
    const HELO: &str = "HELO probe.example.com\r\n";
    type Script = &'static [(&'static str, &'static str)];
    let scripts: [(Script, Stage, u16); 6] = [
        (&[("", "554 5.7.1 no\r\n")], Stage::Banner, 554),
        (&[("", "421 4.3.2 busy\r\n")], Stage::Banner, 421),
        (&[("", "220 mx\r\n"), (EHLO, "450 later\r\n")], Stage::Ehlo, 450),
        (&[("", "220 mx\r\n"), (EHLO, "550 no\r\n"), (HELO, "554 no\r\n")], Stage::Ehlo, 554),
        (&[("", "220 mx\r\n"), (EHLO, "550 no\r\n"), (HELO, "421 bye\r\n")], Stage::Ehlo, 421),
        (&[("", "220 mx\r\n"), (EHLO, "550 no\r\n"), (HELO, "")], Stage::Ehlo, 550),
    ];
    for (script, due, code) in scripts {
        let (client, _server) = server(script);
        let (answer, stage) = ask(client, "user@example.org").await;
        let Err(Failure::Refused(at, reply)) = answer else { panic!("{answer:?}") };
        assert_eq!((at, stage, reply.code), (due, due, code));
    }
}

/// The look-up of a recipient may take all of the caller's time.
#[tokio::test(start_paused = true)]
async fn a_server_that_thinks_about_the_recipient_is_waited_for() {
    let (client, mut stream) = duplex(4_096);
    tokio::spawn(async move {
        for text in ["220 ready\r\n", "250 mx\r\n", "250 ok\r\n"] {
            stream.write_all(text.as_bytes()).await.unwrap();
            let _ = stream.read(&mut [0; 512]).await;
        }
        sleep(Duration::from_secs(20)).await;
        stream.write_all(b"550 5.1.1 no\r\n").await.unwrap();
        let _ = stream.read(&mut [0; 512]).await;
        stream.write_all(b"250 flushed\r\n").await.unwrap();
    });
    let mut session = open(client, patience()).await;
    assert_eq!(codes(&[ask_one(&mut session, false).await]), [550]);
}

#[tokio::test(start_paused = true)]
async fn what_is_held_is_dropped_as_soon_as_the_last_reply_is_there() {
    let (client, mut stream) = duplex(4_096);
    let (held, ended) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let mut came = [0; 512];
        stream.write_all(b"220 ready\r\n").await.unwrap();
        for text in [OFFER, "550 no\r\n"] {
            let _ = stream.read(&mut came).await;
            stream.write_all(text.as_bytes()).await.unwrap();
        }
        sleep(Duration::from_millis(300)).await;
        stream.write_all(b"503 no\r\n250 flushed\r\n221 bye\r\n").await.unwrap();
        std::future::pending::<()>().await;
    });
    let mut session = open(client, PATIENCE).await;
    assert!(matches!(ask_one(&mut session, false).await, Ok(Answer::Mail(_))));
    let began = Instant::now();
    session.quit(held);
    assert!(ended.await.is_err());
    assert_eq!(began.elapsed(), Duration::from_millis(300));
}

#[tokio::test]
async fn a_session_serves_as_many_as_its_limit_says_and_only_after_a_first() {
    let (client, _server) = saying(&[OFFER, IN_STEP, IN_STEP]);
    let mut session = open(client, PATIENCE).await;
    assert!(session.is_settled() && !session.is_reusable(100), "nobody was served");
    for served in 1..=2 {
        assert!(ask_one(&mut session, false).await.is_ok());
        assert_eq!([served, served + 1].map(|limit| session.is_reusable(limit)), [false, true]);
    }
}

/// After a moment of silence, its refusal is no late reply to the first one.
#[tokio::test(start_paused = true)]
async fn without_pipelining_a_second_recipients_refusal_counts() {
    let (client, _server) = saying(&[
        "250 mx\r\n",
        "250 ok\r\n",
        "250 ok\r\n",
        "250 ok\r\n",
        "250 ok\r\n",
        "550 5.1.1 no\r\n",
        "250 ok\r\n",
    ]);
    let (answers, reusable) = ask_all(client, &["user@example.org", "next@example.org"]).await;
    assert_eq!((codes(&answers), reusable), (vec![250, 550], true));
}

/// A text in the clear behind the reply to STARTTLS isn't the server's (CVE-2011-0411).
#[tokio::test]
async fn an_encrypted_session_begins_anew() {
    const PLAIN_OFFER: &str = "250-mx\r\n250-STARTTLS\r\n250 SMTPUTF8\r\n";
    let (client, mut stream) = duplex(16_384);
    let running = tokio::spawn(async move {
        let mut came = [0; 512];
        stream.write_all(b"220 ready\r\n").await.unwrap();
        for text in [PLAIN_OFFER, "530 encrypt first\r\n", "220 go\r\n250-mx\r\n250 injected\r\n"] {
            assert!(stream.read(&mut came).await.unwrap() > 0);
            stream.write_all(text.as_bytes()).await.unwrap();
        }
        let mut stream = acceptor().accept(stream).await.unwrap();
        for (expected, answer) in [(EHLO, OFFER), (LAST, "250 ok\r\n550 5.1.1 no\r\n221 bye\r\n")] {
            let length = stream.read(&mut came).await.unwrap();
            assert_eq!(String::from_utf8_lossy(&came[..length]), expected);
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
        }
    });
    let mut session = open(client, PATIENCE).await;
    assert!(session.capabilities().starttls && session.plain().is_some());
    assert!(matches!(ask_one(&mut session, true).await, Ok(Answer::Mail(_))));
    let (tls, name) = (Tls::new().unwrap(), "mx.example.org".try_into().unwrap());
    let mut stage = Stage::Connect;
    let begun = session.start_tls(&tls, name, "probe.example.com", &mut stage).await;
    let mut session = begun.unwrap_or_else(|failure| panic!("{failure:?}"));
    assert!(session.is_encrypted() && session.plain().is_none());
    let offered = session.capabilities();
    assert!(offered.pipelining && !offered.starttls && !offered.smtputf8, "{offered:?}");
    assert!(!session.is_reusable(100), "nobody was served in it");
    assert_eq!(codes(&[ask_one(&mut session, true).await]), [550]);
    running.await.unwrap();
}

fn acceptor() -> TlsAcceptor {
    let made = rcgen::generate_simple_self_signed(["mx.example.org".to_owned()]).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.into()], made.signing_key.into());
    TlsAcceptor::from(Arc::new(config.unwrap()))
}

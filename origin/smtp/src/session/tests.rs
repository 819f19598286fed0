//! Conversations over an in-memory stream, against a server that follows a script.

mod ends;

use std::time::Duration;

use rcpt_shared::{Address, Stage};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    sync::oneshot::{self, error::TryRecvError},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use super::{
    Answer, Broken, Envelope, Failure, Greeting, Patience, RESET_TIMEOUT, SURPLUS, Session, Tls,
};

/// Starts a server that sends the first text, then for each further pair waits for exactly the
/// expected bytes and sends the reply. Afterwards the server closes, and returns any input beyond
/// the script.
fn server(script: &'static [(&str, &str)]) -> (DuplexStream, JoinHandle<String>) {
    let (client, mut stream) = duplex(4_096);
    let running = tokio::spawn(async move {
        for (expected, answer) in script {
            let mut came = vec![0; expected.len()];
            stream.read_exact(&mut came).await.unwrap();
            assert_eq!(String::from_utf8_lossy(&came), *expected);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        stream.shutdown().await.unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.unwrap();
        rest
    });
    (client, running)
}

async fn ask(stream: DuplexStream, recipient: &str) -> (Result<Answer, Failure>, Stage) {
    let recipient = Address::parse(recipient).unwrap();
    let mut stage = Stage::Connect;
    let asking = async || {
        let mut session =
            Session::open(stream, "probe.example.com", Greeting::Ehlo, PATIENCE, &mut stage)
                .await?;
        let envelope = Envelope { reverse_path: "", recipient: &recipient, last: false };
        let answer = session.ask(envelope, &mut stage).await?;
        session.quit(());
        Ok(answer)
    };
    let answer = asking().await;
    (answer, stage)
}

/// No limit, because no other server can be tried.
const PATIENCE: Option<Patience> = None;
const EHLO: &str = "EHLO probe.example.com\r\n";

#[tokio::test]
async fn pipelining_puts_mail_rcpt_and_rset_in_one_flight() {
    let (client, server) = server(&[
        ("", "220-mx.example.org\r\n220 ready\r\n"),
        (EHLO, "250-mx\r\n250 PIPELINING\r\n"),
        (ENVELOPE, "250 ok\r\n550 5.1.1 no\r\n250 flushed\r\n"),
    ]);
    let (answer, stage) = ask(client, "user@example.org").await;
    let Ok(Answer::Rcpt(reply)) = answer else { panic!("{answer:?}") };
    assert_eq!((reply.code, stage), (550, Stage::Rcpt));
    assert_eq!(server.await.unwrap(), "QUIT\r\n");
}

#[tokio::test]
async fn without_pipelining_one_command_waits_for_the_other() {
    let (client, server) = server(&[
        ("", "220 ready\r\n"),
        (EHLO, "250 mx\r\n"),
        ("MAIL FROM:<>\r\n", "250 ok\r\n"),
        ("RCPT TO:<user@example.org>\r\n", "250 ok\r\n"),
        ("RSET\r\n", "250 flushed\r\n"),
    ]);
    let (answer, _) = ask(client, "user@example.org").await;
    assert!(matches!(answer, Ok(Answer::Rcpt(reply)) if reply.code == 250));
    assert_eq!(server.await.unwrap(), "QUIT\r\n");
}

#[tokio::test]
async fn a_server_that_does_not_know_ehlo_is_asked_with_helo() {
    let (client, server) = server(&[
        ("", "220 ready\r\n"),
        (EHLO, "502-unknown\r\n502 PIPELINING\r\n"),
        ("HELO probe.example.com\r\n", "250 mx\r\n"),
        ("MAIL FROM:<>\r\n", "250 ok\r\n"),
        ("RCPT TO:<user@example.org>\r\n", "250 ok\r\n"),
    ]);
    assert!(ask(client, "user@example.org").await.0.is_ok());
    server.await.unwrap();
}

#[tokio::test]
async fn a_refused_sender_is_the_answer_and_rcpt_is_not_waited_for() {
    let (client, server) = server(&[
        ("", "220 ready\r\n"),
        (EHLO, "250-mx\r\n250 PIPELINING\r\n"),
        (ENVELOPE, "550 5.7.1 no\r\n"),
    ]);
    let (answer, stage) = ask(client, "user@example.org").await;
    assert!(matches!(answer, Ok(Answer::Mail(reply)) if reply.code == 550));
    assert_eq!(stage, Stage::Mail);
    server.await.unwrap();
}

#[tokio::test]
async fn a_utf8_local_part_needs_smtputf8() {
    let (client, running) = server(&[("", "220 ready\r\n"), (EHLO, "250 mx\r\n")]);
    assert_eq!(ask(client, "ü@example.org").await.0, Ok(Answer::Smtputf8Unsupported));
    assert_eq!(running.await.unwrap(), "QUIT\r\n", "the recipient is not mentioned");

    let (client, running) = server(&[
        ("", "220 ready\r\n"),
        (EHLO, "250-mx\r\n250 SMTPUTF8\r\n"),
        ("MAIL FROM:<> SMTPUTF8\r\n", "250 ok\r\n"),
        ("RCPT TO:<ü@example.org>\r\n", "250 ok\r\n"),
    ]);
    assert!(ask(client, "ü@example.org").await.0.is_ok());
    running.await.unwrap();
}

#[tokio::test]
async fn the_end_of_the_stream_is_noticed_at_each_stage() {
    let scripts: [(&'static [(&str, &str)], Stage); 5] = [
        (&[("", "")], Stage::Banner),
        (&[("", "220-half a banner\r\n")], Stage::Banner),
        (&[("", "220 ready\r\n"), (EHLO, "250-mx\r\n")], Stage::Ehlo),
        (&[("", "220 ready\r\n"), (EHLO, "250 mx\r\n"), ("MAIL FROM:<>\r\n", "")], Stage::Mail),
        (
            &[
                ("", "220 ready\r\n"),
                (EHLO, "250 mx\r\n"),
                ("MAIL FROM:<>\r\n", "250 ok\r\n"),
                ("RCPT TO:<user@example.org>\r\n", "55"),
            ],
            Stage::Rcpt,
        ),
    ];
    for (script, stage) in scripts {
        let (client, _server) = server(script);
        let (answer, reached) = ask(client, "user@example.org").await;
        assert_eq!(answer, Err(Failure::Broken(stage, Broken::Closed)));
        assert_eq!(reached, stage);
    }
}

#[tokio::test]
async fn where_one_greeting_is_refused_the_other_is_tried() {
    const HELO: &str = "HELO probe.example.com\r\n";
    for (first, script, taken) in [
        (
            Greeting::Ehlo,
            &[("", "220 mx\r\n"), (EHLO, "502 what?\r\n"), (HELO, "250 mx\r\n")],
            Greeting::Helo,
        ),
        (
            Greeting::Helo,
            &[("", "220 mx\r\n"), (HELO, "502 what?\r\n"), (EHLO, "250-mx\r\n250 PIPELINING\r\n")],
            Greeting::Ehlo,
        ),
    ] {
        let (client, server) = server(script);
        let mut stage = Stage::Connect;
        let session =
            Session::open(client, "probe.example.com", first, PATIENCE, &mut stage).await.unwrap();
        assert_eq!(session.greeting(), taken);
        assert_eq!(session.capabilities().pipelining, taken == Greeting::Ehlo);
        drop(session);
        server.await.unwrap();
    }
}

#[tokio::test]
async fn garbage_is_noticed_at_each_stage() {
    let scripts: [(&'static [(&str, &str)], Stage); 7] = [
        (&[("", "SSH-2.0-OpenSSH_9.2\r\n")], Stage::Banner),
        (&[("", "221 a code out of place\r\n")], Stage::Banner),
        (&[("", "220-a\r\n221 b\r\n")], Stage::Banner),
        (&[("", "220 ready\r\n"), (EHLO, "999 no\r\n")], Stage::Ehlo),
        (&[("", "220 ready\r\n"), (EHLO, "354 go ahead\r\n")], Stage::Ehlo),
        (
            &[("", "220 ready\r\n"), (EHLO, "250 mx\r\n"), ("MAIL FROM:<>\r\n", "ok\r\n")],
            Stage::Mail,
        ),
        (
            &[
                ("", "220 ready\r\n"),
                (EHLO, "250-mx\r\n250 PIPELINING\r\n"),
                (ENVELOPE, "250 ok\r\nok\r\n"),
            ],
            Stage::Rcpt,
        ),
    ];
    for (script, stage) in scripts {
        let (client, _server) = server(script);
        let (answer, _) = ask(client, "user@example.org").await;
        assert_eq!(answer, Err(Failure::Broken(stage, Broken::Garbage)));
    }
}

#[tokio::test]
async fn words_before_the_question_are_not_taken_for_its_answer() {
    let (client, _server) = server(&[("", "220 ready\r\n250 mx\r\n250 ok\r\n250 ok\r\n")]);
    let (answer, _) = ask(client, "user@example.org").await;
    assert_eq!(answer, Err(Failure::Broken(Stage::Ehlo, Broken::Garbage)));

    let (client, _server) = server(&[
        ("", "220 ready\r\n"),
        (EHLO, "250 mx\r\n"),
        ("MAIL FROM:<>\r\n", "250 ok\r\n250 ok\r\n"),
    ]);
    let (answer, _) = ask(client, "user@example.org").await;
    assert_eq!(answer, Err(Failure::Broken(Stage::Rcpt, Broken::Garbage)));
}

#[tokio::test]
async fn a_server_may_say_421_at_any_time() {
    let (client, _server) = server(&[("", "220 ready\r\n421 4.7.0 too many connections\r\n")]);
    let (answer, _) = ask(client, "user@example.org").await;
    assert!(
        matches!(&answer, Err(Failure::Refused(Stage::Ehlo, reply)) if reply.code == 421),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_server_that_never_ends_its_banner_is_cut_off() {
    for flood in [&b"220-x\r\n"[..], b"x", b"220 "] {
        let (client, mut server) = duplex(1_024);
        let flooding = tokio::spawn(async move {
            let mut sent_octets = 0;
            // Sends 10 MB, or until the client gives up.
            while sent_octets < 10_000_000 && server.write_all(&flood.repeat(1_000)).await.is_ok() {
                sent_octets += flood.len() * 1_000;
            }
            sent_octets
        });
        let (answer, _) = ask(client, "user@example.org").await;
        assert_eq!(answer, Err(Failure::Broken(Stage::Banner, Broken::Garbage)));
        assert!(flooding.await.unwrap() < 10_000, "read only what the bounds allow");
    }
}

#[tokio::test]
async fn a_helo_name_that_is_no_name_does_not_reach_the_wire() {
    let (client, server) = server(&[("", "220 ready\r\n")]);
    let mut stage = Stage::Connect;
    let opened = Session::open(client, "probe\r\nDATA", Greeting::Ehlo, PATIENCE, &mut stage).await;
    assert!(matches!(opened, Err(Failure::Broken(Stage::Ehlo, Broken::Unencodable))));
    drop(opened);
    assert_eq!(server.await.unwrap(), "");
}

const ENVELOPE: &str = "MAIL FROM:<>\r\nRCPT TO:<user@example.org>\r\nRSET\r\n";

/// The flag is true if the session is still usable.
async fn ask_all(
    stream: DuplexStream,
    recipients: &[&str],
) -> (Vec<Result<Answer, Failure>>, bool) {
    let mut stage = Stage::Connect;
    let mut session =
        Session::open(stream, "probe.example.com", Greeting::Ehlo, PATIENCE, &mut stage)
            .await
            .unwrap();
    let mut answers = Vec::new();
    for recipient in recipients {
        let recipient = Address::parse(recipient).unwrap();
        let envelope = Envelope { reverse_path: "", recipient: &recipient, last: false };
        answers.push(session.ask(envelope, &mut stage).await);
    }
    (answers, session.is_reusable(100))
}

#[tokio::test]
async fn a_further_recipient_costs_one_flight() {
    let (client, server) = server(&[
        ("", "220 ready\r\n"),
        (EHLO, "250-mx\r\n250 PIPELINING\r\n"),
        (ENVELOPE, "250 ok\r\n250 ok\r\n250 flushed\r\n"),
        (
            "MAIL FROM:<>\r\nRCPT TO:<next@example.org>\r\nRSET\r\n",
            "250 ok\r\n550 no\r\n250 flushed\r\n",
        ),
    ]);
    let (answers, reusable) = ask_all(client, &["user@example.org", "next@example.org"]).await;
    assert_eq!((codes(&answers), reusable), (vec![250, 550], true));
    server.await.unwrap();
}

#[tokio::test]
async fn without_pipelining_rset_is_waited_for() {
    let (client, server) = server(&[
        ("", "220 ready\r\n"),
        (EHLO, "250 mx\r\n"),
        ("MAIL FROM:<>\r\n", "250 ok\r\n"),
        ("RCPT TO:<user@example.org>\r\n", "250 ok\r\n"),
        ("RSET\r\n", "250 flushed\r\n"),
        ("MAIL FROM:<>\r\n", "250 ok\r\n"),
        ("RCPT TO:<next@example.org>\r\n", "250 ok\r\n"),
        ("RSET\r\n", "250 flushed\r\n"),
    ]);
    let (answers, reusable) = ask_all(client, &["user@example.org", "next@example.org"]).await;
    assert!(reusable && answers.iter().all(Result::is_ok), "{answers:?}");
    server.await.unwrap();
}

#[tokio::test]
async fn a_session_given_up_by_the_server_says_nothing_of_the_recipient() {
    for last in ["", "421 4.4.2 timeout\r\n", "502 what?\r\n", "garbage\r\n"] {
        let (client, _server) = saying(&[OFFER, "250 ok\r\n250 ok\r\n250 ok\r\n", last]);
        let (answers, reusable) = ask_all(client, &["user@example.org", "next@example.org"]).await;
        assert!(answers[0].is_ok());
        assert!(matches!(answers[1], Err(_) | Ok(Answer::Mail(_))), "{last}: {:?}", answers[1]);
        assert!(!reusable || last == "502 what?\r\n", "{last}");
    }
}

#[tokio::test]
async fn words_while_idle_make_a_session_unquiet() {
    let (client, mut stream) = duplex(4_096);
    let mut stage = Stage::Connect;
    stream.write_all(b"220 ready\r\n250 mx\r\n").await.unwrap();
    let opened =
        Session::open(client, "probe.example.com", Greeting::Ehlo, PATIENCE, &mut stage).await;
    assert!(opened.is_err(), "words before the question");

    let (client, mut stream) = duplex(4_096);
    stream.write_all(b"220 ready\r\n").await.unwrap();
    let serving = tokio::spawn(async move {
        let mut came = [0; 512];
        let _ = stream.read(&mut came).await.unwrap();
        stream.write_all(b"250 mx\r\n").await.unwrap();
        stream
    });
    let mut session =
        Session::open(client, "probe.example.com", Greeting::Ehlo, PATIENCE, &mut stage)
            .await
            .unwrap();
    let mut stream = serving.await.unwrap();
    assert!(session.is_quiet().await);
    stream.write_all(b"421 4.4.2 bye\r\n").await.unwrap();
    assert!(!session.is_quiet().await);
}

#[tokio::test]
async fn three_refusals_are_enough_for_one_session() {
    let (client, mut stream) = duplex(4_096);
    tokio::spawn(async move {
        let mut came = [0; 512];
        stream.write_all(b"220 ready\r\n").await.unwrap();
        let _ = stream.read(&mut came).await.unwrap();
        stream.write_all(b"250-mx\r\n250 PIPELINING\r\n").await.unwrap();
        let _ = stream.read(&mut came).await.unwrap();
        stream.write_all(b"250 ok\r\n550 no\r\n250 ok\r\n").await.unwrap();
        while stream.read(&mut came).await.is_ok_and(|came| came > 0) {
            stream.write_all(b"250 ok\r\n550 no\r\n250 ok\r\n").await.unwrap();
        }
    });
    let mut stage = Stage::Connect;
    let mut session =
        Session::open(client, "probe.example.com", Greeting::Ehlo, PATIENCE, &mut stage)
            .await
            .unwrap();
    let recipient = Address::parse("user@example.org").unwrap();
    let envelope = Envelope { reverse_path: "", recipient: &recipient, last: false };
    let mut recipients = 0;
    while recipients == 0 || session.is_reusable(100) {
        session.ask(envelope, &mut stage).await.unwrap();
        recipients += 1;
    }
    assert_eq!(recipients, 3);
}

fn patience() -> Option<Patience> {
    let after = |seconds| Instant::now() + Duration::from_secs(seconds);
    Some(Patience { banner: after(3), dialogue: after(6) })
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_waited_for_as_long_as_told_at_each_stage_before_rcpt() {
    let scripts: [(&[&str], Stage, u64); 3] = [
        (&[], Stage::Banner, 3),
        (&["220 ready\r\n"], Stage::Ehlo, 6),
        (&["220 ready\r\n", "250 mx\r\n"], Stage::Mail, 6),
    ];
    for (texts, due, seconds) in scripts {
        let (client, mut stream) = duplex(4_096);
        tokio::spawn(async move {
            for text in texts {
                stream.write_all(text.as_bytes()).await.unwrap();
                let _ = stream.read(&mut [0; 512]).await;
            }
            std::future::pending::<()>().await;
        });
        let (began, mut stage) = (Instant::now(), Stage::Connect);
        let opened = async {
            let opening =
                Session::open(client, "probe.example.com", Greeting::Ehlo, patience(), &mut stage);
            let recipient = Address::parse("user@example.org").unwrap();
            let envelope = Envelope { reverse_path: "", recipient: &recipient, last: false };
            opening.await?.ask(envelope, &mut stage).await
        };
        assert_eq!(opened.await, Err(Failure::Silent(due)));
        assert_eq!((stage, began.elapsed().as_secs()), (due, seconds));
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_has_begun_is_waited_for_to_its_end() {
    let (client, mut stream) = duplex(4_096);
    tokio::spawn(async move {
        let greeted = Duration::from_secs(9);
        for text in ["220-wait\r\n", "220 ready\r\n", "250 mx\r\n"] {
            stream.write_all(text.as_bytes()).await.unwrap();
            if text.starts_with("220-") {
                sleep(greeted).await;
            } else {
                let _ = stream.read(&mut [0; 512]).await;
            }
        }
    });
    let mut stage = Stage::Connect;
    let began = Instant::now();
    let patience =
        patience().map(|it| Patience { dialogue: began + Duration::from_secs(20), ..it });
    Session::open(client, "probe.example.com", Greeting::Ehlo, patience, &mut stage).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 9);
}

/// Starts a server that greets, sends a text after each further input, and then is silent.
fn saying(texts: &[&'static str]) -> (DuplexStream, JoinHandle<()>) {
    let (client, mut stream) = duplex(4_096);
    let texts = texts.to_vec();
    let running = tokio::spawn(async move {
        let mut came = [0; 512];
        stream.write_all(b"220 ready\r\n").await.unwrap();
        for text in texts {
            // A pause separates texts that come without a question.
            if text.starts_with("later ") {
                sleep(Duration::from_millis(150)).await;
            } else if stream.read(&mut came).await.unwrap_or(0) == 0 {
                return;
            }
            let text = text.strip_prefix("later ").unwrap_or(text);
            if text.is_empty() || stream.write_all(text.as_bytes()).await.is_err() {
                return;
            }
        }
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    (client, running)
}

const OFFER: &str = "250-mx\r\n250 PIPELINING\r\n";
const IN_STEP: &str = "250 ok\r\n250 ok\r\n250 ok\r\n";

/// 0 for anything but a reply about a recipient.
fn codes(answers: &[Result<Answer, Failure>]) -> Vec<u16> {
    let code = |answer: &Result<Answer, Failure>| match answer {
        Ok(Answer::Rcpt(reply)) => reply.code,
        Ok(_) | Err(_) => 0,
    };
    answers.iter().map(code).collect()
}

/// In each conversation the second recipient doesn't exist.
#[tokio::test(start_paused = true)]
async fn a_session_out_of_step_accepts_nobody() {
    let scripts: [&'static [&str]; 12] = [
        // RSET is answered twice: with all replies at once, with the recipient's reply late, and after the question.
        &[
            OFFER,
            "250 ok\r\n250 ok\r\n250 ok\r\n250 ok\r\n",
            "250 ok\r\n550 5.1.1 no\r\n250 ok\r\n",
        ],
        &[OFFER, IN_STEP, "250 ok\r\n250 ok\r\n", "later 550 5.1.1 no\r\n250 ok\r\n"],
        &[OFFER, IN_STEP, "250 ok\r\n250 ok\r\n550 5.1.1 no\r\n250 ok\r\n"],
        // The recipient's reply is so late that nothing but silence follows.
        &[OFFER, IN_STEP, "250 ok\r\n250 2.1.0 ok\r\n"],
        // MAIL isn't answered.
        &[OFFER, IN_STEP, "550 5.1.1 no\r\n250 ok\r\n"],
        // The server closes or says farewell in the place of the recipient's reply.
        &[OFFER, IN_STEP, "250 ok\r\n250 ok\r\n", "later "],
        &[OFFER, IN_STEP, "250 ok\r\n250 ok\r\n421 4.4.2 bye\r\n"],
        &[OFFER, IN_STEP, "250 ok\r\n250 ok\r\n221 2.0.0 bye\r\n"],
        // The line that should end a reply is missing.
        &[OFFER, IN_STEP, "250 ok\r\n550-5.1.1 no\r\n250 ok\r\n"],
        // One command after the other.
        &[
            "250 mx\r\n",
            "250 ok\r\n",
            "250 ok\r\n",
            "250 ok\r\n",
            "250 ok\r\n",
            "250 ok\r\n",
            "550 5.1.1 no\r\n",
        ],
        &[
            "250 mx\r\n",
            "250 ok\r\n",
            "250 ok\r\n",
            "250 ok\r\n",
            "250 ok\r\n250 ok\r\n",
            "550 5.1.1 no\r\n",
        ],
        &[
            "250 mx\r\n",
            "250 ok\r\n",
            "250 ok\r\n",
            "250 ok\r\n",
            "250 ok\r\n",
            "250 ok\r\n550 5.1.1 no\r\n",
        ],
    ];
    for (number, script) in scripts.into_iter().enumerate() {
        let (client, _server) = saying(script);
        let (answers, reusable) = ask_all(client, &["user@example.org", "next@example.org"]).await;
        assert_eq!(codes(&answers[..1]), [250], "{number}: {answers:?}");
        assert!(codes(&answers[1..])[0] / 100 != 2 && !reusable, "{number}: {answers:?}");
    }
}

/// A new session has served nobody else. Even there, a surplus reply doesn't count as an acceptance.
#[tokio::test(start_paused = true)]
async fn a_surplus_reply_before_the_recipients_accepts_nobody_in_a_new_session_either() {
    let scripts: [&'static [&str]; 4] = [
        &[OFFER, "250 ok\r\n250 ok\r\n550 5.1.1 no\r\n250 ok\r\n"],
        &[OFFER, "250 ok\r\n250 ok\r\n421 4.4.2 bye\r\n550 5.1.1 no\r\n"],
        &[OFFER, "250 ok\r\n250 ok\r\n", "later 550 5.1.1 no\r\n250 ok\r\n"],
        &["250 mx\r\n", "250 ok\r\n", "250 ok\r\n", "later 550 5.1.1 no\r\n"],
    ];
    for (number, script) in scripts.into_iter().enumerate() {
        let (client, _server) = saying(script);
        let (answers, reusable) = ask_all(client, &["user@example.org"]).await;
        assert_eq!((answers, reusable), (vec![Err(SURPLUS)], false), "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_rset_in_its_own_way_is_believed_and_not_asked_again() {
    let scripts: [(&'static [&str], u16); 10] = [
        (&[OFFER, "250 ok\r\n550 5.1.1 no\r\n"], 550),
        (&[OFFER, "250 ok\r\n250 ok\r\n250 ok\r\n250 ok\r\n"], 250),
        (&[OFFER, "250 ok\r\n550 5.1.1 no\r\n250 ok\r\n250 ok\r\n"], 550),
        (&[OFFER, "250 ok\r\n250 ok\r\n220 ready\r\n"], 250),
        (&[OFFER, "250 ok\r\n550 5.1.1 no\r\n220 ready\r\n"], 550),
        (&[OFFER, "250 ok\r\n250 ok\r\n221 2.0.0 idle\r\n"], 250),
        (&[OFFER, "250 ok\r\n550 5.1.1 no\r\n421 4.4.2 bye\r\n"], 550),
        (&[OFFER, "250 ok\r\n250 ok\r\n", "later "], 250),
        // Before TLS, a server may refuse everything else.
        (&[OFFER, "250 ok\r\n530 5.7.0 TLS first\r\n530 5.7.0 TLS first\r\n"], 530),
        (&["250 mx\r\n", "250 ok\r\n", "250 ok\r\n", "220 ready\r\n"], 250),
    ];
    for (number, (script, code)) in scripts.into_iter().enumerate() {
        let (client, _server) = saying(script);
        let began = Instant::now();
        let (answers, reusable) = ask_all(client, &["user@example.org"]).await;
        assert_eq!((codes(&answers), reusable), (vec![code], false), "{number}: {answers:?}");
        assert!(began.elapsed() <= RESET_TIMEOUT, "{number}: {:?}", began.elapsed());
    }
}

/// RSET's reply may have come in the place of the recipient's, which is missing.
#[tokio::test(start_paused = true)]
async fn an_acceptance_without_a_reply_to_rset_is_waited_for() {
    let scripts: [&'static [&str]; 2] =
        [&[OFFER, "250 ok\r\n250 ok\r\n"], &["250 mx\r\n", "250 ok\r\n", "250 ok\r\n"]];
    for script in scripts {
        let (client, _server) = saying(script);
        let asking = ask_all(client, &["user@example.org"]);
        assert!(timeout(Duration::from_secs(60), asking).await.is_err());
    }
}

#[tokio::test]
async fn a_server_that_says_the_senders_code_of_recipients_too_is_believed() {
    let ok = "250 2.1.0 ok\r\n250 2.1.0 ok\r\n250 ok\r\n";
    let (client, _server) = saying(&[OFFER, ok, ok]);
    let (answers, reusable) = ask_all(client, &["user@example.org", "next@example.org"]).await;
    assert!(reusable && answers.iter().all(Result::is_ok), "{answers:?}");
}

#[tokio::test]
async fn a_greeting_with_another_positive_code_is_a_greeting() {
    let (client, _server) = server(&[
        ("", "250 ready\r\n"),
        (EHLO, "220-mx\r\n220 PIPELINING\r\n"),
        (ENVELOPE, IN_STEP),
    ]);
    let (answer, _) = ask(client, "user@example.org").await;
    assert!(matches!(answer, Ok(Answer::Rcpt(reply)) if reply.code == 250));
}

#[tokio::test]
async fn a_farewell_behind_the_answer_is_no_reply_too_many() {
    for farewell in ["421 4.4.2 bye\r\n", "250 ok\r\n"] {
        let (client, mut stream) = duplex(4_096);
        tokio::spawn(async move {
            let mut came = [0; 512];
            stream.write_all(b"220 ready\r\n").await.unwrap();
            let replies = format!("250 ok\r\n550 5.1.1 no\r\n{farewell}");
            for text in ["250-mx\r\n250 PIPELINING\r\n", &replies] {
                let _ = stream.read(&mut came).await;
                stream.write_all(text.as_bytes()).await.unwrap();
            }
            let _ = stream.read(&mut came).await;
        });
        let (answers, reusable) = ask_all(client, &["user@example.org"]).await;
        assert!(matches!(&answers[0], Ok(Answer::Rcpt(reply)) if reply.code == 550), "{answers:?}");
        assert_eq!(reusable, farewell == "250 ok\r\n");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_held_for_a_session_is_dropped_after_its_last_reply() {
    let (client, mut stream) = duplex(4_096);
    let (held, mut ended) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let mut came = [0; 512];
        stream.write_all(b"220 ready\r\n").await.unwrap();
        for text in ["250-mx\r\n250 PIPELINING\r\n", "550 no\r\n"] {
            let _ = stream.read(&mut came).await;
            stream.write_all(text.as_bytes()).await.unwrap();
        }
        std::future::pending::<()>().await;
    });
    let mut stage = Stage::Connect;
    let mut session =
        Session::open(client, "probe.example.com", Greeting::Ehlo, PATIENCE, &mut stage)
            .await
            .unwrap();
    let recipient = Address::parse("user@example.org").unwrap();
    let envelope = Envelope { reverse_path: "", recipient: &recipient, last: false };
    assert!(matches!(session.ask(envelope, &mut stage).await, Ok(Answer::Mail(_))));
    let began = Instant::now();
    session.quit(held);
    assert!(
        ended.try_recv().is_err_and(|error| error == TryRecvError::Empty),
        "RCPT is not answered"
    );
    assert!(ended.await.is_err());
    assert_eq!(began.elapsed().as_secs(), 2);
}

#[tokio::test]
async fn a_server_that_may_still_demand_encryption_is_not_taken_leave_of() {
    let (client, server) = server(&[
        ("", "220 ready\r\n"),
        (EHLO, "250-mx\r\n250-STARTTLS\r\n250 PIPELINING\r\n"),
        (ENVELOPE, "530 5.7.0 encrypt first\r\n530 no\r\n250 flushed\r\n"),
        ("STARTTLS\r\n", "454 4.7.0 not now\r\n"),
    ]);
    let mut stage = Stage::Connect;
    let mut session =
        Session::open(client, "probe.example.com", Greeting::Ehlo, PATIENCE, &mut stage)
            .await
            .unwrap();
    assert!(!session.is_encrypted());
    let recipient = Address::parse("user@example.org").unwrap();
    let envelope = Envelope { reverse_path: "", recipient: &recipient, last: true };
    let answer = session.ask(envelope, &mut stage).await;
    assert!(matches!(&answer, Ok(Answer::Mail(reply)) if reply.code == 530), "{answer:?}");
    let name = "mx.example.org".try_into().unwrap();
    let tls = Tls::new().unwrap();
    let begun = session.start_tls(&tls, name, "probe.example.com", &mut stage);
    // The replies of the flight are read first; the refusal is of STARTTLS.
    let refusal = timeout(Duration::from_secs(5), begun).await.unwrap().err();
    let is_refused =
        matches!(&refusal, Some(Failure::Refused(Stage::StartTls, reply)) if reply.code == 454);
    assert!(is_refused, "{refusal:?}");
    assert_eq!(server.await.unwrap(), "");
}

#[tokio::test]
async fn what_a_server_said_of_itself_is_no_refusal_but_every_other_refusal_is() {
    let (client, server) = server(&[("", "220 ready\r\n"), (EHLO, "250 mx\r\n")]);
    let mut stage = Stage::Connect;
    let mut session =
        Session::open(client, "probe.example.com", Greeting::Ehlo, PATIENCE, &mut stage)
            .await
            .unwrap();
    session.parser.feed(b"250 ok\r\n421 closing\r\n").unwrap();
    assert!(session.has_no_refusal_left());
    session.parser.feed(b"250 ok\r\n550 no\r\n").unwrap();
    assert!(!session.has_no_refusal_left());
    drop(session);
    server.await.unwrap();
}

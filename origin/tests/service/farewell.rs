//! The end of a session: the server's closing message is read, and the connection isn't reset.

use std::{io::ErrorKind, time::Duration};

use crate::harness::{MailServer, origin, verdict};
use rcpt_shared::Status;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    sync::mpsc,
    time::timeout,
};

/// Serves one recipient, and reports how the client left.
async fn serve(stream: TcpStream, mail: &str, endings: mpsc::UnboundedSender<String>) {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 mx\r\n").await.unwrap();
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            endings.send("without QUIT".to_owned()).unwrap();
            return;
        }
        let answer = match line.split([' ', '\r']).next().unwrap() {
            "EHLO" => "250-mx\r\n250 PIPELINING",
            "MAIL" => mail,
            "RCPT" | "RSET" => "250 ok",
            "QUIT" => break,
            _ => "500 what?",
        };
        stream.write_all(format!("{answer}\r\n").as_bytes()).await.unwrap();
    }
    // The client waits for the reply.
    let early = timeout(Duration::from_millis(200), stream.read_u8()).await;
    let _ = stream.write_all(b"221 bye\r\n").await;
    let _ = stream.shutdown().await;
    let late = stream.read_u8().await;
    let how = match (early, late) {
        (Ok(_), _) => "before the answer to QUIT".to_owned(),
        (Err(_), Err(error)) if error.kind() == ErrorKind::UnexpectedEof => "in order".to_owned(),
        (Err(_), told) => format!("{told:?}"),
    };
    endings.send(how).unwrap();
}

#[tokio::test]
async fn a_session_ends_after_the_servers_farewell() {
    // If the sender is refused, the reply to RCPT is never read.
    for mail in ["250 ok", "550 no"] {
        let (endings, mut how) = mpsc::unbounded_channel();
        let server =
            MailServer::serving(move |stream, _| serve(stream, mail, endings.clone())).await;
        let origin = origin(&[("RCPT_ROUTES", &server.route()), ("RCPT_SESSION_RECIPIENTS", "1")]);
        let outcome = verdict(&origin, "user@sandbox.test").await;
        assert_eq!(outcome.status == Status::Accepted, mail == "250 ok");
        assert_eq!(how.recv().await.unwrap(), "in order", "{mail}");
    }
}

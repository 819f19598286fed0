//! A server with arbitrary output at STARTTLS and in the handshake: the session ends or continues, and never panics.
#![no_main]

mod tape;

use libfuzzer_sys::fuzz_target;
use rcpt_shared::{Address, Stage};
use rcpt_smtp::{Envelope, Greeting, Session, Tls};
use tape::Tape;

const GREETED: &[u8] = b"220 mx\r\n250-mx\r\n250 STARTTLS\r\n";

fuzz_target!(|bytes: &[u8]| {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let recipient = Address::parse("user@example.org").expect("an address");
    let envelope = Envelope { reverse_path: "", recipient: &recipient, last: true };
    let input = [GREETED, bytes].concat();
    runtime.block_on(async {
        let mut stage = Stage::Connect;
        let name = "probe.example.com";
        // Bytes that arrive with the greeting, unsolicited, may end the session.
        let Ok(session) = Session::open(Tape(&input), name, Greeting::Ehlo, None, &mut stage).await
        else {
            return;
        };
        let tls = Tls::new().expect("the provider has protocol versions");
        let host = "mx.example.org".try_into().expect("a name");
        if let Ok(mut session) = session.start_tls(&tls, host, name, &mut stage).await {
            let _ = session.ask(envelope, &mut stage).await;
        }
    });
});

//! A complete session against a server with arbitrary output: it ends, and never in a panic.
#![no_main]

mod tape;

use libfuzzer_sys::fuzz_target;
use rcpt_shared::{Address, Stage};
use rcpt_smtp::{Answer, Envelope, Greeting, Session};
use rcpt_verdict::{Parties, judge};
use tape::Tape;

fuzz_target!(|bytes: &[u8]| {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let recipient = Address::parse("user@example.org").expect("an address");
    let envelope = Envelope { reverse_path: "", recipient: &recipient, last: false };
    runtime.block_on(async {
        let mut stage = Stage::Connect;
        let Ok(mut session) =
            Session::open(Tape(bytes), "probe.example.com", Greeting::Ehlo, None, &mut stage).await
        else {
            return;
        };
        for _ in 0..100 {
            match session.ask(envelope, &mut stage).await {
                Ok(Answer::Rcpt(reply)) => judge(Stage::Rcpt, &reply, &Parties::default()),
                Ok(Answer::Mail(reply)) => judge(Stage::Mail, &reply, &Parties::default()),
                Ok(Answer::Smtputf8Unsupported) | Err(_) => return,
            };
            if !session.is_reusable(100) {
                return;
            }
        }
    });
});

//! A reply is the same however the stream is split, and judging it never panics and never takes
//! long.
#![no_main]

use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use rcpt_shared::Stage;
use rcpt_smtp::{Reply, ReplyError, ReplyParser};
use rcpt_verdict::{Parties, judge};

/// Time limit with the sanitizer on a busy machine; normally a judgement takes microseconds.
const JUDGEMENT_TIMEOUT: Duration = Duration::from_millis(100);

fn replies(pieces: &[&[u8]]) -> (Vec<Reply>, Option<ReplyError>) {
    let (mut parser, mut replies) = (ReplyParser::default(), Vec::new());
    for piece in pieces {
        if let Err(error) = parser.feed(piece) {
            return (replies, Some(error));
        }
        loop {
            match parser.next_reply() {
                Ok(Some(reply)) => replies.push(reply),
                Ok(None) => break,
                Err(error) => return (replies, Some(error)),
            }
        }
    }
    (replies, None)
}

// The tables are loaded before the judgement is measured.
fuzz_target!(init: rcpt_verdict::load(), |input: (u16, &[u8])| {
    let (cut, bytes) = input;
    let (before, after) = bytes.split_at(usize::from(cut) % (bytes.len() + 1));
    let whole = replies(&[bytes]);
    if whole.1.is_none() {
        assert_eq!(whole, replies(&[before, after]));
    }
    for reply in whole.0 {
        assert!((200..600).contains(&reply.code));
        for stage in [Stage::Banner, Stage::Ehlo, Stage::StartTls, Stage::Mail, Stage::Rcpt] {
            // The machine may pause the process, but hardly three times in succession.
            let is_quick = || {
                let began = Instant::now();
                let parties =
                    Parties { recipient: "a@b.example", sender: Some("c@d.example"), helo_names: vec!["d.example"] };
                let _ = judge(stage, &reply, &parties);
                began.elapsed() < JUDGEMENT_TIMEOUT
            };
            assert!((0..3).any(|_| is_quick()), "{stage:?}: three times longer than {JUDGEMENT_TIMEOUT:?}");
        }
    }
});

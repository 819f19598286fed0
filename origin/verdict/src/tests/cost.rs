//! Cost of judging replies that were made to be expensive.

use std::time::Duration;

use rcpt_shared::Stage;
use rcpt_smtp::Reply;
use rustix::time::{ClockId, clock_gettime};

use super::judge;

const ORDINARY: &str = "550-5.1.1 The email account that you tried to reach does not exist. Please try\r\n\
    550-5.1.1 double-checking the recipient's email address for typos or\r\n\
    550-5.1.1 unnecessary spaces. For more information, go to\r\n\
    550 5.1.1  https://support.google.com/mail/?p=NoSuchUser a1-2f3si123f8f.123 - gsmtp\r\n";

/// Four lines, each of the greatest length.
fn lines(text: &str) -> String {
    let text = text.repeat(2_040 / text.len());
    format!("550-{text}\r\n550-{text}\r\n550-{text}\r\n550 {text}\r\n")
}

/// Time of this thread to judge this reply `times` times. Nothing that runs meanwhile counts: on a busy machine even a
/// short judgement may be interrupted each time.
fn cost(reply: &Reply, times: u32) -> Duration {
    let time = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let began = time();
    for _ in 0..times {
        std::hint::black_box(judge(Stage::Rcpt, std::hint::black_box(reply)));
    }
    time() - began
}

/// 8 KiB of U+FDFA took 350 times as long as this ordinary refusal, and 8 KiB of open brackets 160
/// times.
#[test]
fn no_reply_costs_more_to_judge_than_thirty_ordinary_ones() {
    let ordinary = Reply::parse(ORDINARY).unwrap();
    for text in [
        "<",
        "< ",
        "=",
        "=41",
        "\u{fdfa}",
        "\u{fdfa} ",
        "\u{301}\u{323}",
        "a://b/ ",
        "a.b.c.d.",
        "l'a ",
        "user x unknown ",
        "user unknown : ",
        "recipient rejected ",
        "mailbox is blocked ",
        "用户不存在 ",
        "full ",
        "over quota . ",
        "#5.1.1",
        "[192.0.2.1]",
    ] {
        let reply = Reply::parse(&lines(text)).unwrap();
        // In turns and of like length, and the shortest of each: a short measurement can fall into a moment at which
        // the processor is twice as fast.
        let rounds = (0..10).map(|_| [cost(&reply, 1), cost(&ordinary, 30)]);
        let [took, limit] = rounds.reduce(|[a, b], [c, d]| [a.min(c), b.min(d)]).unwrap();
        assert!(took < limit, "{text:?}: {took:?}, thirty ordinary ones {limit:?}");
    }
}

//! Tests of the reply parser at and beyond its limits.

use super::{
    Capabilities, EnhancedCode, LINE_BYTES_MAX, MAX_LINES, Reply, ReplyError, ReplyParser,
    SESSION_BYTES_MAX, TEXT_BYTES_MAX,
};

fn all(bytes: &[u8]) -> Result<Vec<Reply>, ReplyError> {
    let mut parser = ReplyParser::default();
    parser.feed(bytes)?;
    let mut replies = Vec::new();
    while let Some(reply) = parser.next_reply()? {
        replies.push(reply);
    }
    Ok(replies)
}

fn enhanced(raw: &str) -> Option<String> {
    Reply::parse(raw).unwrap().enhanced.map(|code| code.to_string())
}

#[test]
fn reads_one_and_several_lines() {
    let reply = Reply::parse("220 mx.example.org ESMTP\r\n").unwrap();
    assert_eq!((reply.code, reply.text()), (220, "mx.example.org ESMTP"));
    let reply = Reply::parse("250-mx greets you\r\n250-PIPELINING\r\n250 HELP\r\n").unwrap();
    assert_eq!(reply.lines().collect::<Vec<_>>(), ["mx greets you", "PIPELINING", "HELP"]);
}

#[test]
fn takes_a_bare_code_and_a_bare_line_feed() {
    assert_eq!(Reply::parse("250\r\n").unwrap().text(), "");
    assert_eq!(Reply::parse("250 ok\n").unwrap().text(), "ok");
}

#[test]
fn the_enhanced_code_is_not_part_of_the_text() {
    let reply =
        Reply::parse("550-5.1.1 The account does not\r\n550 5.1.1 exist. gsmtp\r\n").unwrap();
    assert_eq!(reply.enhanced.unwrap().to_string(), "5.1.1");
    assert_eq!(reply.text(), "The account does not\nexist. gsmtp");
    assert_eq!(enhanced("550 192.0.2.1 is listed\r\n"), None);
    assert_eq!(enhanced("550 sorry (#5.1.1)\r\n").as_deref(), Some("5.1.1"));
}

#[test]
fn cuts_pipelined_replies_apart_wherever_the_bytes_break() {
    let stream = b"250-one\r\n250 two\r\n550 5.1.1 no\r\n221 bye\r\n";
    let whole = all(stream).unwrap();
    assert_eq!(whole.iter().map(|reply| reply.code).collect::<Vec<_>>(), [250, 550, 221]);
    for cut in 0..stream.len() {
        let mut parser = ReplyParser::default();
        let mut replies = Vec::new();
        for part in [&stream[..cut], &stream[cut..]] {
            parser.feed(part).unwrap();
            while let Some(reply) = parser.next_reply().unwrap() {
                replies.push(reply);
            }
        }
        assert_eq!(replies, whole, "cut at {cut}");
        assert!(parser.is_empty());
    }
}

#[test]
fn refuses_what_is_not_a_reply() {
    for garbage in [
        "HTTP/1.1 400 Bad Request\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "\r\n",
        "25\r\n",
        "099 no\r\n",
        "199 no\r\n",
        "600 no\r\n",
        "25a no\r\n",
        "250_no\r\n",
        "250\tno\r\n",
        "2500\r\n",
        " 250 no\r\n",
        "\u{0662}50 no\r\n",
    ] {
        assert_eq!(all(garbage.as_bytes()), Err(ReplyError::Garbage), "{garbage:?}");
    }
}

#[test]
fn of_lines_with_different_codes_the_last_decides() {
    for (raw, code, enhanced, text) in [
        ("250-a\r\n251 b\r\n", 251, None, "b"),
        ("250-2.1.0 ok\r\n550-5.1.1 no\r\n550 such user\r\n", 550, Some("5.1.1"), "no\nsuch user"),
        ("550-5.1.1 no\r\n450 later\r\n", 450, None, "later"),
    ] {
        let reply = Reply::parse(raw).unwrap();
        assert_eq!((reply.code, reply.text()), (code, text), "{raw}");
        assert_eq!(reply.enhanced.map(|code| code.to_string()).as_deref(), enhanced, "{raw}");
    }
    let lines = |count: usize| "250-x\r\n251-x\r\n".repeat(count / 2) + "250 end\r\n";
    assert!(all(lines(MAX_LINES - 2).as_bytes()).is_ok());
    assert_eq!(all(lines(MAX_LINES).as_bytes()), Err(ReplyError::ManyLines));
}

/// The refusal's last line is missing, and the next command was accepted.
#[test]
fn an_acceptance_does_not_end_a_refusal() {
    assert_eq!(all(b"550-5.1.1 no such user\r\n250 flushed\r\n"), Err(ReplyError::MixedCodes));
}

#[test]
fn text_that_is_not_utf8_is_replaced_not_refused() {
    assert_eq!(all(b"250 caf\xe9\r\n").unwrap()[0].text(), "caf\u{fffd}");
}

#[test]
fn bounds_the_line() {
    let longest = format!("250 {}\r\n", "x".repeat(LINE_BYTES_MAX - 4));
    assert!(all(longest.as_bytes()).is_ok());
    let longer = format!("250 {}\r\n", "x".repeat(LINE_BYTES_MAX - 3));
    assert_eq!(all(longer.as_bytes()), Err(ReplyError::LongLine));
    // The line is also rejected before its line break has arrived.
    assert_eq!(all(&longer.as_bytes()[..LINE_BYTES_MAX + 2]), Err(ReplyError::LongLine));
}

#[test]
fn bounds_the_reply() {
    let lines = |count: usize| format!("{}250 end\r\n", "250-x\r\n".repeat(count - 1));
    assert!(all(lines(MAX_LINES).as_bytes()).is_ok());
    assert_eq!(all(lines(MAX_LINES + 1).as_bytes()), Err(ReplyError::ManyLines));
}

#[test]
fn keeps_the_beginning_of_a_long_text_and_reads_all_of_it() {
    // 0xff isn't valid UTF-8, and its replacement has three bytes.
    let line = [b"250-".as_slice(), &[0xff; 2_000], b"\r\n"].concat();
    let long = [b"250-first\r\n".as_slice(), &line.repeat(30), b"250 last\r\n"].concat();
    let replies = all(&long).unwrap();
    let [reply] = replies.as_slice() else { panic!("{} replies", replies.len()) };
    assert_eq!((reply.lines().next(), reply.lines().last()), (Some("first"), Some("last")));
    assert!(reply.text().len() <= TEXT_BYTES_MAX, "{}", reply.text().len());
}

#[test]
fn bounds_the_session() {
    let mut parser = ReplyParser::default();
    let line = [b"250 ".as_slice(), &[b'x'; 1_018], b"\r\n"].concat();
    for _ in 0..SESSION_BYTES_MAX / line.len() {
        parser.feed(&line).unwrap();
        assert!(parser.next_reply().unwrap().is_some());
    }
    assert_eq!(parser.feed(b"2"), Err(ReplyError::LongSession));
}

#[test]
fn forgets_what_came_before_the_handshake() {
    let mut parser = ReplyParser::default();
    parser.feed(b"220 go ahead\r\n250-injected\r\n250").unwrap();
    assert_eq!(parser.next_reply().unwrap().unwrap().code, 220);
    assert!(!parser.is_empty());
    parser.discard();
    parser.feed(b"250 genuine\r\n").unwrap();
    assert_eq!(parser.next_reply().unwrap().unwrap().text(), "genuine");
}

#[test]
fn of_a_long_reply_the_beginning_is_kept_and_its_code_is_read() {
    let line = format!("550-{}\r\n", "x".repeat(2_000));
    let raw = format!("550-first\r\n{}550 5.1.1 last\r\n", line.repeat(20));
    let reply = Reply::parse(&raw).unwrap();
    assert!(reply.text().starts_with("first\nxxx"));
    assert!(
        (TEXT_BYTES_MAX - line.len()..=TEXT_BYTES_MAX).contains(&reply.text().len()),
        "{}",
        reply.text().len()
    );
    assert_eq!(reply.enhanced.unwrap().to_string(), "5.1.1");
}

#[test]
fn the_longest_line_may_arrive_in_two_parts() {
    let mut parser = ReplyParser::default();
    let line = [b"250 ".as_slice(), &vec![b'x'; LINE_BYTES_MAX - 4]].concat();
    parser.feed(&line).unwrap();
    parser.feed(b"\r").unwrap();
    assert_eq!(parser.next_reply(), Ok(None));
    parser.feed(b"\n").unwrap();
    assert_eq!(parser.next_reply().unwrap().unwrap().text().len(), LINE_BYTES_MAX - 4);
    parser.feed(&[line.as_slice(), b"xx"].concat()).unwrap();
    assert_eq!(parser.next_reply(), Err(ReplyError::LongLine));
}

#[test]
fn a_text_is_kept_up_to_its_last_byte() {
    let full = "x".repeat(1_000);
    let lines = TEXT_BYTES_MAX / 1_001;
    let begun = format!("250-{full}\r\n").repeat(lines);
    // A line break takes one byte.
    let rest = TEXT_BYTES_MAX - (lines * 1_001 - 1) - 1;
    for (length, kept) in [(rest, true), (rest + 1, false)] {
        let raw = format!("{begun}250 {}\r\n", "y".repeat(length));
        let text = Reply::parse(&raw).unwrap().text().to_owned();
        assert_eq!(text.ends_with('y'), kept, "{length}");
        assert!(text.len() <= TEXT_BYTES_MAX);
    }
}

#[test]
fn reads_a_leading_code() {
    for (text, code, rest) in [
        ("5.1.1 No such user", "5.1.1", " No such user"),
        ("4.7.650 rate limited", "4.7.650", " rate limited"),
        ("2.1.5", "2.1.5", ""),
        ("5.7.1: no", "5.7.1", ": no"),
    ] {
        let (read, after) = EnhancedCode::leading(text).unwrap();
        assert_eq!((read.to_string().as_str(), after), (code, rest), "{text}");
    }
}

#[test]
fn takes_nothing_else_for_a_code() {
    for text in
        ["", "5", "5.1", "3.1.1", "192.0.2.1", "5.1.1.1", "5.1.1234", "x5.1.1", "5..1", "5.1.ä"]
    {
        assert_eq!(EnhancedCode::leading(text), None, "{text}");
    }
}

#[test]
fn reads_the_code_after_a_hash() {
    for (text, code) in [
        ("#5.1.0 Address rejected.", Some("5.1.0")),
        ("sorry, no mailbox here by that name. (#5.1.1)", Some("5.1.1")),
        ("ticket #12345, see (#5.7.1)", Some("5.7.1")),
        ("ticket #12345", None),
    ] {
        let read = EnhancedCode::after_hash(text).map(|code| code.to_string());
        assert_eq!(read.as_deref(), code, "{text}");
    }
}

fn parsed(raw: &str) -> Capabilities {
    Capabilities::parse(&Reply::parse(raw).unwrap())
}

#[test]
fn reads_keywords_in_any_case_and_ignores_their_parameters() {
    let offered =
        parsed("250-mx\r\n250-SIZE 1000\r\n250-pipelining\r\n250-StartTLS now\r\n250 SMTPUTF8\r\n");
    assert_eq!(offered, Capabilities { pipelining: true, starttls: true, smtputf8: true });
}

#[test]
fn the_greeting_offers_nothing() {
    assert_eq!(parsed("250 PIPELINING STARTTLS SMTPUTF8\r\n"), Capabilities::default());
    assert_eq!(parsed("250-mx\r\n250 XPIPELINING\r\n"), Capabilities::default());
}

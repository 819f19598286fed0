//! Properties over generated input; the seed is fixed, so that a failure is found again.
//!
//! - P1: at least 100,000 streams of replies; every status is one of the allowed ones, within the limits of memory and
//!   time. `make fuzz` adds ten minutes of guided fuzzing.
//! - P5: at least 1,000,000 addresses.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    pin::Pin,
    task::{Context, Poll},
    thread,
};

use rand::{Rng, SeedableRng as _, rngs::StdRng};
use rcpt_origin::dns::mx::guard::Guard;
use rcpt_shared::{Address, Stage, Status};
use rcpt_smtp::{Answer, Command, Envelope, Failure, Greeting, Session};
use rcpt_verdict::{Parties, judge, judge_broken};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const SEED: u64 = 20_261_120;

/// A server that sends the next part of the tape, in pieces, for each command.
struct Tape {
    turns: std::vec::IntoIter<Vec<u8>>,
    bytes: Vec<u8>,
    read: usize,
    piece: usize,
}

impl Tape {
    fn new(turns: Vec<Vec<u8>>, piece: usize) -> Self {
        let mut turns = turns.into_iter();
        let bytes = turns.next().unwrap_or_default();
        Self { turns, bytes, read: 0, piece }
    }
}

impl AsyncRead for Tape {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let end = (self.read + self.piece.min(buffer.remaining())).min(self.bytes.len());
        let read = self.read;
        buffer.put_slice(&self.bytes[read..end]);
        self.read = end;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tape {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let commands = bytes.iter().filter(|byte| **byte == b'\n').count();
        for _ in 0..commands {
            let turn = self.turns.next().unwrap_or_default();
            self.bytes.extend(turn);
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn pick<'a>(random: &mut StdRng, from: &[&'a str]) -> &'a str {
    from[random.random_range(0..from.len())]
}

/// Builds a mostly normal dialogue with occasional deviations.
fn stream(random: &mut StdRng) -> Vec<Vec<u8>> {
    let mut turns = Vec::new();
    for usual in ["220 mx", "250-mx\r\n250 PIPELINING", "250 ok", "250 ok", "250 ok", "250 ok"] {
        let mut bytes = Vec::new();
        match random.random_range(0..20) {
            0 => {
                let code = random.random_range(0..1_000);
                let text =
                    pick(random, &["user unknown", "5.1.1 no", "blocked", "", "4.7.1 x", "#5.2.2"]);
                bytes.extend(format!("{code:03} {text}").bytes());
            }
            1 => bytes.extend((0..random.random_range(0..60)).map(|_| random.random::<u8>())),
            2 if random.random_bool(0.1) => {
                bytes.extend("250-x\r\n".repeat(random.random_range(0..200)).bytes());
            }
            3 if random.random_bool(0.02) => {
                bytes.extend(vec![b'2'; random.random_range(0..5_000)])
            }
            4 => {}
            _ => bytes.extend(usual.bytes()),
        }
        let end = if random.random_bool(0.95) { "\r\n" } else { pick(random, &["\n", "\r", ""]) };
        bytes.extend(end.bytes());
        turns.push(bytes);
    }
    turns
}

/// Tests docs/security.md, P1, without time limits: the dialogue and the policy over any output of a server.
#[test]
fn a_hundred_thousand_reply_streams_end_in_an_allowed_status() {
    const STREAMS: usize = 100_000;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut random = StdRng::seed_from_u64(SEED);
    let recipient = Address::parse("user@example.org").unwrap();
    let mut answered = 0;
    for _ in 0..STREAMS {
        let turns = stream(&mut random);
        // Sending byte by byte is slow, so only some cases do it.
        let piece = [1, 7, 64, 64, 1_460, 1_460, 1_460, 1_460][random.random_range(0..8)];
        let envelope = Envelope { reverse_path: "", recipient: &recipient, last: false };
        let mut stage = Stage::Connect;
        let outcome = runtime.block_on(async {
            let tape = Tape::new(turns, piece);
            let mut session =
                Session::open(tape, "probe.example.com", Greeting::Ehlo, None, &mut stage).await?;
            let first = session.ask(envelope, &mut stage).await?;
            if session.is_reusable(100) {
                let _ = session.ask(envelope, &mut Stage::Connect).await;
            }
            Ok(first)
        });
        let finding = match outcome {
            Ok(Answer::Rcpt(reply)) => {
                answered += 1;
                judge(Stage::Rcpt, &reply, &Parties::default())
            }
            Ok(Answer::Mail(reply)) => judge(Stage::Mail, &reply, &Parties::default()),
            Ok(Answer::Smtputf8Unsupported) => unreachable!("the recipient is ASCII"),
            Err(Failure::Refused(stage, reply)) => judge(stage, &reply, &Parties::default()),
            Err(Failure::Broken(_, broken)) => judge_broken(broken),
            Err(Failure::Silent(_)) => panic!("the tape is never silent"),
        };
        let allowed = match stage {
            Stage::Rcpt => true,
            _ => !matches!(finding.status, Status::Accepted | Status::Refused),
        };
        assert!(allowed, "{finding:?} at {stage:?}");
        assert!(!matches!(
            finding.status,
            Status::InvalidFormat | Status::DomainNotFound | Status::NoMxRecords
        ));
    }
    println!("{STREAMS} streams, seed {SEED}, {answered} came to an answer, 0 panics");
    assert!(answered > STREAMS / 10, "the generator has lost its way: {answered}");
}

/// Tests docs/security.md, P5: any parsed address is one line on the wire.
#[test]
fn a_million_addresses_inject_nothing() {
    const EACH: usize = 500_000;
    const ALPHABET: [char; 24] = [
        'a', 'b', 'Z', '0', '.', '-', '_', '+', '"', '\\', ' ', '<', '>', '\r', '\n', '\0', '\t',
        '@', ',', ':', 'é', '\u{2028}', '\u{85}', ';',
    ];
    let threads: Vec<_> = (0..2)
        .map(|half| {
            thread::spawn(move || {
                let mut random = StdRng::seed_from_u64(SEED + half);
                let (mut parsed, mut line) = (0, Vec::new());
                for _ in 0..EACH {
                    let length = random.random_range(0..10);
                    let mut text: String = (0..length)
                        .map(|_| ALPHABET[random.random_range(0..ALPHABET.len())])
                        .collect();
                    if random.random_bool(0.3) {
                        text = format!("\"{text}\"");
                    }
                    text.push('@');
                    text.push_str(pick(
                        &mut random,
                        &["e.org", "e.org", "e.org", "e\r\n.org", "é.org"],
                    ));
                    let Ok(address) = Address::parse(&text) else { continue };
                    parsed += 1;
                    line.clear();
                    Command::Rcpt(address.normal()).encode(&mut line).unwrap();
                    let inner = &line[..line.len() - 2];
                    assert!(line.ends_with(b">\r\n"), "{text:?}");
                    assert!(!inner.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)), "{text:?}");
                }
                parsed
            })
        })
        .collect();
    let parsed: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    println!("{} addresses, seed {SEED}, {parsed} parsed, 0 broke a line", 2 * EACH);
    assert!(parsed > EACH / 10, "{parsed}");
}

/// Tests docs/security.md, P4: the first, the last and some other addresses of every special range, in each form they
/// may take.
#[test]
fn no_special_address_is_dialled_in_any_form() {
    const RANGES: [(&str, u32); 16] = [
        ("0.0.0.0", 8),
        ("10.0.0.0", 8),
        ("100.64.0.0", 10),
        ("127.0.0.0", 8),
        ("169.254.0.0", 16),
        ("172.16.0.0", 12),
        ("192.0.0.0", 24),
        ("192.0.2.0", 24),
        ("192.88.99.0", 24),
        ("192.168.0.0", 16),
        ("198.18.0.0", 15),
        ("198.51.100.0", 24),
        ("203.0.113.0", 24),
        ("224.0.0.0", 4),
        ("240.0.0.0", 4),
        ("255.255.255.255", 32),
    ];
    let guard = Guard::default();
    let mut random = StdRng::seed_from_u64(SEED);
    let mut cases = 0;
    for (first, prefix) in RANGES {
        let first = u32::from(first.parse::<Ipv4Addr>().unwrap());
        let last = first | u32::MAX.checked_shr(prefix).unwrap_or(0);
        for bits in
            [first, last, random.random_range(first..=last), random.random_range(first..=last)]
        {
            let v4 = Ipv4Addr::from(bits);
            let [a, b] = [(bits >> 16) as u16, bits as u16];
            let forms = [
                IpAddr::V4(v4),
                IpAddr::V6(v4.to_ipv6_mapped()),
                // IPv4-compatible, NAT64 (both prefixes) and 6to4.
                IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, 0, 0, a, b)),
                IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, a, b)),
                IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, a, b)),
                IpAddr::V6(Ipv6Addr::new(0x2002, a, b, 0, 0, 0, 0, 1)),
            ];
            for form in forms {
                assert!(!guard.permits(form), "{form}");
                cases += 1;
            }
        }
    }
    println!("{cases} addresses, seed {SEED}, 0 permitted");
    assert!(cases >= 200);
}

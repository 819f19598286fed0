//! What a probe costs: round trips and throughput behind a delay line, CPU against Postfix's
//! `smtp-sink`, memory while ten thousand servers are silent, and the accuracy of the verdicts.
//!
//! The figures are printed as a table and written to `target/bench/probe.json`. The delay line holds
//! bytes back for 20 ms each way and does not serialise replies. TCP's own handshake is not delayed on
//! the loopback: add one round trip to `cold_rtt` for it.
//!
//! `cargo bench --locked --package rcpt-origin -- cpu held` measures those groups alone.
#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

mod corpus;
mod cpu;
mod delayed;
mod figure;
mod held;
mod nameserver;
mod origin;
mod round_trips;

use anyhow::{Result, bail};
use figure::Figure;

type Measure = fn() -> Result<Vec<Figure>>;

const GROUPS: [(&str, Measure); 4] = [
    ("corpus", corpus::measure),
    ("round_trips", round_trips::measure),
    ("cpu", cpu::measure),
    ("held", held::measure),
];

fn main() -> Result<()> {
    if std::env::args().any(|argument| argument == held::TARPIT) {
        return held::be_tarpit();
    }
    // Cargo's own argument is `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    if let Some(unknown) = wanted.iter().find(|it| !GROUPS.iter().any(|(name, _)| name == it)) {
        bail!("no group {unknown}: there are {}", GROUPS.map(|(name, _)| name).join(", "));
    }
    let mut figures = Vec::new();
    for (name, measure) in GROUPS {
        if wanted.is_empty() || wanted.iter().any(|it| it == name) {
            figures.extend(measure()?);
        }
    }
    figure::print(&figures);
    // Part of the figures would pass for all of them.
    if wanted.is_empty() { figure::write(&figures) } else { Ok(()) }
}

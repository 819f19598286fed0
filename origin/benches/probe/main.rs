//! What a probe costs: round trips and throughput behind a delay line, CPU against Postfix's
//! `smtp-sink`, memory while ten thousand servers are silent, and the accuracy of the verdicts.
//!
//! The figures are printed as a table and written to `target/bench/probe.json`. The delay line holds
//! bytes back for 20 ms each way and does not serialise replies. TCP's own handshake is not delayed on
//! the loopback: add one round trip to `cold_rtt` for it.
#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

mod corpus;
mod cpu;
mod delayed;
mod figure;
mod held;
mod nameserver;
mod origin;
mod round_trips;

use anyhow::Result;
use figure::Figure;

fn main() -> Result<()> {
    if std::env::args().any(|argument| argument == held::TARPIT) {
        return held::be_tarpit();
    }
    let mut figures: Vec<Figure> = Vec::new();
    figures.extend(corpus::measure()?);
    figures.extend(round_trips::measure()?);
    figures.extend(cpu::measure()?);
    figures.extend(held::measure()?);
    figure::report(&figures)
}

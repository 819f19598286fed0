//! Cost of a probe for us and for the servers, and accuracy of the verdicts. Measures memory while 500 servers are
//! hostile or 10,000 silent, round trips and throughput behind a delay line, concurrent sessions, and CPU against
//! Postfix's `smtp-sink`.
//!
//! The figures are printed as a table and written to `target/bench/probe.json`, those of the verdicts to
//! `target/bench/verdicts.json`. The delay line holds bytes back for 20 ms in each direction and doesn't serialise
//! replies. TCP's own handshake isn't delayed on the loopback: add one round trip to `cold_rtt` for it.
//!
//! `cargo bench --locked --package rcpt-lab -- cpu held` measures only the groups `cpu` and `held`. Some figures
//! have a limit, above which the program fails. In the group `cpu`, only figures relative to a bare exchange in the
//! same run have limits: these figures are comparable between machines. Other work on the machine may raise a figure
//! above its limit.
#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

mod bare;
mod corpus;
mod cpu;
mod delayed;
mod figure;
mod held;
mod hostile;
mod memory;
mod nameserver;
mod origin;
mod over_http;
mod polite;
mod pool_cost;
mod round_trips;
mod twin;

use anyhow::{Result, bail};
use figure::Figure;
use hostile::Malice;

type Measure = fn() -> Result<Vec<Figure>>;

/// `hostile` is first, because memory that another group had used before would hide its need.
const GROUPS: [(&str, Measure); 7] = [
    ("hostile", hostile::measure),
    ("corpus", corpus::measure),
    ("round_trips", round_trips::measure),
    ("polite", polite::measure),
    ("cpu", cpu::measure),
    ("held", held::measure),
    ("pool", pool_cost::measure),
];

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some(held::TARPIT) => return held::be_tarpit(),
        Some(cpu::REFUSER) => return cpu::be_refuser(),
        Some(over_http::ORIGIN) => return over_http::be_origin(std::env::args().skip(2)),
        Some(hostile::HOARDER) => return twin::be(|stream, _| Malice::Hoard.meet(stream)),
        Some(hostile::EVERY_KIND) => {
            return twin::be(|stream, number| Malice::of(number).meet(stream));
        }
        _ => {}
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
    // A partial file could be mistaken for a complete file.
    if wanted.is_empty() {
        figure::write(&figures)?;
    }
    figure::hold_to_limits(&figures)
}

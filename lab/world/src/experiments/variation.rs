//! W1 to W6 again, with the servers' limits halved, and raised by half.

use anyhow::Result;

use super::{Report, constants::LENIENCIES, fairness, manners, recovery, safety, throughput};

/// Varies W1 to W6.
pub fn measure(report: &mut Report, seed: u64) -> Result<()> {
    let all = [
        safety::measure,
        fairness::measure,
        throughput::measure,
        manners::measure,
        recovery::measure,
    ];
    vary(report, seed, "variation", &all)
}

/// Varies W2 alone.
pub fn of_manners(report: &mut Report, seed: u64) -> Result<()> {
    vary(report, seed, "manners_varied", &[manners::measure])
}

fn vary(
    report: &mut Report,
    seed: u64,
    name: &'static str,
    experiments: &[fn(&mut Report, u64) -> Result<()>],
) -> Result<()> {
    let mut rows = Vec::new();
    for (servers, factor) in LENIENCIES.into_iter().filter(|(_, factor)| *factor != 1.0) {
        eprintln!("  {servers}");
        let mut varied = Report {
            varied: Some(factor),
            is_short: true,
            hashes: report.hashes.clone(),
            ..Report::default()
        };
        for measure in experiments {
            measure(&mut varied, seed)?;
        }
        report.hashes = varied.hashes;
        report.failures.extend(varied.failures);
        for mut row in varied.rows.into_iter().flat_map(|(_, rows)| rows) {
            row.name += &format!("_limits_times_{factor}");
            rows.push(row);
        }
    }
    report.rows.push((name, rows));
    Ok(())
}

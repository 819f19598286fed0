//! W2, W3, W4 and W6 again with servers that are half as strict again, and half as lenient again.

use anyhow::Result;

use super::{Report, constants::LENIENCIES, fairness, manners, recovery, throughput};

/// # Errors
/// When a run can't be set up.
pub fn measure(report: &mut Report, seed: u64) -> Result<()> {
    let mut rows = Vec::new();
    for (servers, factor) in LENIENCIES.into_iter().filter(|(_, factor)| *factor != 1.0) {
        eprintln!("  {servers}");
        let mut varied = Report {
            varied: Some(factor),
            is_short: true,
            hashes: report.hashes.clone(),
            ..Report::default()
        };
        for measure in [fairness::measure, throughput::measure, manners::measure, recovery::measure]
        {
            measure(&mut varied, seed)?;
        }
        report.hashes = varied.hashes;
        report.failures.extend(varied.failures);
        for mut row in varied.rows.into_iter().flat_map(|(_, rows)| rows) {
            row.name += &format!("_limits_times_{factor}");
            rows.push(row);
        }
    }
    report.rows.push(("variation", rows));
    Ok(())
}

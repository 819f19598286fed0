//! Last step of `make test`: searches all logs for addresses and secrets (docs/security.md, A10).

use anyhow::{Result, ensure};
use rcpt_devtools::log_scan;
use rcpt_tests::process::folder;

fn main() -> Result<()> {
    let scan = log_scan::scan(&folder::target().join("tests"))?;
    println!(
        "{} lines in {} logs of edge and origin hold {} addresses or secrets; of {} probes {} came \
         from an edge that logged the same id",
        scan.lines,
        scan.files,
        scan.hits.len(),
        scan.probes,
        scan.joined,
    );
    for (file, line, what) in &scan.hits {
        println!("{what} in {}:{line}", file.display());
    }
    ensure!(scan.hits.is_empty(), "the logs give something away");
    Ok(())
}

//! Half a minute of `make lab ONLY=load` (docs/security.md, L1), for properties that hold on any machine: no
//! errors, and an exact ledger. `make lab ONLY=load` itself measures speed and memory.
//!
//! - L1: ten minutes of cached and fresh checks at times chosen in advance: at least 99.9 % without 5xx, every counted
//!   check charged, the Worker's linear memory constant, origin's resident memory at most 1 % more.

use rcpt_lab::load::{self, LoadPlan};
use rcpt_tests::process::folder;

#[tokio::test(flavor = "multi_thread")]
async fn half_a_minute_of_load_has_no_error_and_every_answer_is_charged_once() {
    let plan = LoadPlan { warm_up: 0, settle: 0, seconds: 30, rate: 25.0, ..LoadPlan::default() };
    let file = folder::scratch("load").unwrap().join("load.json");
    let report = load::run(&plan, &file).await.unwrap();
    println!(
        "{} checks, {:?}, cached p99 {:.0} ms, fresh p99 {:.0} ms",
        report.requests, report.statuses, report.cached_ms.p99, report.fresh_ms.p99
    );
    assert!(report.requests > 500, "{}", report.requests);
    assert_eq!(report.statuses.keys().copied().collect::<Vec<_>>(), [200]);
    assert_eq!((report.error_rate, report.counted), (0.0, report.charged));
    assert!(report.memory.len() >= 30, "{}", report.memory.len());
    assert!(report.memory.iter().all(|sample| sample.wasm_mb > 0.0 && sample.origin_mb > 0.0));
    assert!(file.exists());
}

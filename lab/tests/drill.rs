//! The short form of `make lab ONLY=drill` (docs/security.md, O6), for properties that hold on any machine. The
//! drill itself measures response times.

use rcpt_lab::drill::{self, DrillPlan};

#[tokio::test(flavor = "multi_thread")]
async fn origins_that_are_restarted_killed_and_hung_cost_no_wrong_charge() {
    let plan = DrillPlan { seconds: 9, rate: 12 };
    let row = drill::in_short(plan).await.unwrap();
    println!("{}", drill::table(std::slice::from_ref(&row)));
    let all: u64 = row.statuses.values().sum();
    assert_eq!(all, plan.seconds * u64::from(plan.rate));
    assert!(row.statuses.keys().all(|status| [200, 502].contains(status)), "{row:?}");
    assert_eq!(row.charged, row.counted, "{row:?}");
    // One of the two origins was always up. If the edge didn't try it, a quarter of all checks would fail.
    assert!(row.failed_share() < 0.1, "{row:?}");
}

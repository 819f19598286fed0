//! Hanging origins delay a scan by seconds only.

use std::{net::TcpListener, time::Duration};

use rcpt_tests::Stack;
use tokio::time::Instant;

use super::{ended, results, start};

/// Time limit of the scan: far below the 75 seconds that a batch may take.
const LIMIT: Duration = Duration::from_secs(50);

#[tokio::test]
async fn two_origins_that_hang_hold_up_a_scan_for_seconds() {
    // The system accepts connections to these ports, but nothing responds.
    let hung = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let stack = hung.iter().fold(Stack::builder(), |stack, hung| {
        stack.beside_origin(format!("http://{}", hung.local_addr().unwrap()))
    });
    let stack = stack.start().await;
    let account = stack.edge.account().await;
    stack.edge.set(&account.email, "plan = 'unlimited'").await;
    let domains = ["sandbox.test", "catchall.sandbox.test", "nomx.sandbox.test", "nodomain.test"];
    let list: Vec<_> = (0..200).map(|n| format!("accepts@{}", domains[n % 4])).collect();
    let started = Instant::now();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(start(&account, &list, false).await);
    }
    for id in ids {
        let scan = ended(&account, &id).await;
        assert_eq!(scan["state"], "completed");
        let all = results(&account, &id, 1_000).await;
        assert!(all.iter().step_by(4).all(|result| result["status"] == true), "{all:?}");
    }
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
}

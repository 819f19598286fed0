//! Greylisting is resolved: a scan retries when the server allows it (docs/security.md, S3).
//!
//! - S3: 30 addresses at Postfix with postgrey: 20 mailboxes end as `true`, ten unknown ones as `false`. A group that
//!   takes no mail from outside is `restricted`.

use std::time::Duration;

use rcpt_tests::{Postfix, Stack};
use serde_json::json;

use super::{assert_adds_up, ended, results, start, wait_for};

#[tokio::test]
async fn greylisted_mailboxes_of_a_real_server_come_out_true_or_false() {
    let postfix = Postfix::start(Duration::from_secs(2)).await.expect("Postfix");
    let stack = Stack::builder()
        .origin_env("RCPT_ROUTES", postfix.routes())
        .edge_var("SCAN_RETRY_SECONDS", "1,1,1")
        .start()
        .await;
    let ann = stack.edge.account().await;
    let list: Vec<_> = (0..30)
        .map(|n| match n % 3 {
            0 => format!("greylisted+{n}@postfix.test"),
            1 => format!("nobody+{n}@postfix.test"),
            _ => format!("known+{n}@postfix.test"),
        })
        .collect();
    let list: Vec<_> = list.into_iter().chain(["staff@postfix.test".to_owned()]).collect();
    let id = start(&ann, &list, true).await;
    wait_for(&ann, &id, |scan| scan["waiting"] != 0 || !scan["completed_at"].is_null()).await;
    let scan = ended(&ann, &id).await;
    let all = results(&ann, &id, 1_000).await;
    assert_adds_up(&scan, &all);
    let staff = all.last().expect("the last position");
    assert_eq!(
        [&staff["status"], &staff["reason"], &staff["verdict"], &staff["confidence"]],
        [&json!(false), &json!("restricted"), &json!("undeliverable"), &json!("medium")],
        "a closed group: {staff}"
    );
    for (n, result) in all.iter().enumerate().take(30) {
        assert_eq!(result["status"], n % 3 != 1, "{}: {result}", list[n]);
    }
    let again = stack.edge.sql("SELECT slot FROM scan_results WHERE round > 0", &[]).await;
    assert!(!again.is_empty(), "nothing was asked again");
}

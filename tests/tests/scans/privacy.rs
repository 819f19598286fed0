//! No checked address, no domain and no hash of an address is stored anywhere; in the queue, addresses are sealed
//! (docs/security.md, S2).
//!
//! - Scans of every kind; D1 and its files, KV, the cache, both logs, results and messages are searched.
//! - All operations together allow twenty comparisons of a part with a guess of all its addresses.

use std::{fs, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rcpt_tests::Stack;
use sha2::{Digest as _, Sha256};

use super::{ended, results, start};

const MARKER: &str = "marker-zebra";

/// Texts that would reveal an address: a word of it, and values computed from it without a
/// secret, or with the secret of the cache or of scans.
fn traces(address: &str, stack: &Stack) -> Vec<String> {
    let hash = Sha256::digest(address.as_bytes());
    let mut cached = stack.edge.key_ring("ADDRESS_SECRET").signing_mac();
    cached.update(b"verdict\0");
    cached.update(address.as_bytes());
    let secrets = stack.edge.key_ring("SCAN_SECRET");
    let mut plain = Hmac::<Sha256>::new_from_slice(secrets.signing().1).expect("any length");
    plain.update(address.as_bytes());
    vec![
        MARKER.to_owned(),
        hex(&hash),
        STANDARD_NO_PAD.encode(hash),
        hex(&cached.finalize().into_bytes()),
        hex(&plain.finalize().into_bytes()),
        STANDARD_NO_PAD.encode(MARKER),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn assert_clean(where_found: &str, text: &[u8], traces: &[String]) {
    let text = String::from_utf8_lossy(text).to_lowercase();
    for trace in traces {
        assert!(!text.contains(&trace.to_lowercase()), "{trace} is in {where_found}");
    }
}

fn files_below(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files_below(&path, files) } else { files.push(path) }
    }
}

#[tokio::test]
async fn nothing_of_an_address_is_kept_and_the_queue_cannot_be_read() {
    let stack = Stack::builder()
        .shimmed()
        .origin_env("RCPT_LOG_LEVEL", "trace")
        .edge_var("SCAN_RETRY_SECONDS", "1")
        .start()
        .await;
    let ann = stack.edge.account().await;
    let list: Vec<_> = [
        format!("accepts+{MARKER}-1@sandbox.test"),
        format!("rejects+{MARKER}-2@sandbox.test"),
        format!("greylisted+{MARKER}-3@sandbox.test"),
        format!("anyone@{MARKER}-4.catchall.sandbox.test"),
        format!("x@{MARKER}-5.nodomain.test"),
        format!("{MARKER}-6 is no address"),
        format!("accepts+{MARKER}-1@sandbox.test"),
    ]
    .into();
    let single = vec![format!("accepts+{MARKER}-7@sandbox.test")];
    stack.edge.set(&ann.email, "plan = 'pro'").await;
    stack.edge.counts().await;
    let mut answers = Vec::new();
    for list in [&list, &single] {
        let id = start(&ann, list, true).await;
        ended(&ann, &id).await;
        answers.push(results(&ann, &id, 100).await);
    }
    assert_eq!(answers[0].len(), list.len());
    let traces: Vec<_> =
        list.iter().chain(&single).flat_map(|address| traces(address, &stack)).collect();

    let messages = stack.edge.queue_messages().await;
    assert!(messages.len() >= 3, "one for each, and one that asks again: {messages:?}");
    for message in &messages {
        assert_clean("the queue", message.to_string().as_bytes(), &traces);
    }
    let counts = stack.edge.counts().await;
    assert_eq!((counts.kv_writes, counts.cache_writes), (0, 0), "no cache is used for scans");
    for (table, rows) in stack.edge.dump(&[]).await {
        assert_clean(&format!("table {table}"), rows.to_string().as_bytes(), &traces);
    }
    let parts = stack.edge.sql("SELECT mac FROM scan_parts ORDER BY length(mac)", &[]).await;
    assert_eq!(parts[0]["mac"], "", "of one address there is no MAC");
    assert_ne!(parts[1]["mac"], "");
    // The consumer logs its messages.
    stack.edge.process.wait_for_line("scan message").await;
    // The runtime removes the journal of a database that has been idle for ten seconds.
    stack.edge.process.kill();
    let mut files = Vec::new();
    files_below(&stack.edge.state(), &mut files);
    assert!(!files.is_empty());
    for file in files {
        let bytes = fs::read(&file).unwrap();
        assert_clean(&file.display().to_string(), &bytes, &traces);
    }
    assert_clean("the edge's log", stack.edge.process.log().as_bytes(), &traces);
    assert_clean("the origin's log", stack.origin.process.log().as_bytes(), &traces);
    for results in answers {
        assert_clean("results", serde_json::to_string(&results).unwrap().as_bytes(), &traces);
    }
}

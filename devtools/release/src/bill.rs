//! Bills of materials as cargo-cyclonedx writes them.

use anyhow::{Result, ensure};
use serde_json::Value;

/// Replaces the builder's folder by `/rcpt`, removes the random serial number, and sorts the members.
pub fn tidy(text: &str, folder: &str) -> Result<String> {
    let text = text.replace(&format!("path+file://{folder}"), "path+file:///rcpt");
    ensure!(!text.contains(folder), "names {folder}");
    let mut bill: Value = serde_json::from_str(&text)?;
    if let Some(members) = bill.as_object_mut() {
        members.remove("serialNumber");
    }
    bill.sort_all_objects();
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

#[test]
fn a_bill_is_the_same_wherever_and_however_often_it_is_written() {
    let bill = |folder: &str, number: u32| {
        let text = format!(
            r#"{{ "serialNumber": "{number}", "b": ["path+file://{folder}/edge#1.0.0"], "a": {{ "d": 1, "c": 2 }} }}"#
        );
        tidy(&text, folder).unwrap()
    };
    assert_eq!(bill("/home/ann/rcpt", 1), bill("/tmp/x", 2));
    let expected = r#"{
  "a": {
    "c": 2,
    "d": 1
  },
  "b": [
    "path+file:///rcpt/edge#1.0.0"
  ]
}
"#;
    assert_eq!(bill("/tmp/x", 3), expected);
    assert!(tidy(r#"{ "a": "/tmp/x/edge" }"#, "/tmp/x").is_err());
}

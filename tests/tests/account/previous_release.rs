//! Migrations run before the Worker is deployed, and a rollback doesn't revert them: the previous
//! release works with this release's schema (CONTRIBUTING.md, a new column).

use rcpt_tests::Edge;
use serde_json::{Value, json};

/// Names and texts of the statements, one on each line.
const STATEMENTS: &str = include_str!("previous_release.tsv");

/// Returns as many parameters as the statement names.
fn params(sql: &str) -> Vec<Value> {
    let numbers = sql.split('?').skip(1).map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().expect("a numbered parameter")
    });
    vec![json!(null); numbers.max().unwrap_or(0)]
}

#[tokio::test]
async fn the_statements_of_the_release_before_prepare_on_this_schema() {
    let edge = Edge::builder().start().await.unwrap();
    // A statement that prepares, so that the test can fail before there is a release.
    let own = "sample\tUPDATE accounts SET display_name = ?3 WHERE id = ?1 RETURNING email";
    let statements = STATEMENTS.lines().filter(|line| !line.starts_with('#'));
    for line in statements.chain([own]) {
        let (name, sql) = line.split_once('\t').unwrap();
        let explained = edge.try_sql(&format!("EXPLAIN {sql}"), &params(sql)).await;
        let explained = explained.unwrap_or_else(|error| panic!("{name}: {error:#}\n{sql}"));
        assert!(!explained.is_empty(), "{name}");
    }
    // A missing column or table is detected.
    for gone in ["SELECT gone FROM accounts", "DELETE FROM gone"] {
        assert!(edge.try_sql(&format!("EXPLAIN {gone}"), &[]).await.is_err(), "{gone}");
    }
}

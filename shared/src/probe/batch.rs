//! Messages of `POST /v1/probe/batch`, between edge and origin.

use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::Address;

/// Header of a batch: milliseconds until the edge stops reading the response; without the header,
/// a minute.
pub const WITHIN_HEADER: &str = "x-within-ms";

/// Header of a check or a batch: milliseconds until the caller takes what is known. The check goes on behind that
/// moment. Without the header, the caller waits for all of it.
pub const AWAITED_HEADER: &str = "x-awaited-ms";

pub const MAX_BATCH: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchRequest {
    pub addresses: Vec<Address>,
}

/// A line of the response to a batch. The response has a line for each address, in order of completion, and then the
/// closing line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BatchLine {
    Answer(BatchAnswer),
    NotAsked(NotAsked),
    End(BatchEnd),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotAsked {
    pub index: usize,
    /// Seconds after which another attempt makes sense.
    pub not_asked_retry_after: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchEnd {
    pub answered: usize,
    pub not_asked: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchAnswer {
    pub index: usize,
    pub verdict: Verdict,
}

#[cfg(test)]
mod tests {
    use super::{BatchAnswer, BatchEnd, BatchLine, BatchRequest, NotAsked, Verdict};
    use crate::{Reason, Stage, Status};

    #[test]
    fn a_line_of_a_batch_is_one_of_three() {
        let verdict = Verdict::new(Status::Accepted, Reason::Accepted, Stage::Rcpt);
        for (line, wire) in [
            (
                BatchLine::Answer(BatchAnswer { index: 1, verdict }),
                r#"{"index":1,"verdict":{"status":true,"reason":"accepted","stage":"rcpt"}}"#,
            ),
            (
                BatchLine::NotAsked(NotAsked { index: 2, not_asked_retry_after: 60 }),
                r#"{"index":2,"not_asked_retry_after":60}"#,
            ),
            (
                BatchLine::End(BatchEnd { answered: 1, not_asked: 1 }),
                r#"{"answered":1,"not_asked":1}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&line).unwrap(), wire);
            assert_eq!(serde_json::from_str::<BatchLine>(wire).unwrap(), line);
        }
    }

    #[test]
    fn a_batch_is_refused_for_one_bad_address() {
        let fine = r#"{"addresses":["a@example.org"]}"#;
        assert_eq!(serde_json::from_str::<BatchRequest>(fine).unwrap().addresses.len(), 1);
        for bad in [r#"{"addresses":["a"]}"#, r#"{"addresses":["a@b.c"],"more":1}"#] {
            assert!(serde_json::from_str::<BatchRequest>(bad).is_err(), "{bad}");
        }
    }
}

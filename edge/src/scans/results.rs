//! Stored results by position; they contain no part of an address or domain, and no text of a
//! server.

use rcpt_shared::{CatchAll, Confidence, Deliverability, Malformed, Status, Verdict};
use serde::{Deserialize, Serialize};

use crate::json;

/// The stored result of one position. A reader ignores unknown members.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredResult {
    /// Position within the part.
    #[serde(rename = "p")]
    pub position: u16,
    #[serde(rename = "s")]
    pub status: Status,
    /// Time of the next attempt in Unix seconds; absent if the verdict is final.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// The cells of [`COLUMNS`], comma-separated; empty without details.
    #[serde(rename = "e", default, skip_serializing_if = "String::is_empty")]
    evidence: String,
    /// The one-word verdict, unless the evidence or the status implies it.
    #[serde(rename = "v", default, skip_serializing_if = "Option::is_none")]
    word: Option<Deliverability>,
    /// Why the position holds no address; only with details. The text quotes at most one character of the input.
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl StoredResult {
    pub const fn new(position: u16, status: Status, due: Option<u64>) -> Self {
        Self { position, status, due, evidence: String::new(), word: None, problem: None }
    }

    pub fn of_verdict(position: u16, verdict: &Verdict, due: Option<u64>, details: bool) -> Self {
        let mut result = Self::new(position, verdict.status, due);
        if details {
            result.evidence = evidence(verdict);
        } else {
            result.word =
                Some(verdict.deliverability()).filter(|word| *word != by_status(verdict.status));
        }
        result
    }

    pub fn of_no_address(position: u16, malformed: &Malformed, details: bool) -> Self {
        let mut result = Self::new(position, Status::InvalidFormat, None);
        if details {
            result.evidence = MALFORMED.to_owned();
            result.problem = Some(malformed.problem());
        }
        result
    }

    pub fn moved(&self, position: u16, due: Option<u64>) -> Self {
        Self { position, due, ..self.clone() }
    }

    pub fn verdict(&self) -> Deliverability {
        let word_named =
            |name: &str| Deliverability::ALL.into_iter().find(|word| word.as_str() == name);
        let of_evidence =
            || self.cells().and_then(|cells| cells.first().copied().and_then(word_named));
        self.word.or_else(of_evidence).unwrap_or_else(|| by_status(self.status))
    }

    /// The cells of [`COLUMNS`]; `None` without details.
    pub fn cells(&self) -> Option<Vec<&str>> {
        (!self.evidence.is_empty()).then(|| self.evidence.split(',').collect())
    }
}

const MALFORMED: &str = "undeliverable,high,malformed,,,,unknown,false,false,false,";

/// Names of the stored fields next to the status, in storage order.
pub const COLUMNS: [&str; 11] = [
    "verdict",
    "confidence",
    "reason",
    "operator",
    "smtp_code",
    "enhanced_code",
    "catch_all",
    "disposable",
    "role_account",
    "free_provider",
    "retry_after",
];

/// Without details, the word is stored only where the status doesn't imply it.
const fn by_status(status: Status) -> Deliverability {
    match status {
        Status::Accepted => Deliverability::Deliverable,
        Status::Refused | Status::InvalidFormat | Status::DomainNotFound | Status::NoMxRecords => {
            Deliverability::Undeliverable
        }
        Status::SmtpConnectError
        | Status::SmtpTimeout
        | Status::BlockedByProvider
        | Status::FatalException => Deliverability::Unknown,
    }
}

fn evidence(verdict: &Verdict) -> String {
    let details = verdict.details.as_deref();
    let traits = details.map(|details| details.traits.clone()).unwrap_or_default();
    let text = |value: Option<String>| value.filter(|text| is_plain(text)).unwrap_or_default();
    let cells: [String; COLUMNS.len()] = [
        word(&verdict.deliverability()),
        word(&details.map_or(Confidence::None, |details| details.confidence)),
        verdict.reason.as_str().to_owned(),
        text(details.and_then(|details| details.operator.clone())),
        text(verdict.smtp_code.map(|code| code.to_string())),
        verdict.enhanced_code.clone().filter(|code| is_code(code)).unwrap_or_default(),
        word(&details.map_or(CatchAll::Unknown, |details| details.catch_all)),
        traits.disposable.to_string(),
        traits.role_account.to_string(),
        traits.free_provider.to_string(),
        text(verdict.retry_after.map(|seconds| seconds.to_string())),
    ];
    cells.join(",")
}

fn word(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    text.trim_matches('"').to_owned()
}

/// True for a text that is safe in CSV and JSON without escaping.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// True for at most 11 digits and dots: server text of any other kind isn't stored.
fn is_code(text: &str) -> bool {
    text.len() <= 11 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

pub fn to_text(results: &[StoredResult]) -> String {
    serde_json::to_string(results).unwrap_or_default()
}

/// Nothing for a damaged text.
pub fn from_text(text: &str) -> Vec<StoredResult> {
    json::read(text.as_bytes()).unwrap_or_default()
}

pub fn latest<'a>(
    rows: impl Iterator<Item = &'a str>,
    positions: usize,
) -> Vec<Option<StoredResult>> {
    let mut latest: Vec<Option<StoredResult>> = vec![None; positions];
    for result in rows.flat_map(from_text) {
        if let Some(entry) = latest.get_mut(usize::from(result.position)) {
            *entry = Some(result);
        }
    }
    latest
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{Deliverability, Details, Reason, Stage, Status, Traits, Verdict, read};

    use super::{COLUMNS, StoredResult, from_text, latest, to_text};

    #[test]
    fn nothing_of_a_verdict_that_could_name_the_address_is_kept() {
        let mut verdict = Verdict::new(Status::Refused, Reason::NoSuchMailbox, Stage::Rcpt);
        verdict.mx_host = Some("mx.marker.example".into());
        verdict.enhanced_code = Some("marker".into());
        let traits =
            Traits { suggested_domain: Some("marker.example".into()), ..Traits::default() };
        let details = Details::new(Some("no marker@marker.example here".into()), Some(true));
        verdict.details = Some(Box::new(Details { traits, ..details }));
        let result = StoredResult::of_verdict(1, &verdict, None, true);
        let text = to_text(std::slice::from_ref(&result));
        assert!(!text.contains("marker"), "{text}");
        assert_eq!(result.cells().unwrap().len(), COLUMNS.len());
        assert_eq!(from_text(&text), [result]);
    }

    #[test]
    fn the_last_round_says_what_holds() {
        let result = StoredResult::new;
        let first = to_text(&[
            result(0, Status::BlockedByProvider, Some(9)),
            result(2, Status::Refused, None),
        ]);
        let second =
            to_text(&[result(0, Status::Accepted, None), result(7, Status::Accepted, None)]);
        let latest = latest([first.as_str(), &second, "damaged"].into_iter(), 3);
        let statuses: Vec<_> =
            latest.iter().map(|result| result.as_ref().map(|k| k.status)).collect();
        assert_eq!(statuses, [Some(Status::Accepted), None, Some(Status::Refused)]);
    }

    #[test]
    fn the_verdict_in_one_word_is_kept_with_and_without_details() {
        for (status, reason, word) in [
            (Status::Accepted, Reason::Accepted, Deliverability::Deliverable),
            (Status::Accepted, Reason::AcceptedCatchAll, Deliverability::Risky),
            (Status::NoMxRecords, Reason::NoMx, Deliverability::Unknown),
            (Status::Refused, Reason::NoSuchMailbox, Deliverability::Undeliverable),
        ] {
            let mut verdict = Verdict::new(status, reason, Stage::Rcpt);
            verdict.details = Some(Box::new(Details { verdict: word, ..Details::new(None, None) }));
            for details in [false, true] {
                let result = StoredResult::of_verdict(0, &verdict, None, details);
                assert_eq!(
                    from_text(&to_text(&[result]))[0].verdict(),
                    word,
                    "{status:?} {details}"
                );
            }
        }
        let of_release_before = r#"[{"p":0,"s":true},{"p":1,"s":true,"e":"risky,low"}]"#;
        let words: Vec<_> =
            from_text(of_release_before).iter().map(StoredResult::verdict).collect();
        assert_eq!(words, [Deliverability::Deliverable, Deliverability::Risky]);
    }

    #[test]
    fn what_is_no_address_has_the_evidence_of_a_single_check() {
        let malformed = read("ann@@example.org").unwrap_err();
        let plain = StoredResult::of_no_address(3, &malformed, false);
        assert_eq!(to_text(&[plain]), r#"[{"p":3,"s":"invalid_format"}]"#);
        let result = StoredResult::of_no_address(3, &malformed, true);
        assert_eq!(result.cells().unwrap().len(), COLUMNS.len());
        assert_eq!(result.verdict(), Deliverability::Undeliverable);
        assert_eq!(
            result.problem.as_deref(),
            Some("There are 2 @ signs in it, and an address has one.")
        );
    }
}

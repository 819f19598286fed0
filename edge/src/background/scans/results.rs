//! Results as they are kept, by position: nothing of an address, a domain or a server's words.

use rcpt_shared::{CatchAll, Confidence, Deliverability, Status, Verdict};
use serde::{Deserialize, Serialize};

/// What is kept of one position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Position within the part.
    #[serde(rename = "p")]
    pub place: u16,
    #[serde(rename = "s")]
    pub status: Status,
    /// When it is asked again, unix seconds; absent where the verdict is final.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// The cells of [`COLUMNS`], comma-separated; empty without details.
    #[serde(rename = "e", default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
}

/// What a cell is in JSON; an empty one is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    Text,
    /// A number or a boolean.
    Bare,
}

/// What is kept of a verdict beside its status, in the order in which it is kept and told.
pub const COLUMNS: [(&str, Cell); 13] = [
    ("verdict", Cell::Text),
    ("confidence", Cell::Text),
    ("reason", Cell::Text),
    ("operator", Cell::Text),
    ("smtp_code", Cell::Bare),
    ("enhanced_code", Cell::Text),
    ("stage", Cell::Text),
    ("catch_all", Cell::Text),
    ("disposable", Cell::Bare),
    ("role_account", Cell::Bare),
    ("free_provider", Cell::Bare),
    ("retry_after", Cell::Bare),
    ("tls", Cell::Bare),
];

/// The cells of a verdict.
pub fn evidence(verdict: &Verdict) -> String {
    let details = verdict.details.as_deref();
    let traits = details.map(|details| details.traits.clone()).unwrap_or_default();
    let text = |value: Option<String>| value.filter(|text| is_plain(text)).unwrap_or_default();
    let cells: [String; COLUMNS.len()] = [
        word(&details.map_or(Deliverability::Unknown, |details| details.verdict)),
        word(&details.map_or(Confidence::None, |details| details.confidence)),
        verdict.reason.as_str().to_owned(),
        text(details.and_then(|details| details.operator.clone())),
        text(verdict.smtp_code.map(|code| code.to_string())),
        verdict.enhanced_code.clone().filter(|code| is_code(code)).unwrap_or_default(),
        word(&verdict.stage),
        word(&details.map_or(CatchAll::Unknown, |details| details.catch_all)),
        traits.disposable.to_string(),
        traits.role_account.to_string(),
        traits.free_provider.to_string(),
        text(verdict.retry_after.map(|seconds| seconds.to_string())),
        text(details.and_then(|details| details.tls).map(|tls| tls.to_string())),
    ];
    cells.join(",")
}

/// The name of an enumeration's value, as in JSON.
fn word(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    text.trim_matches('"').to_owned()
}

/// A name of ours: no comma that would be a cell's end, and nothing that JSON escapes.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Digits and points: nothing else that a server says is kept.
fn is_code(text: &str) -> bool {
    text.len() <= 11 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Numbers of verdicts by status, in the order of [`Status::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts(pub [u32; Status::ALL.len()]);

impl Counts {
    pub fn add(&mut self, status: Status, number: u32) {
        let all = Status::ALL.iter().zip(&mut self.0);
        for (_, count) in all.filter(|(other, _)| **other == status) {
            *count += number;
        }
    }

    pub fn sum(&self) -> u32 {
        self.0.iter().sum()
    }
}

/// The kept form of one message's results.
pub fn to_text(kept: &[Kept]) -> String {
    serde_json::to_string(kept).unwrap_or_default()
}

/// Reads [`to_text`]'s form; nothing of a text that is damaged.
pub fn from_text(text: &str) -> Vec<Kept> {
    serde_json::from_slice(text.as_bytes()).unwrap_or_default()
}

/// The last verdict of each place of a part, from its rows in the order of their rounds.
pub fn latest<'a>(rows: impl Iterator<Item = &'a str>, places: usize) -> Vec<Option<Kept>> {
    let mut latest: Vec<Option<Kept>> = vec![None; places];
    for kept in rows.flat_map(from_text) {
        if let Some(place) = latest.get_mut(usize::from(kept.place)) {
            *place = Some(kept);
        }
    }
    latest
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{Details, Reason, Stage, Status, Traits, Verdict};

    use super::{COLUMNS, Counts, Kept, evidence, from_text, latest, to_text};

    #[test]
    fn nothing_of_a_verdict_that_could_name_the_address_is_kept() {
        let mut verdict = Verdict::new(Status::Refused, Reason::NoSuchMailbox, Stage::Rcpt);
        verdict.mx_host = Some("mx.marker.example".into());
        verdict.enhanced_code = Some("marker".into());
        let traits =
            Traits { suggested_domain: Some("marker.example".into()), ..Traits::default() };
        let details = Details::new(Some("no marker@marker.example here".into()), Some(true));
        verdict.details = Some(Box::new(Details { traits, ..details }));
        let kept =
            Kept { place: 1, status: verdict.status, due: None, evidence: evidence(&verdict) };
        let text = to_text(std::slice::from_ref(&kept));
        assert!(!text.contains("marker"), "{text}");
        assert_eq!(kept.evidence.split(',').count(), COLUMNS.len());
        assert_eq!(from_text(&text), [kept]);
    }

    #[test]
    fn the_last_round_says_what_holds() {
        let kept = |place, status, due| Kept { place, status, due, evidence: String::new() };
        let first =
            to_text(&[kept(0, Status::BlockedByProvider, Some(9)), kept(2, Status::Refused, None)]);
        let second = to_text(&[kept(0, Status::Accepted, None), kept(7, Status::Accepted, None)]);
        let latest = latest([first.as_str(), &second, "damaged"].into_iter(), 3);
        let statuses: Vec<_> = latest.iter().map(|kept| kept.as_ref().map(|k| k.status)).collect();
        assert_eq!(statuses, [Some(Status::Accepted), None, Some(Status::Refused)]);
    }

    #[test]
    fn counts_are_by_status() {
        let mut counts = Counts::default();
        counts.add(Status::Refused, 2);
        counts.add(Status::FatalException, 1);
        assert_eq!((counts.0, counts.sum()), ([0, 2, 0, 0, 0, 0, 0, 0, 1], 3));
    }
}

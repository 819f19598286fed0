//! The wire types of `POST /v1/probe`, edge → origin.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Address, Reason, Status};

/// Body of `POST /v1/probe`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeRequest {
    pub address: Address,
    /// Whether the evidence beyond the verdict is wanted too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub details: bool,
}

/// Header of `POST /v1/probe` that holds [`CacheTimes`]. Without it the origin neither remembers a verdict nor
/// gives one again. It is no member of the body, since an origin refuses members that it does not know.
pub const REMEMBER_HEADER: &str = "x-remember";

/// How long a verdict may be given again, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheTimes {
    /// `true` and `false`.
    pub decided: u64,
    /// `domain_not_found` and `no_mx_records`.
    pub no_mail: u64,
    /// The other strings.
    pub undecided: u64,
}

/// Longer than anybody keeps a verdict, in seconds.
const MOST_REMEMBERED: u64 = 7 * 24 * 60 * 60;

impl fmt::Display for CacheTimes {
    /// The three times with `/` between them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.decided, self.no_mail, self.undecided)
    }
}

impl CacheTimes {
    /// Reads the three times; `None` for anything else and for more than a week.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut times = text.split('/').map(|time| time.parse().ok());
        let mut time = || times.next()?.filter(|time| *time <= MOST_REMEMBERED);
        let times_read = Self { decided: time()?, no_mail: time()?, undecided: time()? };
        times.next().is_none().then_some(times_read)
    }

    /// Seconds for which this status may be given again; none for a failure of ours.
    #[must_use]
    pub const fn of(&self, status: Status) -> Option<u64> {
        match status {
            Status::Accepted | Status::Refused => Some(self.decided),
            Status::DomainNotFound | Status::NoMxRecords => Some(self.no_mail),
            Status::SmtpConnectError | Status::SmtpTimeout | Status::BlockedByProvider => {
                Some(self.undecided)
            }
            // The format is checked before any memory is asked.
            Status::FatalException | Status::InvalidFormat => None,
        }
    }
}

/// Most addresses of one batch.
pub const MAX_BATCH: usize = 500;

/// Body of `POST /v1/probe/batch`: 1 to [`MAX_BATCH`] addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchRequest {
    pub addresses: Vec<Address>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub details: bool,
}

/// One line of the answer to a batch. There is one for each address, in order of completion, and then
/// the closing one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BatchLine {
    Answer(BatchAnswer),
    NotAsked(NotAsked),
    End(BatchEnd),
}

/// An address that could not be asked about in the batch's time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotAsked {
    /// Position of the address in the request, from 0.
    pub index: usize,
    /// Seconds after which it is worth asking again.
    pub not_asked_retry_after: u32,
}

/// The closing line: without it the answer was cut off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchEnd {
    pub answered: usize,
    pub not_asked: usize,
}

/// A verdict, as a line of the answer to a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchAnswer {
    /// Position of the address in the request, from 0.
    pub index: usize,
    pub verdict: Verdict,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Whether a domain takes mail for every recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchAll {
    Yes,
    No,
    Unknown,
}

impl CatchAll {
    pub const ALL: [Self; 3] = [Self::Yes, Self::No, Self::Unknown];

    /// The wire form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

/// How good the evidence for a verdict is (docs/verdicts.md).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The recipient was refused by name, or the server tells real recipients from invented ones, or
    /// DNS says that the domain takes no mail.
    High,
    /// Accepted at an operator that is known to refuse unknown recipients.
    Medium,
    /// Accepted where everything is accepted, or where it is not known whether everything is.
    Low,
    /// Nothing was said about the mailbox.
    #[default]
    None,
}

impl Confidence {
    pub const ALL: [Self; 4] = [Self::High, Self::Medium, Self::Low, Self::None];

    /// The wire form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::None => "none",
        }
    }
}

/// What to do with an address, for those who want one word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deliverability {
    Deliverable,
    Undeliverable,
    /// Accepted, with low confidence.
    Risky,
    #[default]
    Unknown,
}

impl Deliverability {
    pub const ALL: [Self; 4] = [Self::Deliverable, Self::Undeliverable, Self::Risky, Self::Unknown];

    /// The wire form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deliverable => "deliverable",
            Self::Undeliverable => "undeliverable",
            Self::Risky => "risky",
            Self::Unknown => "unknown",
        }
    }
}

/// What is known of an address without asking a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traits {
    /// The domain hands out throw-away addresses.
    pub disposable: bool,
    /// The local part names a function (RFC 2142) and not a person.
    pub role_account: bool,
    /// The domain gives addresses away for nothing.
    pub free_provider: bool,
    /// The domain that was probably meant, in place of a misspelt one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_domain: Option<String>,
}

/// The evidence that is given only when asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// What the server said, at most 512 characters, without our address and the checked one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smtp_text: Option<String>,
    pub catch_all: CatchAll,
    /// Whether the session was encrypted; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<bool>,
    /// Milliseconds from question to verdict.
    pub duration_ms: u64,
    /// An origin of before November 2026 does not say it.
    #[serde(default)]
    pub confidence: Confidence,
    /// Name of the operator of the mail host (`google`, `microsoft`, …), if it is a known one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// An origin of before November 2026 does not say it.
    #[serde(default)]
    pub verdict: Deliverability,
    #[serde(flatten)]
    pub traits: Traits,
}

impl Details {
    /// What a session showed; the rest is not known yet.
    #[must_use]
    pub const fn new(smtp_text: Option<String>, tls: Option<bool>) -> Self {
        Self {
            smtp_text,
            catch_all: CatchAll::Unknown,
            tls,
            duration_ms: 0,
            confidence: Confidence::None,
            operator: None,
            verdict: Deliverability::Unknown,
            traits: Traits {
                disposable: false,
                role_account: false,
                free_provider: false,
                suggested_domain: None,
            },
        }
    }
}

/// Where in the conversation the verdict was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Dns,
    Connect,
    Banner,
    Ehlo,
    StartTls,
    Mail,
    Rcpt,
}

impl Stage {
    pub const ALL: [Self; 7] = [
        Self::Dns,
        Self::Connect,
        Self::Banner,
        Self::Ehlo,
        Self::StartTls,
        Self::Mail,
        Self::Rcpt,
    ];

    /// The wire form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Banner => "banner",
            Self::Ehlo => "ehlo",
            Self::StartTls => "start_tls",
            Self::Mail => "mail",
            Self::Rcpt => "rcpt",
        }
    }
}

/// Answer of `POST /v1/probe`: the status with the evidence for it.
///
/// The server's own text is only in the [`Details`]: it may quote more than we can recognise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub status: Status,
    pub reason: Reason,
    pub stage: Stage,
    /// Name of the MX host that decided, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mx_host: Option<String>,
    /// Basic reply code (RFC 5321 §4.2), 200–599.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smtp_code: Option<u16>,
    /// Enhanced status code (RFC 3463), for example `5.1.1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enhanced_code: Option<String>,
    /// Seconds after which asking again may give another answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    /// The address was asked about so many seconds ago, and this is the verdict of then; absent on a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_before: Option<u64>,
    /// Present when the request asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Details>>,
}

impl Verdict {
    /// A verdict reached at `stage` without a reply to show for it.
    #[must_use]
    pub const fn new(status: Status, reason: Reason, stage: Stage) -> Self {
        Self {
            status,
            reason,
            stage,
            mx_host: None,
            smtp_code: None,
            enhanced_code: None,
            retry_after: None,
            seen_before: None,
            details: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Address, BatchAnswer, BatchEnd, BatchLine, BatchRequest, CacheTimes, CatchAll, Confidence,
        Deliverability, Details, NotAsked, ProbeRequest, Traits, Verdict,
    };
    use crate::{Reason, Stage, Status};

    #[test]
    fn the_names_are_the_wire_forms() {
        for stage in Stage::ALL {
            assert_eq!(serde_json::to_value(stage).unwrap(), stage.as_str());
        }
        for catch_all in CatchAll::ALL {
            assert_eq!(serde_json::to_value(catch_all).unwrap(), catch_all.as_str());
        }
        for confidence in Confidence::ALL {
            assert_eq!(serde_json::to_value(confidence).unwrap(), confidence.as_str());
        }
        for verdict in Deliverability::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
        }
    }

    #[test]
    fn without_details_the_wire_is_as_if_there_were_none() {
        let address = Address::parse("a@example.org").unwrap();
        let request = ProbeRequest { address, details: false };
        let wire = r#"{"address":"a@example.org"}"#;
        assert_eq!(serde_json::to_string(&request).unwrap(), wire);
        assert_eq!(serde_json::from_str::<ProbeRequest>(wire).unwrap(), request);

        let verdict = Verdict::new(Status::Accepted, Reason::Accepted, Stage::Rcpt);
        let wire = r#"{"status":true,"reason":"accepted","stage":"rcpt"}"#;
        assert_eq!(serde_json::to_string(&verdict).unwrap(), wire);
    }

    #[test]
    fn cache_times_read_back_as_written_and_nothing_else_does() {
        let times = CacheTimes { decided: 604_800, no_mail: 900, undecided: 0 };
        assert_eq!(times.to_string(), "604800/900/0");
        assert_eq!(CacheTimes::parse("604800/900/0"), Some(times));
        for wrong in ["", "1/2", "1/2/3/4", "1/2/-3", "1/2/x", "604801/0/0"] {
            assert_eq!(CacheTimes::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn details_read_back_as_written() {
        let details = Details {
            catch_all: CatchAll::No,
            duration_ms: 12,
            confidence: Confidence::High,
            operator: Some("google".to_owned()),
            verdict: Deliverability::Undeliverable,
            traits: Traits { suggested_domain: Some("gmail.com".to_owned()), ..Traits::default() },
            ..Details::new(Some("no such user".to_owned()), Some(true))
        };
        let mut verdict = Verdict::new(Status::Refused, Reason::NoSuchMailbox, Stage::Rcpt);
        verdict.details = Some(Box::new(details));
        let wire = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<Verdict>(&wire).unwrap(), verdict, "{wire}");
    }

    #[test]
    fn details_of_an_older_origin_say_nothing_of_confidence() {
        let wire = r#"{"catch_all":"no","duration_ms":1,"disposable":false,"role_account":false,
            "free_provider":false}"#;
        let details: Details = serde_json::from_str(wire).unwrap();
        assert_eq!(details.confidence, Confidence::None);
        assert_eq!(details.verdict, Deliverability::Unknown);
        assert_eq!(details.operator, None);
    }

    #[test]
    fn what_a_newer_origin_adds_is_passed_over() {
        let wire = r#"{"status":"blocked_by_provider","reason":"of_next_year","stage":"rcpt","new":1,
            "details":{"catch_all":"no","duration_ms":1,"disposable":false,"role_account":false,
            "free_provider":false,"confidence":"none","verdict":"unknown","new":[]}}"#;
        let verdict: Verdict = serde_json::from_str(wire).unwrap();
        assert_eq!(verdict.reason, Reason::Unclear);
    }

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
        let fine = r#"{"addresses":["a@example.org"],"details":true}"#;
        assert!(serde_json::from_str::<BatchRequest>(fine).unwrap().details);
        for bad in [r#"{"addresses":["a"]}"#, r#"{"addresses":["a@b.c"],"more":1}"#] {
            assert!(serde_json::from_str::<BatchRequest>(bad).is_err(), "{bad}");
        }
    }
}

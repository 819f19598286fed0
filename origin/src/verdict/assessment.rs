//! How much a verdict is worth: its confidence, and one word for what to do with the address.

use rcpt_shared::{CatchAll, Confidence, Deliverability, Reason, Stage, Status, Verdict};

/// What an acceptance at RCPT is worth at an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rcpt {
    /// It is known to refuse unknown recipients.
    Informative,
    /// It accepts every recipient, and refuses after DATA if at all: a control recipient would be spent
    /// for nothing.
    Uninformative,
    Unknown,
}

/// Operators that refuse unknown recipients at RCPT, each with a refusal in the corpus. A gateway is not
/// among them: what it knows is up to each of its customers.
const INFORMATIVE: &[&str] = &[
    "apple",
    "comcast",
    "fastmail",
    "free",
    "google",
    "italiaonline",
    "la_poste",
    "microsoft",
    "netease",
    "orange",
    "proton",
    "t_online",
    "tencent",
    "united_internet",
    "vk",
    "yandex",
    "zoho",
];

/// Yahoo and AOL, which share their hosts, answer 250 to every recipient (public reports since 2024).
const UNINFORMATIVE: &[&str] = &["yahoo"];

/// Whether the operator's answer to RCPT says something of the recipient, so that a control recipient may.
#[must_use]
pub fn rcpt_is_informative(operator: Option<&str>) -> bool {
    rcpt_at(operator) != Rcpt::Uninformative
}

fn rcpt_at(operator: Option<&str>) -> Rcpt {
    match operator {
        Some(name) if UNINFORMATIVE.contains(&name) => Rcpt::Uninformative,
        Some(name) if INFORMATIVE.contains(&name) => Rcpt::Informative,
        _ => Rcpt::Unknown,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assessment {
    /// That of the verdict, or a more exact one for an acceptance.
    pub reason: Reason,
    pub confidence: Confidence,
    pub verdict: Deliverability,
}

/// What `verdict` is worth. `catch_all` is what is known of the domain at its host: anything but unknown
/// means that a control recipient, or a refusal within the day, has told.
#[must_use]
pub fn assess(verdict: &Verdict, catch_all: CatchAll, operator: Option<&str>) -> Assessment {
    use {
        Confidence::{High, Low, Medium},
        Deliverability::{Deliverable, Risky, Undeliverable, Unknown},
    };
    let reason = verdict.reason;
    let (reason, confidence, told) = match verdict.status {
        Status::Accepted => match (catch_all, rcpt_at(operator)) {
            _ if reason == Reason::AcceptedCatchAll => (reason, Low, Risky),
            (CatchAll::Yes, _) => (Reason::AcceptedCatchAll, Low, Risky),
            (CatchAll::No, _) => (reason, High, Deliverable),
            (CatchAll::Unknown, Rcpt::Uninformative) => {
                (Reason::AcceptedByOperatorPolicy, Low, Risky)
            }
            (CatchAll::Unknown, Rcpt::Informative) => (reason, Medium, Deliverable),
            (CatchAll::Unknown, Rcpt::Unknown) => (reason, Low, Risky),
        },
        Status::Refused | Status::InvalidFormat | Status::DomainNotFound => {
            (reason, High, Undeliverable)
        }
        // An implicit MX that cannot be reached may be back tomorrow.
        Status::NoMxRecords if verdict.stage == Stage::Dns => (reason, High, Undeliverable),
        Status::NoMxRecords
        | Status::SmtpConnectError
        | Status::SmtpTimeout
        | Status::BlockedByProvider
        | Status::FatalException => (reason, Confidence::None, Unknown),
    };
    Assessment { reason, confidence, verdict: told }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{
        CatchAll::{self, No, Unknown, Yes},
        Confidence::{self, High, Low, Medium},
        Deliverability::{self, Deliverable, Risky, Undeliverable},
        Reason, Stage, Status, Verdict,
    };

    use super::{Assessment, INFORMATIVE, UNINFORMATIVE, assess, rcpt_is_informative};

    #[test]
    fn an_acceptance_is_worth_what_is_known_of_domain_and_operator() {
        type Row = (CatchAll, Option<&'static str>, Reason, Confidence, Deliverability);
        let rows: [Row; 10] = [
            (No, None, Reason::Accepted, High, Deliverable),
            (No, Some("google"), Reason::Accepted, High, Deliverable),
            (No, Some("yahoo"), Reason::Accepted, High, Deliverable),
            (Unknown, Some("google"), Reason::Accepted, Medium, Deliverable),
            (Unknown, Some("yahoo"), Reason::AcceptedByOperatorPolicy, Low, Risky),
            (Unknown, Some("mimecast"), Reason::Accepted, Low, Risky),
            (Unknown, None, Reason::Accepted, Low, Risky),
            (Yes, None, Reason::AcceptedCatchAll, Low, Risky),
            (Yes, Some("google"), Reason::AcceptedCatchAll, Low, Risky),
            (Yes, Some("yahoo"), Reason::AcceptedCatchAll, Low, Risky),
        ];
        for (catch_all, operator, reason, confidence, verdict) in rows {
            let accepted = Verdict::new(Status::Accepted, Reason::Accepted, Stage::Rcpt);
            let due = Assessment { reason, confidence, verdict };
            assert_eq!(assess(&accepted, catch_all, operator), due, "{catch_all:?} {operator:?}");
        }
        let told = Verdict::new(Status::Accepted, Reason::AcceptedCatchAll, Stage::Rcpt);
        assert_eq!(assess(&told, Unknown, Some("google")).verdict, Risky);
    }

    #[test]
    fn a_refusal_is_worth_as_much_as_who_says_no() {
        type Row = (Status, Reason, Stage, Confidence, Deliverability);
        let rows: [Row; 12] = [
            (Status::Refused, Reason::NoSuchMailbox, Stage::Rcpt, High, Undeliverable),
            (Status::Refused, Reason::MailboxDisabled, Stage::Rcpt, High, Undeliverable),
            (Status::Refused, Reason::MailboxFull, Stage::Rcpt, High, Undeliverable),
            (Status::Refused, Reason::DomainRefusesMail, Stage::Rcpt, High, Undeliverable),
            (Status::DomainNotFound, Reason::DomainNotFound, Stage::Dns, High, Undeliverable),
            (Status::NoMxRecords, Reason::NullMx, Stage::Dns, High, Undeliverable),
            (Status::NoMxRecords, Reason::NoMx, Stage::Dns, High, Undeliverable),
            (
                Status::NoMxRecords,
                Reason::NoMx,
                Stage::Connect,
                Confidence::None,
                Deliverability::Unknown,
            ),
            (
                Status::BlockedByProvider,
                Reason::Unclear,
                Stage::Rcpt,
                Confidence::None,
                Deliverability::Unknown,
            ),
            (
                Status::SmtpConnectError,
                Reason::NoUsableAddress,
                Stage::Dns,
                Confidence::None,
                Deliverability::Unknown,
            ),
            (
                Status::SmtpTimeout,
                Reason::Timeout,
                Stage::Rcpt,
                Confidence::None,
                Deliverability::Unknown,
            ),
            (
                Status::FatalException,
                Reason::OurLimit,
                Stage::Connect,
                Confidence::None,
                Deliverability::Unknown,
            ),
        ];
        for (status, reason, stage, confidence, verdict) in rows {
            let due = Assessment { reason, confidence, verdict };
            for catch_all in [Yes, No, Unknown] {
                let told = assess(&Verdict::new(status, reason, stage), catch_all, Some("yahoo"));
                assert_eq!(told, due, "{status:?} {reason:?} {catch_all:?}");
            }
        }
    }

    #[test]
    fn no_operator_is_in_both_tables() {
        for name in INFORMATIVE.iter().chain(UNINFORMATIVE) {
            assert!(INFORMATIVE.contains(name) != UNINFORMATIVE.contains(name), "{name}");
            assert_eq!(rcpt_is_informative(Some(name)), INFORMATIVE.contains(name), "{name}");
        }
        assert!(rcpt_is_informative(None));
    }
}

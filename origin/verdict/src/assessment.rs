//! Quality of a verdict: its confidence, and one word of advice about the address.

use rcpt_shared::{CatchAll, Confidence, Deliverability, Reason, Stage, Status, Verdict};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assessment {
    /// The verdict's reason, or a more precise reason for an acceptance.
    pub reason: Reason,
    pub confidence: Confidence,
    pub verdict: Deliverability,
}

/// Assesses `verdict`. `catch_all` is the knowledge about the domain at its host, from a control recipient or a refusal
/// within the last day. `informative` says whether the operator refuses unknown recipients at RCPT; `None` if that
/// isn't known.
#[must_use]
pub fn assess(verdict: &Verdict, catch_all: CatchAll, informative: Option<bool>) -> Assessment {
    use {
        Confidence::{High, Low, Medium},
        Deliverability::{Deliverable, Risky, Undeliverable, Unknown},
    };
    let reason = verdict.reason;
    // The conversation and DNS can give more precise facts than status and reason.
    let host_confidence =
        verdict.details.as_ref().map_or(Confidence::None, |details| details.confidence);
    let (reason, confidence, verdict) = match verdict.status {
        Status::Accepted => match (catch_all, informative) {
            _ if reason == Reason::AcceptedCatchAll => (reason, Low, Risky),
            (CatchAll::Yes, _) => (Reason::AcceptedCatchAll, Low, Risky),
            (CatchAll::No, _) => (reason, High, Deliverable),
            (CatchAll::Unknown, Some(false)) => (Reason::AcceptedByOperatorPolicy, Low, Risky),
            (CatchAll::Unknown, Some(true)) => (reason, Medium, Deliverable),
            (CatchAll::Unknown, None) => (reason, Low, Risky),
        },
        // Colleagues can still write to a restricted address.
        Status::Refused if host_confidence == Medium || reason == Reason::Restricted => {
            (reason, Medium, Undeliverable)
        }
        Status::Refused | Status::InvalidFormat | Status::DomainNotFound => {
            (reason, High, Undeliverable)
        }
        // Only at this stage: an implicit MX that is unreachable now may be reachable tomorrow.
        Status::NoMxRecords if verdict.stage == Stage::Dns => (reason, High, Undeliverable),
        // The domain gets no mail until its DNS or its server is changed.
        Status::SmtpConnectError
            if reason == Reason::NoUsableAddress && host_confidence == High =>
        {
            (reason, High, Undeliverable)
        }
        Status::SmtpConnectError
            if matches!(reason, Reason::NoUsableAddress | Reason::Smtputf8Unsupported) =>
        {
            (reason, Medium, Undeliverable)
        }
        Status::NoMxRecords
        | Status::SmtpConnectError
        | Status::SmtpTimeout
        | Status::BlockedByProvider
        | Status::FatalException => (reason, Confidence::None, Unknown),
    };
    Assessment { reason, confidence, verdict }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{
        CatchAll::{self, No, Unknown, Yes},
        Confidence::{self, High, Low, Medium},
        Deliverability::{self, Deliverable, Risky, Undeliverable},
        Details, Reason, Stage, Status, Verdict,
    };

    use super::{Assessment, assess};

    #[test]
    fn an_acceptance_is_worth_what_is_known_of_domain_and_operator() {
        type Row = (CatchAll, Option<bool>, Reason, Confidence, Deliverability);
        let rows: [Row; 9] = [
            (No, None, Reason::Accepted, High, Deliverable),
            (No, Some(true), Reason::Accepted, High, Deliverable),
            (No, Some(false), Reason::Accepted, High, Deliverable),
            (Unknown, Some(true), Reason::Accepted, Medium, Deliverable),
            (Unknown, Some(false), Reason::AcceptedByOperatorPolicy, Low, Risky),
            (Unknown, None, Reason::Accepted, Low, Risky),
            (Yes, None, Reason::AcceptedCatchAll, Low, Risky),
            (Yes, Some(true), Reason::AcceptedCatchAll, Low, Risky),
            (Yes, Some(false), Reason::AcceptedCatchAll, Low, Risky),
        ];
        for (catch_all, informative, reason, confidence, verdict) in rows {
            let accepted = Verdict::new(Status::Accepted, Reason::Accepted, Stage::Rcpt);
            let due = Assessment { reason, confidence, verdict };
            assert_eq!(
                assess(&accepted, catch_all, informative),
                due,
                "{catch_all:?} {informative:?}"
            );
        }
        let acceptance = Verdict::new(Status::Accepted, Reason::AcceptedCatchAll, Stage::Rcpt);
        assert_eq!(assess(&acceptance, Unknown, Some(true)).verdict, Risky);
    }

    #[test]
    fn what_the_dialogue_or_dns_knows_better_is_heeded() {
        for (status, reason, known) in [
            (Status::Refused, Reason::MailboxFull, Medium),
            (Status::SmtpConnectError, Reason::NoUsableAddress, High),
        ] {
            let mut verdict = Verdict::new(status, reason, Stage::Rcpt);
            let details = Details { confidence: known, ..Details::new(None, None) };
            verdict.details = Some(Box::new(details));
            let assessment = assess(&verdict, Unknown, None);
            assert_eq!(
                (assessment.reason, assessment.confidence, assessment.verdict),
                (reason, known, Undeliverable)
            );
        }
    }

    #[test]
    fn a_refusal_is_worth_as_much_as_who_says_no() {
        type Row = (Status, Reason, Stage, Confidence, Deliverability);
        let rows: [Row; 14] = [
            (Status::Refused, Reason::Restricted, Stage::Rcpt, Medium, Undeliverable),
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
            (Status::SmtpConnectError, Reason::NoUsableAddress, Stage::Dns, Medium, Undeliverable),
            (
                Status::SmtpConnectError,
                Reason::Smtputf8Unsupported,
                Stage::Ehlo,
                Medium,
                Undeliverable,
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
            for catch_all in [Yes, No, Unknown] {
                let assessment =
                    assess(&Verdict::new(status, reason, stage), catch_all, Some(false));
                let assessment = (assessment.reason, assessment.confidence, assessment.verdict);
                assert_eq!(
                    assessment,
                    (reason, confidence, verdict),
                    "{status:?} {reason:?} {catch_all:?}"
                );
            }
        }
    }

    #[test]
    fn a_host_without_mail_says_nothing_while_another_may_take_it() {
        let verdict =
            Verdict::new(Status::SmtpConnectError, Reason::DomainRefusesMail, Stage::Connect);
        assert_eq!(assess(&verdict, Unknown, None).verdict, Deliverability::Unknown);
    }
}

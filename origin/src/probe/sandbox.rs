//! Addresses of `sandbox.test`: what their mail server would reply is written here and judged like any other reply,
//! without a connection. A route for the domain comes before it.

use std::{future::pending, sync::Arc, time::Duration};

use rcpt_shared::{CatchAll, Details, Reason, Stage, Status, Verdict};
use tokio::time::sleep;

use super::{prober::Question, progress::Progress};
use crate::{smtp::Reply, verdict::judge};

/// `.test` is reserved (RFC 6761 §6.2), so no real domain is ever taken for it.
const DOMAIN: &str = "sandbox.test";
const HOST: &str = "mx.sandbox.test";

const UNKNOWN: &str = "550 5.1.1 No such user here";
const SLOW: Duration = Duration::from_secs(3);

/// The verdict of a sandbox address; `None` for all others.
pub(super) async fn verdict_of(question: Question<'_>, progress: &mut Progress) -> Option<Verdict> {
    let Question { address, details, .. } = question;
    let below = address.domain().strip_suffix(DOMAIN)?;
    let verdict = match below {
        "nomx." => Verdict::new(Status::NoMxRecords, Reason::NullMx, Stage::Dns),
        "down." => Verdict::new(Status::SmtpConnectError, Reason::ConnectionFailed, Stage::Connect),
        "catchall." => replied("250 2.1.5 Ok", details.then_some(CatchAll::Yes)),
        below if below.is_empty() || below.ends_with('.') => {
            let name = address.local_part().split('+').next().unwrap_or_default();
            match name {
                "slow" => sleep(SLOW).await,
                "timeout" => {
                    progress.mx_host = Some(Arc::from(HOST));
                    progress.stage = Stage::Rcpt;
                    pending().await
                }
                _ => {}
            }
            replied(reply_to(name), details.then_some(CatchAll::No))
        }
        // Another domain, which only ends with the same letters.
        _ => return None,
    };
    Some(verdict)
}

fn reply_to(name: &str) -> &'static str {
    match name {
        "accepts" | "slow" => "250 2.1.5 Ok",
        "disabled" => "550 5.2.1 This mailbox is disabled",
        "full" => "552 5.2.2 The mailbox is over its quota",
        "blocked" => "550 5.7.1 Your IP address is on our blocklist: blocked",
        "relay" => "554 5.7.1 Relay access denied",
        "greylisted" => "451 4.7.1 Greylisted, please try again in 300 seconds",
        "ratelimited" => "450 4.2.1 Too many messages, slow down",
        "unavailable" => "451 4.3.0 Temporary lookup failure",
        _ => UNKNOWN,
    }
}

/// `catch_all` is for those who want details, and told where the reply is about the recipient.
fn replied(line: &str, catch_all: Option<CatchAll>) -> Verdict {
    let Some(reply) = Reply::parse(&format!("{line}\r\n")) else {
        return Verdict::new(Status::SmtpConnectError, Reason::ProtocolError, Stage::Rcpt);
    };
    let verdict = judge(Stage::Rcpt, &reply).at(Stage::Rcpt, Some(&reply));
    let is_about_recipient = matches!(verdict.status, Status::Accepted | Status::Refused);
    let details = catch_all.map(|catch_all| {
        let said = line.splitn(3, ' ').nth(2).map(str::to_owned);
        let mut details = Details::new(said, None);
        if is_about_recipient {
            details.catch_all = catch_all;
        }
        Box::new(details)
    });
    Verdict { mx_host: Some(HOST.to_owned()), details, ..verdict }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcpt_shared::{Address, CatchAll, Stage, Status};
    use tokio::time::{Instant, timeout};

    use super::{
        super::{prober::Question, progress::Progress},
        verdict_of,
    };
    use crate::pool::Class;

    const BUDGET: Duration = Duration::from_secs(10);

    fn about(address: &Address) -> Question<'_> {
        let deadline = Instant::now() + BUDGET;
        Question {
            address,
            details: true,
            tenant: None,
            account: None,
            class: Class::Interactive,
            deadline,
        }
    }

    /// The table of docs/sandbox.md: addresses and their statuses.
    fn documented() -> Vec<(&'static str, &'static str)> {
        let text = include_str!("../../../docs/sandbox.md");
        let quoted = |cell: &'static str| cell.trim().trim_matches('`');
        text.lines()
            .filter(|line| line.starts_with("| `"))
            .map(|line| line.split('|').skip(1))
            .map(|mut cells| (quoted(cells.next().unwrap()), quoted(cells.next().unwrap())))
            .collect()
    }

    #[tokio::test(start_paused = true)]
    async fn every_documented_address_has_its_verdict_also_with_a_tag() {
        let table = documented();
        assert_eq!(table.len(), 15);
        for (address, status) in table {
            for address in [address.to_owned(), address.replace('@', "+tag@")] {
                let address = Address::parse(&address).unwrap();
                let mut progress = Progress::default();
                let answer = timeout(BUDGET, verdict_of(about(&address), &mut progress)).await;
                let told = match answer {
                    Ok(Some(verdict)) => verdict.status,
                    // DNS is asked, and `.test` has none.
                    Ok(None) => Status::DomainNotFound,
                    Err(_) => {
                        assert_eq!(progress.stage, Stage::Rcpt);
                        Status::SmtpTimeout
                    }
                };
                assert_eq!(told.as_str(), status, "{}", address.normal());
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn slow_takes_three_seconds_and_catch_all_says_so() {
        let address = |text| Address::parse(text).unwrap();
        let mut progress = Progress::default();
        let started = Instant::now();
        verdict_of(about(&address("slow@sandbox.test")), &mut progress).await.unwrap();
        assert_eq!(started.elapsed().as_secs(), 3);
        let verdict =
            verdict_of(about(&address("any@catchall.sandbox.test")), &mut progress).await.unwrap();
        assert_eq!(verdict.details.unwrap().catch_all, CatchAll::Yes);
        let verdict =
            verdict_of(about(&address("rejects@SANDBOX.test")), &mut progress).await.unwrap();
        assert_eq!(verdict.details.unwrap().smtp_text.as_deref(), Some("No such user here"));
        assert_eq!(verdict.enhanced_code.as_deref(), Some("5.1.1"));
    }

    #[tokio::test]
    async fn a_domain_that_ends_alike_is_another() {
        for address in ["a@notsandbox.test", "a@sandbox.test.example.org", "a@sandbox.example"] {
            let address = Address::parse(address).unwrap();
            assert!(verdict_of(about(&address), &mut Progress::default()).await.is_none());
        }
    }
}

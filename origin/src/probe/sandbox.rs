//! Addresses of the sandbox, answered without a connection: a reply of their mail server is judged like any other. A
//! route for the domain gives the replies instead, and only those.

use std::{future::pending, sync::Arc, time::Duration};

use rcpt_pool::Question;
use rcpt_shared::{
    Address, CatchAll, Details, Reason, Stage, Status, Traits, Verdict,
    sandbox::{Behaviour, DOMAIN, MX_HOST, SLOW_S, find},
};
use rcpt_smtp::Reply;
use rcpt_verdict::judge;
use tokio::time::sleep;

use super::progress::Progress;

const ACCEPTED: &str = "250 2.1.5 Ok";

/// The verdict of a sandbox address; `None` for all others, and where a server is to be asked.
pub(super) async fn verdict_of(
    question: &Question,
    has_server: bool,
    progress: &mut Progress,
) -> Option<Verdict> {
    let case = find(&question.address)?;
    if has_server && case.behaviour.is_by_server() {
        return None;
    }
    let catch_all = |told| question.details.then_some(told);
    Some(match case.behaviour {
        Behaviour::Reply(line) => replied(line, MX_HOST, catch_all(CatchAll::No)),
        Behaviour::SlowReply(line) => {
            sleep(Duration::from_secs(SLOW_S)).await;
            replied(line, MX_HOST, catch_all(CatchAll::No))
        }
        Behaviour::Silence => {
            progress.mx_host = Some(Arc::from(MX_HOST));
            progress.stage = Stage::Rcpt;
            pending().await
        }
        Behaviour::AcceptsAll => replied(ACCEPTED, MX_HOST, catch_all(CatchAll::Yes)),
        Behaviour::AcceptedBy(host) => replied(ACCEPTED, host, catch_all(CatchAll::Unknown)),
        Behaviour::Decided(stage) => Verdict {
            mx_host: (stage != Stage::Dns).then(|| MX_HOST.to_owned()),
            ..Verdict::new(case.status, case.reason, stage)
        },
        Behaviour::Http(_) => Verdict::new(case.status, case.reason, Stage::Connect),
    })
}

/// Traits that no list has for a domain under `.test`.
pub(super) fn traits_of(address: &Address, listed: Traits) -> Traits {
    let Some(case) = find(address) else { return listed };
    let (name, domain) = case.parts();
    let is_misspelt = case.reason == Reason::DomainNotFound && domain == "snadbox.test";
    Traits {
        disposable: listed.disposable || name == "disposable",
        free_provider: listed.free_provider || name == "free_provider",
        suggested_domain: is_misspelt.then(|| DOMAIN.to_owned()).or(listed.suggested_domain),
        ..listed
    }
}

/// `catch_all` is for those who want details, and told where the reply is about the recipient.
fn replied(line: &str, host: &str, catch_all: Option<CatchAll>) -> Verdict {
    let Some(reply) = Reply::parse(&format!("{line}\r\n")) else {
        return Verdict::new(Status::SmtpConnectError, Reason::ProtocolError, Stage::Rcpt);
    };
    let verdict = judge(Stage::Rcpt, &reply).at(Stage::Rcpt, Some(&reply));
    let is_about_recipient = matches!(verdict.status, Status::Accepted | Status::Refused);
    let details = catch_all.map(|catch_all| {
        let mut details = Details::new(text_of(line), None);
        if is_about_recipient {
            details.catch_all = catch_all;
        }
        Box::new(details)
    });
    Verdict { mx_host: Some(host.to_owned()), details, ..verdict }
}

/// What a reply says behind its codes.
fn text_of(line: &str) -> Option<String> {
    let (_, rest) = line.split_once(' ')?;
    let is_code = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    Some(
        rest.split_once(' ')
            .filter(|(word, _)| is_code(word))
            .map_or(rest, |(_, text)| text)
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcpt_pool::{Asker, Question, Wait};
    use rcpt_shared::{Address, CatchAll, Stage, Status, Traits, sandbox::CASES};
    use tokio::time::{Instant, timeout};

    use super::{super::progress::Progress, traits_of, verdict_of};

    const BUDGET: Duration = Duration::from_secs(10);

    fn about(address: &Address) -> Question {
        let wait = Wait::Interactive(Instant::now() + BUDGET);
        let address = address.clone();
        Question { address, details: true, asker: Asker::default(), wait }
    }

    #[tokio::test(start_paused = true)]
    async fn every_address_has_its_verdict_also_with_a_tag() {
        for case in &CASES {
            for address in [case.address.to_owned(), case.address.replace('@', "+tag@")] {
                let address = Address::parse(&address).unwrap();
                let mut progress = Progress::default();
                let question = about(&address);
                let asking = verdict_of(&question, false, &mut progress);
                let status = match timeout(BUDGET, asking).await {
                    Ok(verdict) => verdict.unwrap().status,
                    Err(_) => {
                        assert_eq!(progress.stage, Stage::Rcpt);
                        Status::SmtpTimeout
                    }
                };
                assert_eq!(status, case.status, "{}", address.normal());
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn where_there_is_a_server_it_gives_the_replies_and_the_table_everything_else() {
        for case in &CASES {
            let address = Address::parse(case.address).unwrap();
            let mut progress = Progress::default();
            let verdict = verdict_of(&about(&address), true, &mut progress).await;
            assert_eq!(verdict.is_none(), case.behaviour.is_by_server(), "{}", case.address);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn slow_takes_three_seconds_and_catch_all_says_so() {
        let address = |text| Address::parse(text).unwrap();
        let mut progress = Progress::default();
        let started = Instant::now();
        verdict_of(&about(&address("slow@sandbox.test")), false, &mut progress).await.unwrap();
        assert_eq!(started.elapsed().as_secs(), 3);
        let anyone = address("any@catchall.sandbox.test");
        let verdict = verdict_of(&about(&anyone), false, &mut progress).await.unwrap();
        assert_eq!(verdict.details.unwrap().catch_all, CatchAll::Yes);
        let nobody = address("rejects@SANDBOX.test");
        let verdict = verdict_of(&about(&nobody), false, &mut progress).await.unwrap();
        assert_eq!(verdict.details.unwrap().smtp_text.as_deref(), Some("No such user here"));
        assert_eq!(verdict.enhanced_code.as_deref(), Some("5.1.1"));
    }

    #[test]
    fn traits_belong_to_their_addresses_and_real_addresses_keep_their_own() {
        let traits = |text: &str| traits_of(&Address::parse(text).unwrap(), Traits::default());
        assert!(traits("disposable@sandbox.test").disposable);
        assert!(traits("free_provider+1@sandbox.test").free_provider);
        let meant = traits("accepts@snadbox.test").suggested_domain;
        assert_eq!(meant.as_deref(), Some("sandbox.test"));
        for plain in ["accepts@sandbox.test", "disposable@example.org", "x@nodomain.test"] {
            assert_eq!(traits(plain), Traits::default(), "{plain}");
        }
    }
}

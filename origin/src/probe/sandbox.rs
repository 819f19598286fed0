//! Sandbox addresses, answered without a connection: the fixed reply is judged like a real one. With a route for the
//! domain, the routed server gives the replies.

use std::{future::pending, sync::Arc, time::Duration};

use rcpt_pool::Question;
use rcpt_shared::{
    Address, CatchAll, Details, DomainFacts, DomainKind, Reason, Stage, Status, Verdict,
    sandbox::{Behaviour, DOMAIN, MISSPELT_DOMAIN, MX_HOST, SLOW_S, domain_facts, find},
};
use rcpt_smtp::Reply;
use rcpt_verdict::{Parties, judge};
use tokio::time::sleep;

use super::host_probe::Progress;

const ACCEPTED: &str = "250 2.1.5 Ok";

pub(super) async fn verdict_of(
    question: &Question,
    has_server: bool,
    progress: &mut Progress,
) -> Option<Verdict> {
    let case = find(&question.address)?;
    if has_server && case.behaviour.is_by_server() {
        return None;
    }
    Some(match case.behaviour {
        Behaviour::Reply(line) => replied(line, MX_HOST, CatchAll::No),
        Behaviour::SlowReply(line) => {
            sleep(Duration::from_secs(SLOW_S)).await;
            replied(line, MX_HOST, CatchAll::No)
        }
        Behaviour::Silence => {
            progress.mx_host = Some(Arc::from(MX_HOST));
            progress.stage = Stage::Rcpt;
            pending().await
        }
        Behaviour::AcceptsAll => replied(ACCEPTED, MX_HOST, CatchAll::Yes),
        Behaviour::AcceptedBy(host) => replied(ACCEPTED, host, CatchAll::Unknown),
        Behaviour::Decided(stage) => Verdict {
            mx_host: (stage != Stage::Dns).then(|| MX_HOST.to_owned()),
            ..Verdict::new(case.status, case.reason, stage)
        },
        Behaviour::Http(_) => Verdict::new(case.status, case.reason, Stage::Connect),
    })
}

pub(super) fn meant_by(domain: &str) -> Option<&'static str> {
    (domain == MISSPELT_DOMAIN).then_some(DOMAIN)
}

/// `None` outside the sandbox. An address named after a trait has that trait in every domain of the sandbox.
pub(super) fn facts_of(address: &Address) -> Option<DomainFacts> {
    let case = find(address)?;
    let mut facts = domain_facts(address.domain())?;
    match case.parts().0 {
        "disposable" => facts.kind = DomainKind::Disposable,
        "free_provider" => facts.kind = DomainKind::Provider,
        _ => {}
    }
    if matches!(case.status, Status::DomainNotFound | Status::NoMxRecords) {
        facts.accepts_mail = Some(false);
    } else if case.reason == Reason::DnsFailure {
        facts.accepts_mail = None;
    }
    Some(facts)
}

fn replied(line: &str, host: &str, catch_all: CatchAll) -> Verdict {
    let Some(reply) = Reply::parse(&format!("{line}\r\n")) else {
        return Verdict::new(Status::SmtpConnectError, Reason::ProtocolError, Stage::Rcpt);
    };
    let finding = judge(Stage::Rcpt, &reply, &Parties::default());
    let verdict = finding.at(Stage::Rcpt, Some(&reply));
    let is_about_recipient = matches!(verdict.status, Status::Accepted | Status::Refused);
    let mut details = Details::new(text_of(line), None);
    if is_about_recipient {
        details.catch_all = catch_all;
    }
    Verdict { mx_host: Some(host.to_owned()), details: Some(Box::new(details)), ..verdict }
}

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
    use rcpt_shared::{Address, CatchAll, DomainKind, Stage, Status, sandbox::CASES};
    use tokio::time::{Instant, timeout};

    use super::{super::host_probe::Progress, facts_of, meant_by, verdict_of};

    const BUDGET: Duration = Duration::from_secs(10);

    fn about(address: &Address) -> Question {
        let wait = Wait::Interactive(Instant::now() + BUDGET);
        let address = address.clone();
        Question { address, asker: Asker::default(), wait }
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
    fn facts_belong_to_the_sandbox_and_real_addresses_keep_their_own() {
        let facts = |text: &str| facts_of(&Address::parse(text).unwrap());
        let kind = |text: &str| facts(text).map(|facts| facts.kind);
        assert_eq!(kind("disposable@sandbox.test"), Some(DomainKind::Disposable));
        assert_eq!(kind("free_provider+1@sandbox.test"), Some(DomainKind::Provider));
        assert_eq!(kind("accepts@relay.sandbox.test"), Some(DomainKind::Relay));
        assert_eq!(kind("accepts@sandbox.test"), Some(DomainKind::Organization));
        assert_eq!(kind("disposable@example.org"), None);
        assert_eq!(facts("x@nodomain.test").unwrap().accepts_mail, Some(false));
        assert_eq!(meant_by("snadbox.test"), Some("sandbox.test"));
        assert_eq!(meant_by("sandbox.test"), None);
    }
}

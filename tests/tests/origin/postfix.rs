//! The verdicts of docs/verdicts.md against a real Postfix with a real greylisting policy (docs/security.md, P8).

use std::time::Duration;

use rcpt_shared::{
    Reason::{Accepted, Greylisted, MailboxFull, NoSuchMailbox, RelayDenied},
    Stage,
    Status::{self, BlockedByProvider, Refused},
};
use rcpt_tests::{Origin, Postfix, service::origin::gist};
use tokio::{sync::OnceCell, time::sleep};

const GREYLIST_DELAY: Duration = Duration::from_secs(2);

async fn postfix() -> &'static Postfix {
    static POSTFIX: OnceCell<Postfix> = OnceCell::const_new();
    POSTFIX.get_or_init(async || Postfix::start(GREYLIST_DELAY).await.expect("Postfix")).await
}

async fn origin() -> &'static Origin {
    static ORIGIN: OnceCell<Origin> = OnceCell::const_new();
    let start = async || {
        let routes = postfix().await.routes();
        Origin::builder().routes(&routes).start().await.expect("origin")
    };
    ORIGIN.get_or_init(start).await
}

#[tokio::test]
async fn a_mailbox_that_exists_is_true() {
    let verdict = origin().await.probe("known@postfix.test").await;
    let expected = (Status::Accepted, Accepted, Stage::Rcpt, Some(250), Some("2.1.5"));
    assert_eq!(gist(&verdict), expected);
}

#[tokio::test]
async fn a_mailbox_that_does_not_exist_is_false() {
    let verdict = origin().await.probe("nobody@postfix.test").await;
    let expected = (Refused, NoSuchMailbox, Stage::Rcpt, Some(550), Some("5.1.1"));
    assert_eq!(gist(&verdict), expected);
}

#[tokio::test]
async fn a_full_mailbox_is_false_for_now_and_for_good() {
    let full = origin().await.probe("full@postfix.test").await;
    assert_eq!(gist(&full), (Refused, MailboxFull, Stage::Rcpt, Some(552), Some("5.2.2")));
    let over_quota = origin().await.probe("over-quota@postfix.test").await;
    assert_eq!(gist(&over_quota), (Refused, MailboxFull, Stage::Rcpt, Some(452), Some("4.2.2")));
}

#[tokio::test]
async fn greylisting_is_not_a_statement_about_the_mailbox() {
    let verdict = origin().await.probe("greylisted-once@postfix.test").await;
    let expected = (BlockedByProvider, Greylisted, Stage::Rcpt, Some(450), Some("4.2.0"));
    assert_eq!(gist(&verdict), expected);
    assert!(verdict.retry_after.is_some(), "{verdict:?}");
}

#[tokio::test]
async fn a_greylisted_mailbox_is_true_once_the_delay_has_passed() {
    let origin = origin().await;
    let first = origin.probe("greylisted@postfix.test").await;
    assert_eq!((first.status, first.reason), (BlockedByProvider, Greylisted));
    sleep(GREYLIST_DELAY + Duration::from_secs(1)).await;
    let second = origin.probe("greylisted@postfix.test").await;
    assert_eq!((second.status, second.reason), (Status::Accepted, Accepted));
}

#[tokio::test]
async fn a_server_that_does_not_relay_says_nothing_about_the_mailbox() {
    let verdict = origin().await.probe("known@elsewhere.test").await;
    let expected = (BlockedByProvider, RelayDenied, Stage::Rcpt, Some(554), Some("5.7.1"));
    assert_eq!(gist(&verdict), expected);
}

#[tokio::test]
async fn a_server_that_demands_starttls_is_asked_over_tls() {
    let answer = origin().await.probe("known@tls-only.test").await;
    let accepted = (Status::Accepted, Accepted, Stage::Rcpt, Some(250), Some("2.1.5"));
    assert_eq!(gist(&answer), accepted);
    let nobody = origin().await.probe("nobody@tls-only.test").await;
    assert_eq!(gist(&nobody), (Refused, NoSuchMailbox, Stage::Rcpt, Some(550), Some("5.1.1")));
}

#[tokio::test]
async fn starttls_always_is_used_wherever_it_is_offered() {
    // A separate Postfix, whose log mustn't contain other TLS sessions.
    let mut postfix = Postfix::start(GREYLIST_DELAY).await.expect("Postfix");
    let origin = Origin::builder().routes(&postfix.routes());
    let on_demand = origin.clone().start().await.expect("origin");
    let always = origin.port(rcpt_tests::process::port::free()).env("RCPT_STARTTLS", "always");
    let always = always.start().await.expect("origin");

    assert_eq!(on_demand.probe("known@postfix.test").await.status, Status::Accepted);
    assert!(!postfix.process.log().contains("TLS connection established"));
    assert_eq!(always.probe("known@postfix.test").await.status, Status::Accepted);
    let wait = Duration::from_secs(60);
    postfix.process.wait_for_line("TLS connection established", wait).await.unwrap();
}

#[tokio::test]
async fn a_local_part_in_another_script_is_asked_with_smtputf8() {
    let verdict = origin().await.probe("δοκιμή@postfix.test").await;
    assert_eq!(gist(&verdict), (Refused, NoSuchMailbox, Stage::Rcpt, Some(550), Some("5.1.1")));
}

#[tokio::test]
async fn fifty_probes_at_once_each_get_the_verdict_of_their_own_address() {
    let origin = origin().await;
    let probes = (0..50).map(|n| async move {
        let name = if n % 2 == 0 { "known".to_owned() } else { format!("nobody-{n}") };
        (n, origin.probe(&format!("{name}@postfix.test")).await)
    });
    let mut tasks = tokio::task::JoinSet::new();
    for probe in probes {
        tasks.spawn(probe);
    }
    for (n, verdict) in tasks.join_all().await {
        let expected = if n % 2 == 0 { Status::Accepted } else { Refused };
        assert_eq!(verdict.status, expected, "{n}: {verdict:?}");
    }
}

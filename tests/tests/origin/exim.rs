//! The verdicts of docs/verdicts.md against a real Exim, whose replies have no enhanced codes (docs/security.md, P8).

use std::time::Duration;

use rcpt_shared::{
    Reason::{
        Accepted, Greylisted, MailboxDisabled, MailboxFull, NoSuchMailbox, RelayDenied, Restricted,
    },
    Stage,
    Status::{self, BlockedByProvider, Refused},
};
use rcpt_tests::{Exim, Origin, service::origin::gist};
use tokio::{sync::OnceCell, time::sleep};

const GREYLIST_DELAY: Duration = Duration::from_secs(2);

async fn exim() -> &'static Exim {
    static EXIM: OnceCell<Exim> = OnceCell::const_new();
    EXIM.get_or_init(async || Exim::start(GREYLIST_DELAY).await.expect("Exim")).await
}

async fn origin() -> &'static Origin {
    static ORIGIN: OnceCell<Origin> = OnceCell::const_new();
    let start = async || {
        let routes = exim().await.routes();
        Origin::builder().routes(&routes).start().await.expect("origin")
    };
    ORIGIN.get_or_init(start).await
}

#[tokio::test]
async fn a_mailbox_that_exists_is_true() {
    let verdict = origin().await.probe("known@exim.test").await;
    assert_eq!(gist(&verdict), (Status::Accepted, Accepted, Stage::Rcpt, Some(250), None));
}

#[tokio::test]
async fn a_mailbox_that_does_not_exist_is_false() {
    let verdict = origin().await.probe("nobody@exim.test").await;
    assert_eq!(gist(&verdict), (Refused, NoSuchMailbox, Stage::Rcpt, Some(550), None));
}

#[tokio::test]
async fn a_mailbox_that_is_over_quota_is_false() {
    let verdict = origin().await.probe("full@exim.test").await;
    assert_eq!(gist(&verdict), (Refused, MailboxFull, Stage::Rcpt, Some(550), None));
}

#[tokio::test]
async fn a_mailbox_that_an_alias_fails_as_disabled_is_false() {
    let verdict = origin().await.probe("retired@exim.test").await;
    assert_eq!(gist(&verdict), (Refused, MailboxDisabled, Stage::Rcpt, Some(550), None));
}

#[tokio::test]
async fn a_group_that_takes_no_mail_from_outside_is_false_and_restricted() {
    let verdict = origin().await.probe("staff@exim.test").await;
    assert_eq!(gist(&verdict), (Refused, Restricted, Stage::Rcpt, Some(550), Some("5.7.133")));
}

#[tokio::test]
async fn greylisting_is_not_a_statement_about_the_mailbox() {
    let verdict = origin().await.probe("greylisted-once@exim.test").await;
    assert_eq!(gist(&verdict), (BlockedByProvider, Greylisted, Stage::Rcpt, Some(451), None));
    assert!(verdict.retry_after.is_some(), "{verdict:?}");
}

#[tokio::test]
async fn a_greylisted_mailbox_is_true_once_the_delay_has_passed() {
    let origin = origin().await;
    let first = origin.probe("greylisted@exim.test").await;
    assert_eq!((first.status, first.reason), (BlockedByProvider, Greylisted));
    sleep(GREYLIST_DELAY + Duration::from_secs(1)).await;
    let second = origin.probe("greylisted@exim.test").await;
    assert_eq!((second.status, second.reason), (Status::Accepted, Accepted));
}

#[tokio::test]
async fn a_server_that_does_not_relay_says_nothing_about_the_mailbox() {
    let verdict = origin().await.probe("known@elsewhere.test").await;
    assert_eq!(gist(&verdict), (BlockedByProvider, RelayDenied, Stage::Rcpt, Some(550), None));
}

#[tokio::test]
async fn a_server_that_demands_starttls_is_asked_over_tls() {
    let answer = origin().await.probe("known@tls-only.exim.test").await;
    assert_eq!(gist(&answer), (Status::Accepted, Accepted, Stage::Rcpt, Some(250), None));
    let nobody = origin().await.probe("nobody@tls-only.exim.test").await;
    assert_eq!(gist(&nobody), (Refused, NoSuchMailbox, Stage::Rcpt, Some(550), None));
}

#[tokio::test]
async fn a_local_part_in_another_script_is_asked_with_smtputf8() {
    let verdict = origin().await.probe("δοκιμή@exim.test").await;
    assert_eq!(gist(&verdict), (Refused, NoSuchMailbox, Stage::Rcpt, Some(550), None));
}

#[tokio::test]
async fn the_next_address_in_a_warm_session_gets_its_own_verdict() {
    // The origin has a single session, so the next probe inherits the state that the previous probe left.
    let one_session = Origin::builder().routes(&exim().await.routes());
    let one_session = one_session.env("RCPT_OPERATOR_SESSIONS", "1").start().await.expect("origin");
    for (name, status) in [
        ("known", Status::Accepted),
        ("nobody", Refused),
        ("full", Refused),
        ("known", Status::Accepted),
    ] {
        let verdict = one_session.probe(&format!("{name}@exim.test")).await;
        assert_eq!(verdict.status, status, "{name}: {verdict:?}");
    }
}

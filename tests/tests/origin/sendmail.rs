//! The verdicts of docs/verdicts.md against a real Sendmail (docs/security.md, P8).

use rcpt_shared::{
    Reason::{
        Accepted, Greylisted, MailboxDisabled, MailboxFull, NoSuchMailbox, RelayDenied,
        Smtputf8Unsupported,
    },
    Stage,
    Status::{self, BlockedByProvider, Refused, SmtpConnectError},
};
use rcpt_tests::{
    Origin, Sendmail,
    servers::sendmail::{STRANGER, TLS_ONLY, TLS_ONLY_FOR_NOW},
    service::origin::gist,
};
use tokio::sync::OnceCell;

async fn sendmail() -> &'static Sendmail {
    static SENDMAIL: OnceCell<Sendmail> = OnceCell::const_new();
    SENDMAIL.get_or_init(async || Sendmail::start().await.expect("Sendmail")).await
}

/// An origin that connects from `source`.
async fn origin_at(source: &str) -> Origin {
    let origin = Origin::builder().routes(&sendmail().await.routes());
    origin.env("RCPT_SOURCE_ADDRESSES", source).start().await.expect("origin")
}

async fn origin() -> &'static Origin {
    static ORIGIN: OnceCell<Origin> = OnceCell::const_new();
    ORIGIN.get_or_init(async || origin_at(STRANGER).await).await
}

#[tokio::test]
async fn a_mailbox_that_exists_is_true() {
    let verdict = origin().await.probe("known@sendmail.test").await;
    let expected = (Status::Accepted, Accepted, Stage::Rcpt, Some(250), Some("2.1.5"));
    assert_eq!(gist(&verdict), expected);
}

#[tokio::test]
async fn a_mailbox_that_does_not_exist_is_false() {
    let verdict = origin().await.probe("nobody@sendmail.test").await;
    let expected = (Refused, NoSuchMailbox, Stage::Rcpt, Some(550), Some("5.1.1"));
    assert_eq!(gist(&verdict), expected);
}

#[tokio::test]
async fn a_full_and_a_disabled_mailbox_are_false() {
    let full = origin().await.probe("full@sendmail.test").await;
    assert_eq!(gist(&full), (Refused, MailboxFull, Stage::Rcpt, Some(552), Some("5.2.2")));
    let retired = origin().await.probe("retired@sendmail.test").await;
    assert_eq!(gist(&retired), (Refused, MailboxDisabled, Stage::Rcpt, Some(550), Some("5.2.1")));
}

#[tokio::test]
async fn greylisting_is_not_a_statement_about_the_mailbox() {
    let verdict = origin().await.probe("greylisted@sendmail.test").await;
    let expected = (BlockedByProvider, Greylisted, Stage::Rcpt, Some(451), Some("4.7.1"));
    assert_eq!(gist(&verdict), expected);
    assert!(verdict.retry_after.is_some(), "{verdict:?}");
}

#[tokio::test]
async fn a_server_that_does_not_relay_says_nothing_about_the_mailbox() {
    let verdict = origin().await.probe("known@elsewhere.test").await;
    let expected = (BlockedByProvider, RelayDenied, Stage::Rcpt, Some(550), Some("5.7.1"));
    assert_eq!(gist(&verdict), expected);
}

#[tokio::test]
async fn a_server_that_finds_the_encryption_too_weak_is_asked_over_tls() {
    for source in [TLS_ONLY, TLS_ONLY_FOR_NOW] {
        let origin = origin_at(source).await;
        let answer = origin.probe("known@sendmail.test").await;
        let accepted = (Status::Accepted, Accepted, Stage::Rcpt, Some(250), Some("2.1.5"));
        assert_eq!(gist(&answer), accepted, "{source}");
        let nobody = origin.probe("nobody@sendmail.test").await;
        let refused = (Refused, NoSuchMailbox, Stage::Rcpt, Some(550), Some("5.1.1"));
        assert_eq!(gist(&nobody), refused, "{source}");
    }
}

#[tokio::test]
async fn a_local_part_in_another_script_cannot_be_asked_without_smtputf8() {
    let verdict = origin().await.probe("δοκιμή@sendmail.test").await;
    assert_eq!((verdict.status, verdict.reason), (SmtpConnectError, Smtputf8Unsupported));
}

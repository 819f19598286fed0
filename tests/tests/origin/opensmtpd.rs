//! The verdicts of docs/verdicts.md against a real OpenSMTPD, which offers neither PIPELINING nor SMTPUTF8
//! (docs/security.md, P8).

use rcpt_shared::{
    Reason::{
        Accepted, Greylisted, MailboxDisabled, MailboxFull, NoSuchMailbox, ProtocolError,
        Smtputf8Unsupported,
    },
    Stage,
    Status::{self, BlockedByProvider, Refused, SmtpConnectError},
    Verdict,
};
use rcpt_tests::{OpenSmtpd, Origin, service::origin::gist};
use tokio::sync::OnceCell;

async fn opensmtpd() -> &'static OpenSmtpd {
    static OPENSMTPD: OnceCell<OpenSmtpd> = OnceCell::const_new();
    OPENSMTPD.get_or_init(async || OpenSmtpd::start().await.expect("OpenSMTPD")).await
}

async fn origin() -> &'static Origin {
    static ORIGIN: OnceCell<Origin> = OnceCell::const_new();
    let start = async || {
        let routes = opensmtpd().await.routes();
        Origin::builder().routes(&routes).start().await.expect("origin")
    };
    ORIGIN.get_or_init(start).await
}

#[tokio::test]
async fn a_mailbox_that_exists_is_true() {
    let verdict = origin().await.probe("known@opensmtpd.test").await;
    let expected = (Status::Accepted, Accepted, Stage::Rcpt, Some(250), Some("2.1.5"));
    assert_eq!(gist(&verdict), expected);
}

#[tokio::test]
async fn a_mailbox_that_does_not_exist_is_false() {
    // "Mailing list expansion problem" is OpenSMTPD's text for an address that is missing in its table.
    let verdict = origin().await.probe("nobody@opensmtpd.test").await;
    let expected = (Refused, NoSuchMailbox, Stage::Rcpt, Some(524), Some("5.2.4"));
    assert_eq!(gist(&verdict), expected);
}

#[tokio::test]
async fn a_domain_that_it_takes_no_mail_for_is_false_since_it_calls_the_recipient_invalid() {
    // Only OpenSMTPD uses this text, also for a system mailbox that doesn't exist.
    let verdict = origin().await.probe("known@elsewhere.test").await;
    assert_eq!(gist(&verdict), (Refused, NoSuchMailbox, Stage::Rcpt, Some(550), None));
}

#[tokio::test]
async fn a_full_and_a_disabled_mailbox_are_false() {
    let full = origin().await.probe("full@opensmtpd.test").await;
    assert_eq!(gist(&full), (Refused, MailboxFull, Stage::Rcpt, Some(452), Some("4.2.2")));
    let retired = origin().await.probe("retired@opensmtpd.test").await;
    assert_eq!(gist(&retired), (Refused, MailboxDisabled, Stage::Rcpt, Some(550), Some("5.2.1")));
}

#[tokio::test]
async fn greylisting_is_not_a_statement_about_the_mailbox() {
    let verdict = origin().await.probe("greylisted@opensmtpd.test").await;
    let expected = (BlockedByProvider, Greylisted, Stage::Rcpt, Some(451), Some("4.7.1"));
    assert_eq!(gist(&verdict), expected);
    assert!(verdict.retry_after.is_some(), "{verdict:?}");
}

#[tokio::test]
async fn a_server_that_demands_starttls_and_fails_at_it_cannot_be_asked() {
    // Debian 12's build can't find its private key under OpenSSL 3 (OpenSMTPD issues 1171 and
    // 1239).
    let verdict = origin().await.probe("known@tls-only.opensmtpd.test").await;
    let Verdict { status, reason, stage, .. } = verdict;
    assert_eq!((status, reason, stage), (SmtpConnectError, ProtocolError, Stage::StartTls));
}

#[tokio::test]
async fn a_handshake_that_fails_is_retried_in_the_clear_where_tls_was_not_demanded() {
    let always = Origin::builder().routes(&opensmtpd().await.routes());
    let always = always.env("RCPT_STARTTLS", "always").start().await.expect("origin");
    let verdict = always.probe("known@opensmtpd.test").await;
    let expected = (Status::Accepted, Accepted, Stage::Rcpt, Some(250), Some("2.1.5"));
    assert_eq!(gist(&verdict), expected);
}

#[tokio::test]
async fn a_local_part_in_another_script_cannot_be_asked_without_smtputf8() {
    let verdict = origin().await.probe("δοκιμή@opensmtpd.test").await;
    assert_eq!((verdict.status, verdict.reason), (SmtpConnectError, Smtputf8Unsupported));
}

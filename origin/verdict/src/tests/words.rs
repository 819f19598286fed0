//! Effect of the tables' phrases on a refusal at RCPT, in any context.

use rcpt_shared::{Stage, Status};
use rcpt_smtp::Reply;

use super::judge;
use crate::{
    languages::LANGUAGES,
    phrases::{Meaning, idioms, phrases},
};

fn status(reply: &str) -> Status {
    let parsed = Reply::parse(&format!("{reply}\r\n"));
    judge(Stage::Rcpt, &parsed.unwrap_or_else(|| panic!("not a reply: {reply}"))).status
}

fn words(meanings: &[Meaning]) -> Vec<&'static str> {
    let rows = phrases().chain(idioms()).filter(|row| meanings.contains(&row.meaning));
    rows.map(|row| row.text.trim()).collect()
}

const UNMISTAKABLE: [Meaning; 7] = [
    Meaning::DomainRule,
    Meaning::ReverseDns,
    Meaning::Relay,
    Meaning::Rate,
    Meaning::OurAddress,
    Meaning::Client,
    Meaning::Encryption,
];
const CODES: [u16; 10] = [500, 504, 521, 550, 551, 552, 553, 554, 556, 571];

#[test]
fn words_about_us_and_no_mailbox_are_no_verdict_on_the_mailbox_under_any_code() {
    let mut about_us = words(&UNMISTAKABLE);
    about_us.extend(words(&[Meaning::Policy, Meaning::Sender]));
    for text in about_us {
        for code in CODES {
            for enhanced in
                ["", "5.0.0 ", "5.1.0 ", "5.1.1 ", "5.1.2 ", "5.2.1 ", "5.2.2 ", "5.4.1 "]
            {
                let reply = format!("{code} {enhanced}sorry: {text} .");
                assert_ne!(status(&reply), Status::Refused, "{reply}");
            }
        }
    }
}

#[test]
fn words_about_us_win_over_words_about_the_recipient() {
    for text in words(&UNMISTAKABLE) {
        for recipient in ["user unknown", "mailbox full", "account disabled", "no such domain"] {
            for reply in [format!("550 {recipient}, {text} ."), format!("556 {text} : {recipient}")]
            {
                assert_ne!(status(&reply), Status::Refused, "{reply}");
            }
        }
    }
}

#[test]
fn words_of_sending_or_of_the_moment_are_no_verdict_on_the_mailbox_unless_a_code_says_so() {
    use Meaning::{Greylisting, MessageSize, Outage, Sending, Trouble, TryLater};
    for text in words(&[Greylisting, MessageSize, Outage, Sending, Trouble, TryLater]) {
        for code in [550, 551, 553, 554] {
            let reply = format!("{code} sorry, {text} .");
            assert_ne!(status(&reply), Status::Refused, "{reply}");
        }
    }
}

#[test]
fn words_about_the_recipient_win_over_words_of_sending() {
    for text in words(&[Meaning::Sending]) {
        for recipient in ["user unknown", "account disabled"] {
            let reply = format!("550 {recipient} , {text} .");
            assert_eq!(status(&reply), Status::Refused, "{reply}");
        }
    }
}

#[test]
fn words_about_the_recipient_alone_are_a_no() {
    use Meaning::{Disabled, Domain, MailboxFull, Recipient};
    for text in words(&[Disabled, Domain, MailboxFull, Recipient]) {
        let reply = format!("550 {text}");
        assert_eq!(status(&reply), Status::Refused, "{reply}");
    }
    for text in words(&[Meaning::Quota]) {
        let reply = format!("552 {text}");
        assert_eq!(status(&reply), Status::Refused, "{reply}");
        assert_ne!(status(&format!("550 the {text} limit")), Status::Refused, "{text}");
    }
}

#[test]
fn wordings_that_stand_in_no_corpus_are_read_by_what_they_speak_of() {
    for refusal_of_us in [
        "550 Missing reverse-DNS entry for 192.0.2.1",
        "550 No reverse entry for 192.0.2.1",
        "550 Rejected, no reverse record",
        "550 Dynamic addresses not accepted here",
        "550 Host 192.0.2.1 in bl.example.org",
        "550 Hostname mismatch",
        "550 Access refused",
        "550 Country not accepted",
        "550 Forbidden",
        "550 Policy Rejection: Quota exceeded.",
        "550 Sender quota exceeded",
        "452 Sender quota exceeded",
        "452 4.2.2 Too many messages from your IP, quota exceeded",
        "550 Rejected, see <https://www.spamhaus.org/query/ip/192.0.2.1>",
        "550 <<< Blocked by RBL >>>",
        "550 5.1.1 <a@b>: Recipient address rejected: unverified address: Address verification in progress",
        "550 message sending for this account is disabled",
        "551 Main account unavailable",
        "556 The number of RCPTs is over size",
        "500 Unknown user command",
        "500 user unknown or bad password",
        "504 Your account is disabled",
        "501 Bad recipient address syntax",
        "550 The user does not accept email in non-Western (non-Latin) character sets.",
        "550 5.5.0 Les emails envoyes vers la messagerie laposte.net ont ete bloques par nos services",
    ] {
        assert_ne!(status(refusal_of_us), Status::Refused, "{refusal_of_us}");
    }
    for refusal_of_the_recipient in [
        "550-Callout verification failed:\r\n550 550 No Such User Here",
        "550 Unknown mailbox, message rejected",
        "550 User is not known on this mail server",
        "550 There is no account with that name on this mail server",
        "550 Recipient could not be found; message refused",
        "550 no valid recipients for your message",
        "550 The recipient cannot be verified. Please check all recipients of this message",
        "550 This mailbox is no longer in use. Please update your records",
        "550 This user is suspended at this time",
        "550 5.1.1 User unknown in domain dailynews.example",
        "551 not our user",
        "550 ann is not accepting any mail",
        "550 Ann no longer works at Example",
        "550 No such ID",
        "550 recipient unrecognized",
        "500 No such user",
        "504 Mailbox is disabled",
        "550 User not found:ann@example.org",
        "550 5.5.0 Le compte du destinataire est bloque. The recipient account is blocked. LPN007_426",
    ] {
        assert_eq!(status(refusal_of_the_recipient), Status::Refused, "{refusal_of_the_recipient}");
    }
}

/// Contexts for a phrase: words of no table, as in a reply in an unknown language.
const UNKNOWN: [&str; 4] =
    ["{}", "kielletty {} tapahtuma", "Recipient address rejected: ei {}", "Přístup odepřen: {}!"];
const BARE: [&str; 11] =
    ["500", "504", "521", "550", "551", "552", "553", "554", "571", "550 5.0.0", "550 5.1.0"];

fn each_reply(phrase: &str) -> impl Iterator<Item = String> {
    let phrase = phrase.trim_end_matches('*').to_owned();
    BARE.into_iter().flat_map(move |code| {
        let phrase = phrase.clone();
        UNKNOWN.into_iter().map(move |around| format!("{code} {}", around.replace("{}", &phrase)))
    })
}

#[test]
fn no_word_for_a_mailbox_or_for_absence_alone_is_a_no() {
    for language in LANGUAGES.iter() {
        let columns = [
            &language.recipient,
            &language.address,
            &language.missing,
            &language.unavailable,
            &language.disabled,
            &language.full,
        ];
        // Some words for absence contain the word for a mailbox, such as `kein Benutzer`.
        let nouns: Vec<_> = language.recipient.iter().chain(&language.address).collect();
        let alone = |word: &&String| {
            let holds = |noun: &&String| {
                word.to_lowercase().contains(noun.trim_end_matches('*').to_lowercase().as_str())
            };
            !nouns.iter().any(|noun| *noun != *word && holds(noun))
        };
        for word in columns.into_iter().flatten().filter(alone) {
            // 552 and a quota without other words are about storage, and `Recipient address rejected: not found` names
            // the mailbox.
            let around = |reply: &str| ["kielletty", "odepřen"].iter().any(|it| reply.contains(it));
            let says_whose = |reply: &String| {
                let quota_alone = language.full.contains(word) && !around(reply);
                reply.starts_with("552") || reply.contains("rejected") || quota_alone
            };
            for reply in each_reply(word).filter(|reply| !says_whose(reply)) {
                assert_ne!(status(&reply), Status::Refused, "{reply}");
            }
        }
    }
}

#[test]
fn no_word_about_us_inside_unknown_text_is_a_no_in_any_language() {
    let mut count = 0;
    for language in LANGUAGES.iter() {
        let columns = [
            &language.us,
            &language.encryption,
            &language.sender,
            &language.refusal,
            &language.sending,
            &language.later,
            &language.outage,
        ];
        for reply in columns.into_iter().flatten().flat_map(|word| each_reply(word)) {
            count += 1;
            assert_ne!(status(&reply), Status::Refused, "{reply}");
        }
    }
    use Meaning::{
        Greylisting, MessageSize, NoDomain, Outage, Policy, Sender, Sending, Trouble, TryLater,
    };
    let mut about_us = words(&UNMISTAKABLE);
    about_us.extend(words(&[Policy, Sender, Sending, Greylisting, TryLater, Trouble, Outage]));
    about_us.extend(words(&[MessageSize, NoDomain]));
    for reply in about_us.into_iter().flat_map(each_reply) {
        count += 1;
        assert_ne!(status(&reply), Status::Refused, "{reply}");
    }
    assert!(count > 20_000, "{count}");
}

#[test]
fn a_word_about_us_outweighs_a_missing_mailbox_in_any_language() {
    for language in LANGUAGES.iter() {
        let (Some(noun), Some(missing)) = (language.recipient.first(), language.missing.first())
        else {
            panic!("a language without words")
        };
        let gone = format!("{noun} {missing}").replace('*', "");
        assert_eq!(status(&format!("550 {gone}")), Status::Refused, "{gone}");
        for word in [&language.us, &language.encryption, &language.sender, &language.refusal]
            .into_iter()
            .flatten()
        {
            for code in ["500", "504", "521", "550", "551", "552", "553", "554", "571", "550 5.7.1"]
            {
                let reply = format!("{code} {gone}, {}.", word.replace('*', ""));
                assert_ne!(status(&reply), Status::Refused, "{reply}");
            }
        }
    }
}

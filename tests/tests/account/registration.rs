//! Registration: the callers and passwords that are allowed, and the emails (docs/account-api.md).

use rcpt_tests::{Mail, people::PASSWORD};
use serde_json::json;

use crate::{
    answers::{
        OTHER_PASSWORD, assert_credentials, error, invalid_credentials, invalid_token, mail,
        registered,
    },
    edge,
};

#[tokio::test]
async fn registering_answers_201_and_mails_a_link_to_the_portal() {
    let edge = edge().await;
    let email = edge.new_email();
    let reply = edge.anonymous().register(&email, PASSWORD).await;
    assert_eq!(reply.parts(), (201, &registered(&email)));
    let mail = mail(&email, 1).await;
    assert_eq!(mail.from, "\"rcpt\" <rcpt@rcpt-tests.net>");
    assert_eq!(mail.subject, "Confirm your email address");
    let token = mail.token().expect("a token");
    assert_eq!(mail.link(), Some(format!("{}/verify?token={token}", edge.url).as_str()));
    assert_eq!(token.len(), 43, "256 bits of base64url");
    assert!(!mail.text.contains(PASSWORD));
    let named = |table: &str| format!("{table} WHERE email = '{email}'");
    assert_eq!(edge.count(&named("registrations")).await, 1);
    assert_eq!(edge.count(&named("accounts")).await, 0, "who isn't confirmed isn't an account");
    assert_eq!(edge.count(&named("directory")).await, 0, "and stands in nobody's way");
    assert_eq!(edge.mailbox().mails_to(&email).len(), 1);
}

#[tokio::test]
async fn registering_again_before_confirmation_replaces_the_password_and_the_link() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let (email, first) = edge.registered().await;
    let reply = anonymous.register(&email, OTHER_PASSWORD).await;
    assert_eq!(reply.parts(), (201, &registered(&email)));
    let second = mail(&email, 2).await;
    assert_eq!(second.subject, first.subject);
    assert_ne!(second.token(), first.token());

    let reply = anonymous.verify_email(first.token().unwrap()).await;
    assert_eq!(reply.parts(), (400, &invalid_token()), "the old link");
    let reply = anonymous.verify_email(second.token().unwrap()).await;
    assert_credentials(&anonymous, &reply, &email);
    let reply = anonymous.login(&email, PASSWORD).await;
    assert_eq!(reply.parts(), (401, &invalid_credentials()), "the old password");
    let reply = anonymous.login(&email, OTHER_PASSWORD).await;
    assert_credentials(&anonymous, &reply, &email);
}

#[tokio::test]
async fn registering_a_confirmed_address_answers_the_same_changes_nothing_and_mails_a_notice() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let account = edge.account().await;
    let before = edge.row(&account.email, "*").await;
    let reply = anonymous.register(&account.email, OTHER_PASSWORD).await;
    assert_eq!(reply.parts(), (201, &registered(&account.email)));
    assert_eq!(edge.row(&account.email, "*").await, before);

    let notice = mail(&account.email, 2).await;
    assert_eq!(notice.subject, "You already have an account");
    assert_eq!(notice.token(), None);
    let sign_in = format!("{}/sign-in", edge.url);
    assert_eq!(notice.link(), Some(sign_in.as_str()));
    let reply = anonymous.login(&account.email, OTHER_PASSWORD).await;
    assert_eq!(reply.parts(), (401, &invalid_credentials()));
    assert_credentials(
        &anonymous,
        &anonymous.login(&account.email, PASSWORD).await,
        &account.email,
    );
    assert_eq!(account.quota().await.status, 200, "the key still works");
}

#[tokio::test]
async fn registering_a_deactivated_address_answers_the_same_and_opens_nothing() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let account = edge.account().await;
    edge.set(&account.email, "state = 'deactivated'").await;
    let reply = anonymous.register(&account.email, OTHER_PASSWORD).await;
    assert_eq!(reply.parts(), (201, &registered(&account.email)));
    assert_eq!(mail(&account.email, 2).await.token(), None);
    assert_eq!(edge.row(&account.email, "state").await, json!({ "state": "deactivated" }));
}

#[tokio::test]
async fn addresses_that_differ_by_case_are_one_account() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let (email, first) = edge.registered().await;
    let upper = email.to_uppercase();
    let reply = anonymous.register(&upper, OTHER_PASSWORD).await;
    assert_eq!(reply.parts(), (201, &registered(&upper)), "the address as it was typed");
    let reply = anonymous.verify_email(first.token().unwrap()).await;
    assert_eq!(reply.parts(), (400, &invalid_token()), "replaced");
    let second = mail(&upper, 1).await;
    let confirmed = anonymous.verify_email(second.token().unwrap()).await;
    let account = assert_credentials(&anonymous, &confirmed, &upper);
    for spelling in [&email, &upper] {
        let reply = anonymous.login(spelling, OTHER_PASSWORD).await;
        assert_eq!(assert_credentials(&anonymous, &reply, &upper).api_key, account.api_key);
    }
}

#[tokio::test]
async fn what_is_not_an_address_cannot_register() {
    let anonymous = edge().await.anonymous();
    let long = format!("{}@rcpt-tests.net", "a".repeat(300));
    for (email, reason) in [
        ("", "There is nothing in it."),
        ("plain", "There is no @ in it."),
        ("a@b@rcpt-tests.net", "There are 2 @ signs in it, and an address has one."),
        ("Name <name@rcpt-tests.net>", "Angle brackets aren't part of an address: leave them out."),
        (" name@rcpt-tests.net", "There is a space in it."),
        ("name@rcpt-tests.net\r\nBcc: x@rcpt-tests.net", "There is a line break in it."),
        ("name\r\n@rcpt-tests.net", "There is a line break in it."),
        (&long, "The part before the @ is too long: 300 bytes, and at most 64 are allowed."),
        ("name@rcpt-tests.net ", "There is a space in it."),
        ("name@rcpt-tests.net\u{200e}", "There is an invisible character after the @."),
        ("na\u{200b}me@rcpt-tests.net", "There is an invisible character before the @."),
        ("name@", "There is nothing after the @."),
        ("name@127.0.0.1", "There is an IP number after the @, and no domain."),
    ] {
        let reply = anonymous.register(email, PASSWORD).await;
        let expected = error("invalid_email", &format!("This isn't an email address. {reason}"));
        assert_eq!(reply.parts(), (400, &expected), "{email:?}");
    }
}

#[tokio::test]
async fn a_password_has_8_to_128_characters_and_is_not_the_address() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let email = edge.new_email();
    let [short, long] = ["x7-".repeat(2) + "x", "x7-y".repeat(32) + "z"];
    let length = "The password must have 8 to 128 characters.";
    let address = "The password must not be the email address or a part of it.";
    let cases = [
        ("", length),
        (short.as_str(), length),
        (&long, length),
        ("ψυχή", length),
        (&email, address),
        (&email.to_uppercase(), address),
    ];
    for (password, detail) in cases {
        let reply = anonymous.register(&email, password).await;
        assert_eq!(reply.parts(), (400, &error("invalid_password", detail)), "{password}");
    }
    assert_eq!(edge.mailbox().mails_to(&email), [] as [Mail; 0]);
    let [shortest, longest] = ["x7-y".repeat(2), "x7-ψ".repeat(32)];
    for password in [&shortest, &longest] {
        let reply = anonymous.register(&edge.new_email(), password).await;
        assert_eq!(reply.status, 201, "{password}: {}", reply.body);
    }
}

#[tokio::test]
async fn a_password_is_checked_exactly_as_it_was_sent() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let email = edge.new_email();
    let password = "  Ψυχή 🗝 with\tspaces ";
    assert_eq!(anonymous.register(&email, password).await.status, 201);
    let token = mail(&email, 1).await.token().unwrap().to_owned();
    assert_credentials(&anonymous, &anonymous.verify_email(&token).await, &email);
    for wrong in [password.trim(), &password.to_lowercase(), &password.replace('\t', " ")] {
        let reply = anonymous.login(&email, wrong).await;
        assert_eq!(reply.parts(), (401, &invalid_credentials()), "{wrong:?}");
    }
    assert_credentials(&anonymous, &anonymous.login(&email, password).await, &email);
}

// --- confirmation

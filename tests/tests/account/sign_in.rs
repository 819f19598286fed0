//! Registration, confirmation and sign-in (interface §2.2, §2.3, §3, §4.2–§4.4).

use rcpt_tests::{
    Account, Anonymous, Edge, Mail, Reply,
    people::{PASSWORD, send},
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{sync::OnceCell, task::JoinSet};

const OTHER_PASSWORD: &str = "another-anchor-12-harbour";

async fn edge() -> &'static Edge {
    static EDGE: OnceCell<Edge> = OnceCell::const_new();
    EDGE.get_or_init(async || Edge::builder().start().await.unwrap()).await
}

fn registered(email: &str) -> Value {
    json!({
        "email": email,
        "verification_required": true,
        "message": "Check your email: open the link in it within 24 hours to confirm your address.",
    })
}

fn error(code: &str, detail: &str) -> Value {
    json!({ "detail": detail, "code": code })
}

fn invalid_token() -> Value {
    error(
        "invalid_token",
        "This confirmation link is not valid. It may have been used, replaced by a newer one, or \
         expired. Register again to get a new link.",
    )
}

fn invalid_credentials() -> Value {
    error("invalid_credentials", "The email address or the password is wrong.")
}

fn unconfirmed() -> Value {
    error("unconfirmed", "Confirm your email address first: open the link we mailed to you.")
}

async fn mail(email: &str, nth: usize) -> Mail {
    edge().await.mailbox().wait_for_nth_mail(email, nth).await.unwrap()
}

/// Session credentials, exactly: the three members, with an API key and a JWT of the right shape.
fn assert_credentials(anonymous: &Anonymous, reply: &Reply, email: &str) -> Account {
    let account = Account::from_credentials(anonymous, PASSWORD, reply);
    let members: Vec<_> = reply.body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["api_key", "email", "token"]);
    assert_eq!(account.email, email);
    assert!(account.api_key.starts_with("rcpt_live_") && account.api_key.len() == 55);
    assert_eq!(account.token.split('.').count(), 3);
    account
}

// --- registration

#[tokio::test]
async fn registering_answers_201_and_mails_a_link_to_the_portal() {
    let edge = edge().await;
    let email = edge.new_email();
    let reply = edge.anonymous().register(&email, PASSWORD).await;
    assert_eq!(reply.parts(), (201, &registered(&email)));
    let mail = mail(&email, 1).await;
    assert_eq!(mail.from, "rcpt@rcpt-tests.net");
    assert_eq!(mail.subject, "Confirm your email address");
    let token = mail.token().expect("a token");
    assert_eq!(mail.link(), Some(format!("{}/verify?token={token}", edge.url).as_str()));
    assert_eq!(token.len(), 43, "256 bits of base64url");
    assert!(!mail.text.contains(PASSWORD));
    let row = edge.row(&email, "state, welcome_left, confirmed_at").await;
    let expected = json!({ "state": "unconfirmed", "welcome_left": 0, "confirmed_at": null });
    assert_eq!(row, expected);
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
    let no_at = "there is no `@` between a local part and a domain";
    let local = "the local part is not a dot-atom or a quoted string of at most 64 octets";
    let domain = "the domain is not a host name of labels of at most 63 octets";
    for (email, reason) in [
        ("", no_at),
        ("plain", no_at),
        ("a@b@rcpt-tests.net", local),
        ("Name <name@rcpt-tests.net>", local),
        (" name@rcpt-tests.net", local),
        ("name@rcpt-tests.net\r\nBcc: x@rcpt-tests.net", local),
        ("name\r\n@rcpt-tests.net", local),
        (&long, local),
        ("name@rcpt-tests.net ", domain),
        ("name@", domain),
        ("name@127.0.0.1", domain),
    ] {
        let reply = anonymous.register(email, PASSWORD).await;
        let expected = error("invalid_email", &format!("This is not an email address: {reason}."));
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

#[tokio::test]
async fn confirming_signs_in_and_grants_the_welcome_checks_once() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let (email, mail) = edge.registered().await;
    let token = mail.token().unwrap();
    let reply = anonymous.verify_email(token).await;
    let account = assert_credentials(&anonymous, &reply, &email);
    assert_eq!(account.get("/me/quota").await.status, 200, "the session works");
    assert_eq!(account.email_checks().await.welcome_left, 50, "the key works");
    let row = edge.row(&email, "state").await;
    assert_eq!(row, json!({ "state": "confirmed" }));

    let reply = anonymous.verify_email(token).await;
    assert_eq!(reply.parts(), (400, &invalid_token()), "used");
    assert_eq!(account.email_checks().await.welcome_left, 50);
}

#[tokio::test]
async fn unknown_tampered_and_expired_tokens_get_the_answer_of_used_ones() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let (email, mail) = edge.registered().await;
    let token = mail.token().unwrap();
    let flipped = if token.starts_with('A') { 'B' } else { 'A' };
    let tampered = format!("{flipped}{}", token.split_at(1).1);
    let (shorter, _) = token.split_at(token.len() - 1);
    let longer = format!("{token}A");
    let padded = format!("{token}=");
    let spaced = format!(" {token}");
    let unknown = "A".repeat(43);
    for (presented, why) in [
        ("", "empty"),
        ("junk", "junk"),
        (&unknown, "unknown"),
        (&tampered, "tampered"),
        (shorter, "shorter"),
        (&longer, "longer"),
        (&padded, "padded"),
        (&spaced, "spaced"),
    ] {
        let reply = anonymous.verify_email(presented).await;
        assert_eq!(reply.parts(), (400, &invalid_token()), "{why}");
    }
    let tokens = "account_id = (SELECT id FROM accounts WHERE email = ?)";
    let stored = edge
        .sql(&format!("SELECT hash FROM mailed_tokens WHERE {tokens}"), &[email.as_str().into()])
        .await;
    let [stored] = &stored[..] else { panic!("{stored:?}") };
    let reply = anonymous.verify_email(stored["hash"].as_str().unwrap()).await;
    assert_eq!(reply.parts(), (400, &invalid_token()), "what is stored opens nothing");

    let expire = format!("UPDATE mailed_tokens SET expires_at = expires_at - 86400 WHERE {tokens}");
    edge.sql(&expire, &[email.as_str().into()]).await;
    let reply = anonymous.verify_email(token).await;
    assert_eq!(reply.parts(), (400, &invalid_token()), "24 hours later");
    assert_eq!(edge.row(&email, "state").await, json!({ "state": "unconfirmed" }));
}

#[tokio::test]
async fn a_link_is_valid_for_24_hours() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let (email, mail) = edge.registered().await;
    let sql = "SELECT t.expires_at - a.created_at AS lifetime
               FROM mailed_tokens t JOIN accounts a ON a.id = t.account_id WHERE a.email = ?";
    let rows = edge.sql(sql, &[email.as_str().into()]).await;
    assert_eq!(rows, [json!({ "lifetime": 86_400 })]);
    // A minute before its end it still works.
    let almost = "UPDATE mailed_tokens SET expires_at = expires_at - 86340
                  WHERE account_id = (SELECT id FROM accounts WHERE email = ?)";
    edge.sql(almost, &[email.as_str().into()]).await;
    assert_credentials(&anonymous, &anonymous.verify_email(mail.token().unwrap()).await, &email);
}

#[tokio::test]
async fn following_the_link_consumes_nothing() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let (email, mail) = edge.registered().await;
    let token = mail.token().unwrap();
    let client = reqwest::Client::new();
    for _ in 0..20 {
        let page = send(client.get(mail.link().unwrap())).await;
        assert_eq!(page.status, 200);
        let path = format!("/auth/verify-email?token={token}");
        for method in [Method::GET, Method::HEAD] {
            let reply = send(anonymous.request(method, &path)).await;
            assert_eq!((reply.status, reply.header("allow")), (405, "POST"));
        }
    }
    // A POST whose token is not in the body is not a confirmation either.
    let path = format!("/auth/verify-email?token={token}");
    let reply = anonymous.post(&path, &json!({})).await;
    assert_eq!(reply.status, 400);
    assert_credentials(&anonymous, &anonymous.verify_email(token).await, &email);
}

#[tokio::test]
async fn of_a_hundred_uses_of_a_link_at_once_exactly_one_succeeds() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let (email, mail) = edge.registered().await;
    let mut uses = JoinSet::new();
    for _ in 0..100 {
        let (anonymous, token) = (anonymous.clone(), mail.token().unwrap().to_owned());
        uses.spawn(async move { anonymous.verify_email(&token).await });
    }
    let (taken, refused): (Vec<_>, Vec<_>) =
        uses.join_all().await.into_iter().partition(|reply| reply.status == 200);
    assert_eq!((taken.len(), refused.len()), (1, 99));
    for reply in &taken {
        assert_credentials(&anonymous, reply, &email);
    }
    for reply in refused {
        assert_eq!(reply.parts(), (400, &invalid_token()));
    }
    assert_eq!(edge.row(&email, "welcome_left").await, json!({ "welcome_left": 50 }));
}

// --- sign-in

#[tokio::test]
async fn signing_in_gives_a_new_session_and_the_same_key() {
    let edge = edge().await;
    let account = edge.account().await;
    let anonymous = edge.anonymous();
    let replies = [
        anonymous.login(&account.email, PASSWORD).await,
        anonymous.login(&account.email, PASSWORD).await,
    ];
    let [first, second] =
        replies.each_ref().map(|reply| assert_credentials(&anonymous, reply, &account.email));
    assert_eq!([&first.api_key, &second.api_key], [&account.api_key; 2]);
    assert!(first.token != second.token && first.token != account.token);
    for signed_in in [first, second, account] {
        assert_eq!(signed_in.get("/me/quota").await.status, 200, "all sessions go on");
    }
}

#[tokio::test]
async fn a_code_is_not_needed_without_two_factor_authentication_and_must_be_a_string() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let account = edge.account().await;
    let login = async |code: Value| {
        let body = json!({ "email": account.email, "password": PASSWORD, "totp_code": code });
        anonymous.post("/auth/login", &body).await
    };
    assert_credentials(&anonymous, &login(json!("123456")).await, &account.email);
    assert_credentials(&anonymous, &login(Value::Null).await, &account.email);
    let reply = login(json!(123_456)).await;
    assert_eq!((reply.status, &reply.body["code"]), (400, &json!("invalid_body")));
}

#[tokio::test]
async fn an_unknown_address_and_a_wrong_password_get_the_same_answer() {
    let edge = edge().await;
    let account = edge.account().await;
    let (unconfirmed_email, _) = edge.registered().await;
    let closed = edge.account().await;
    edge.set(&closed.email, "state = 'deactivated'").await;
    let (unknown, wrong) = (edge.new_email(), "wrong-anchor-00-quarry");
    for (email, password) in [
        (unknown.as_str(), PASSWORD),
        (&account.email, wrong),
        (&account.email, ""),
        (&account.email, &PASSWORD.to_uppercase()),
        (&unconfirmed_email, wrong),
        (&closed.email, wrong),
        ("no address", PASSWORD),
        ("", ""),
        (&format!(" {}", account.email), PASSWORD),
    ] {
        let reply = edge.anonymous().login(email, password).await;
        assert_eq!(reply.parts(), (401, &invalid_credentials()), "{email:?}");
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
}

#[tokio::test]
async fn an_unconfirmed_account_is_403_but_only_after_the_right_password() {
    let edge = edge().await;
    let (email, _) = edge.registered().await;
    let reply = edge.anonymous().login(&email, "wrong-anchor-00-quarry").await;
    assert_eq!(reply.parts(), (401, &invalid_credentials()));
    let reply = edge.anonymous().login(&email, PASSWORD).await;
    assert_eq!(reply.parts(), (403, &unconfirmed()));
}

#[tokio::test]
async fn a_deactivated_account_is_403_after_the_right_password() {
    let edge = edge().await;
    let account = edge.account().await;
    edge.set(&account.email, "state = 'deactivated'").await;
    let reply = edge.anonymous().login(&account.email, PASSWORD).await;
    assert_eq!(reply.parts(), (403, &error("deactivated", "This account is deactivated.")));
}

// --- bodies

#[tokio::test]
async fn a_body_of_another_shape_is_400_invalid_body_at_every_account_operation() {
    let edge = edge().await;
    let post = async |path: &str, body: &[u8]| {
        send(edge.anonymous().request(Method::POST, path).body(body.to_vec())).await
    };
    const NOT_JSON: &str = "The request body is not JSON.";
    let misfit = |detail: &str| format!("The request body does not fit: {detail}.");
    let email = "`email` at line 1 column";
    for (path, body, detail) in [
        ("/auth/register", &b""[..], misfit(&format!("missing field {email} 2"))),
        ("/auth/register", b"email=a&password=b", NOT_JSON.to_owned()),
        ("/auth/register", b"{", NOT_JSON.to_owned()),
        ("/auth/register", b"{\"email\":\"\xff\"}", NOT_JSON.to_owned()),
        (
            "/auth/register",
            b"{\"password\":\"violet-anchor-77\"}",
            misfit(&format!("missing field {email} 31")),
        ),
        (
            "/auth/register",
            b"{\"email\":\"a@b.example\"}",
            misfit("missing field `password` at line 1 column 23"),
        ),
        (
            "/auth/register",
            b"{\"email\":1,\"password\":\"x\"}",
            misfit("invalid type: integer `1`, expected a string at line 1 column 10"),
        ),
        (
            "/auth/register",
            b"{\"email\":\"a@b.example\",\"password\":null}",
            misfit("invalid type: null, expected a string at line 1 column 38"),
        ),
        ("/auth/login", b"{}", misfit(&format!("missing field {email} 2"))),
        (
            "/auth/login",
            b"{\"email\":\"a@b.example\"}",
            misfit("missing field `password` at line 1 column 23"),
        ),
        (
            "/auth/login",
            b"{\"email\":[],\"password\":\"x\"}",
            misfit("invalid type: sequence, expected a string at line 1 column 9"),
        ),
        (
            "/auth/login",
            b"{\"email\":\"a\",\"password\":{}}",
            misfit("invalid type: map, expected a string at line 1 column 24"),
        ),
        ("/auth/verify-email", b"", misfit("missing field `token` at line 1 column 2")),
        ("/auth/verify-email", b"not json", NOT_JSON.to_owned()),
        (
            "/auth/verify-email",
            b"{\"token\":null}",
            misfit("invalid type: null, expected a string at line 1 column 13"),
        ),
        (
            "/auth/verify-email",
            b"{\"token\":7}",
            misfit("invalid type: integer `7`, expected a string at line 1 column 10"),
        ),
    ] {
        let reply = post(path, body).await;
        let shown = String::from_utf8_lossy(body).into_owned();
        let expected = error("invalid_body", &detail);
        assert_eq!(reply.parts(), (400, &expected), "{path} {shown}");
    }
    for path in ["/auth/register", "/auth/login", "/auth/verify-email"] {
        let reply = post(path, &[b' '; 1_000_000]).await;
        let expected = json!({ "detail": "The request body is larger than 16384 bytes." });
        assert_eq!(reply.parts(), (413, &expected), "{path}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_an_object_is_400_even_where_its_members_would_fit() {
    let edge = edge().await;
    let (email, mail) = edge.registered().await;
    let other = edge.new_email();
    let expected = error("invalid_body", "The request body must be a JSON object.");
    for (path, body) in [
        ("/auth/register", json!([other, PASSWORD])),
        ("/auth/register", json!([])),
        ("/auth/register", json!(other)),
        ("/auth/register", Value::Null),
        ("/auth/login", json!([email, PASSWORD, null])),
        ("/auth/verify-email", json!([mail.token()])),
        ("/auth/verify-email", json!(mail.token())),
    ] {
        let reply = edge.anonymous().post(path, &body).await;
        assert_eq!(reply.parts(), (400, &expected), "{path} {body}");
    }
    assert_eq!(edge.mailbox().mails_to(&other), [] as [Mail; 0]);
    assert_eq!(edge.row(&email, "state").await, json!({ "state": "unconfirmed" }));
}

//! Bad input at every account operation: its documented status with `{detail, code}`, and nothing
//! changed.

use rcpt_tests::{
    Account, Authenticator, Edge, Reply,
    people::{PASSWORD, send},
};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

const NEW: &str = "copper-meadow-58-lattice";

/// Kind of a member, which decides the texts that are wrong for it.
#[derive(Clone, Copy)]
enum Kind {
    Email,
    NewPassword,
    Password,
    Token,
    Code,
    /// A code that only accounts with two-factor authentication need.
    OptionalCode,
    Name,
}

/// A member of a body, its kind, and the status and code of the response to a wrong text.
type Member = (&'static str, Kind, u16, &'static str);

/// An operation, its caller, a valid body, and its members.
struct Operation {
    method: &'static str,
    path: &'static str,
    caller: Option<Account>,
    body: Value,
    members: Vec<Member>,
}

impl Operation {
    fn request(&self, edge: &Edge) -> RequestBuilder {
        let method = Method::try_from(self.method).unwrap();
        match &self.caller {
            Some(account) => account.request(method, self.path),
            None => edge.anonymous().request(method, self.path),
        }
    }

    async fn send(&self, edge: &Edge, body: &Value) -> Reply {
        send(self.request(edge).json(body)).await
    }
}

/// Wrong texts of the right type: each is out of bounds, or `right` with a change that isn't allowed.
fn wrong_texts(kind: Kind, right: &str) -> Vec<String> {
    let spoilt = [
        format!(" {right}"),
        format!("{right} "),
        format!("{right}\n"),
        format!("{right}\0"),
        format!("\u{feff}{right}"),
        // A letter and its accent as separate code points: not in normal form.
        format!("{right}e\u{301}"),
        right.chars().take(right.chars().count() - 1).collect(),
        format!("{right}{right}"),
        "x".repeat(5000),
    ];
    let more: &[&str] = match kind {
        Kind::Email => {
            return [
                "",
                " a@example.org",
                "a@example.org ",
                "a\n@example.org",
                "a\0@example.org",
                "a",
            ]
            .into_iter()
            .chain(["@example.org", "a@", "a@b@example.org", "Ann <ann@example.org>", "a@[::1]"])
            .map(str::to_owned)
            .chain([format!("{}@example.org", "x".repeat(65)), "x".repeat(5000)])
            .collect();
        }
        Kind::NewPassword => {
            let long = "x7-y".repeat(32) + "z";
            return ["", "short", "1234567", "password123", &long, &"y".repeat(5000)]
                .map(str::to_owned)
                .into();
        }
        Kind::Name => {
            let long = "x".repeat(101);
            return ["", "a\nb", "\0", "\u{7f}", "\u{85}", &long, &"y".repeat(5000)]
                .map(str::to_owned)
                .into();
        }
        Kind::Code | Kind::OptionalCode => {
            &["000", "1234567", "abcdef", "-12345", "١٢٣٤٥٦", "12 34 56"]
        }
        Kind::Password => &["", "PASSWORD", "null"],
        Kind::Token => &["", "unknown", "../../token", "%00"],
    };
    spoilt.into_iter().chain(more.iter().map(|text| (*text).to_owned())).collect()
}

struct World {
    edge: Edge,
    operations: Vec<Operation>,
}

async fn world() -> World {
    let edge = Edge::builder().start().await.unwrap();
    let (plain, pending) = (edge.account().await, edge.account().await);
    let authenticator = pending.set_up_two_factor().await;
    let protected = edge.account().await;
    let (second, _) = protected.enable_two_factor().await;
    // From then on a reset asks for a code.
    super::resets::settled(&edge, &protected).await;
    let (_, confirmation) = edge.registered().await;
    assert_eq!(protected.anonymous.forgot_password(&protected.email).await.status, 200);
    let reset =
        edge.mailbox().wait_for_titled(&protected.email, "Set a new password", 1).await.unwrap();
    let [confirmation, reset] =
        [&confirmation, &reset].map(|mail| mail.token().unwrap().to_owned());
    // A session's first use after its first minute is noted.
    edge.sql("UPDATE sessions SET is_used = 1", &[]).await;
    // Used codes suffice: operations reject an earlier wrong member before they check the code.
    let code = |authenticator: &Authenticator| authenticator.code();
    let operations = operations(
        &plain,
        &pending,
        &protected,
        [confirmation, reset],
        [code(&authenticator), code(&second)],
    );
    World { edge, operations }
}

fn operations(
    plain: &Account,
    pending: &Account,
    protected: &Account,
    [confirmation, reset]: [String; 2],
    [pending_code, code]: [String; 2],
) -> Vec<Operation> {
    use Kind::{Code, Email, Name, NewPassword, OptionalCode, Password, Token};
    let mut operations = Vec::new();
    let mut add = |method, path, caller: Option<&Account>, body, members: &[Member]| {
        let members = members.to_vec();
        operations.push(Operation { method, path, caller: caller.cloned(), body, members });
    };
    let email = &protected.email;
    let both = json!({ "password": PASSWORD, "totp_code": code });
    let with_both: [Member; 2] =
        [("password", Password, 403, "wrong_password"), ("totp_code", Code, 403, "totp_invalid")];
    add(
        "POST",
        "/auth/register",
        None,
        json!({ "email": "new@example.org", "password": NEW }),
        &[
            ("email", Email, 400, "invalid_email"),
            ("password", NewPassword, 400, "invalid_password"),
        ],
    );
    add(
        "POST",
        "/auth/verify-email",
        None,
        json!({ "token": confirmation }),
        &[("token", Token, 400, "invalid_token")],
    );
    let login = json!({ "email": email, "password": PASSWORD, "totp_code": code });
    add(
        "POST",
        "/auth/login",
        None,
        login,
        &[
            ("email", Email, 401, "invalid_credentials"),
            ("password", Password, 401, "invalid_credentials"),
            ("totp_code", OptionalCode, 401, "totp_invalid"),
        ],
    );
    add(
        "POST",
        "/auth/forgot-password",
        None,
        json!({ "email": email }),
        &[("email", Email, 400, "invalid_email")],
    );
    for path in ["/auth/confirm-email", "/auth/stop-changes", "/auth/reset-password/show"] {
        let body = json!({ "token": "x", "password": PASSWORD });
        add("POST", path, None, body, &[("token", Token, 400, "invalid_token")]);
    }
    add(
        "POST",
        "/auth/change-email",
        Some(protected),
        json!({ "email": "new-address@example.org", "password": PASSWORD, "totp_code": code }),
        &[
            ("email", Email, 400, "invalid_email"),
            ("password", Password, 403, "wrong_password"),
            ("totp_code", OptionalCode, 403, "totp_invalid"),
        ],
    );
    add(
        "POST",
        "/auth/stop-emails",
        None,
        json!({ "token": "k.cafe.beef" }),
        &[("token", Token, 400, "invalid_token")],
    );
    let body = json!({ "token": reset, "password": NEW, "totp_code": code });
    add(
        "POST",
        "/auth/reset-password",
        None,
        body,
        &[
            ("token", Token, 400, "invalid_token"),
            ("password", NewPassword, 400, "invalid_password"),
            ("totp_code", OptionalCode, 401, "totp_invalid"),
        ],
    );
    let body = json!({ "current_password": PASSWORD, "new_password": NEW });
    add(
        "PUT",
        "/auth/password",
        Some(plain),
        body,
        &[
            ("current_password", Password, 403, "wrong_password"),
            ("new_password", NewPassword, 400, "invalid_password"),
        ],
    );
    add(
        "POST",
        "/auth/totp/setup",
        Some(plain),
        json!({ "password": PASSWORD }),
        &[("password", Password, 403, "wrong_password")],
    );
    add(
        "POST",
        "/auth/totp/enable",
        Some(pending),
        json!({ "totp_code": pending_code }),
        &[("totp_code", Code, 403, "totp_invalid")],
    );
    add("POST", "/auth/totp/disable", Some(protected), both.clone(), &with_both);
    add("POST", "/auth/totp/recovery-codes", Some(protected), both.clone(), &with_both);
    add(
        "POST",
        "/auth/rotate-api-key",
        Some(protected),
        json!({ "totp_code": code }),
        &[("totp_code", OptionalCode, 403, "totp_invalid")],
    );
    let with_optional: [Member; 2] = [
        ("password", Password, 403, "wrong_password"),
        ("totp_code", OptionalCode, 403, "totp_invalid"),
    ];
    add("POST", "/auth/show-api-key", Some(protected), both.clone(), &with_optional);
    let options = "/auth/passkeys/options";
    add("POST", options, Some(protected), both.clone(), &with_optional);
    add(
        "PUT",
        "/auth/settings",
        Some(plain),
        json!({ "display_name": "Ann" }),
        &[("display_name", Name, 400, "invalid_display_name")],
    );
    add("DELETE", "/me", Some(protected), both, &with_optional);
    operations
}

fn with(body: &Value, member: &str, value: Value) -> Value {
    let mut body = body.clone();
    body[member] = value;
    body
}

#[tokio::test]
async fn every_member_that_is_missing_or_of_a_wrong_type_is_400_and_changes_nothing() {
    let World { edge, operations } = world().await;
    let before = edge.dump(&["this_database", "throttles"]).await;
    let mut tries = 0;
    for operation in &operations {
        let what = format!("{} {}", operation.method, operation.path);
        for (member, kind, ..) in &operation.members {
            let optional = matches!(kind, Kind::OptionalCode);
            for value in [json!(1), json!(true), json!(["x"]), json!({ "x": 1 }), Value::Null] {
                if optional && value.is_null() {
                    continue;
                }
                let why = format!("{what}: {member} is {value}");
                let reply = operation.send(&edge, &with(&operation.body, member, value)).await;
                reply.assert_error(400, "invalid_body", &why);
                tries += 1;
            }
            let mut body = operation.body.clone();
            body.as_object_mut().unwrap().remove(*member);
            let reply = operation.send(&edge, &body).await;
            let why = format!("{what}: no {member}");
            if optional {
                let status = if operation.caller.is_some() { 403 } else { 401 };
                reply.assert_error(status, "totp_required", &why);
            } else {
                reply.assert_error(400, "invalid_body", &why);
            }
            tries += 1;
        }
        for body in ["", "{", "null", "[]", "\"x\"", "1", "{\"a\":}", "\u{feff}{}", "{} {}"] {
            let reply = send(operation.request(&edge).body(body)).await;
            let none_needed = operation.path == "/auth/rotate-api-key" && body.is_empty();
            if none_needed {
                reply.assert_error(403, "totp_required", &what);
            } else {
                reply.assert_error(400, "invalid_body", &format!("{what}: {body:?}"));
            }
            tries += 1;
        }
        let reply = send(operation.request(&edge).body(&b"{\"email\":\"\xff\"}"[..])).await;
        reply.assert_error(400, "invalid_body", &format!("{what}: not UTF-8"));
        let large = json!({ "email": "x".repeat(17_000) }).to_string();
        let reply = send(operation.request(&edge).body(large)).await;
        let expected =
            crate::answers::error("body_too_large", "The request body is larger than 16384 bytes.");
        assert_eq!(reply.parts(), (413, &expected), "{what}");
    }
    println!("{tries} bodies of a wrong shape");
    assert_eq!(edge.dump(&["this_database", "throttles"]).await, before, "nothing has changed");
}

#[tokio::test]
async fn every_wrong_text_gets_its_documented_answer_and_changes_nothing() {
    let World { edge, operations } = world().await;
    let before = edge.dump(&["notices", "security_events", "this_database", "throttles"]).await;
    let mut tries = 0;
    for operation in &operations {
        for (member, kind, status, code) in &operation.members {
            let right = operation.body[member].as_str().unwrap();
            for text in wrong_texts(*kind, right) {
                let why = format!("{} {}: {member} {text:?}", operation.method, operation.path);
                let body = with(&operation.body, member, text.into());
                operation.send(&edge, &body).await.assert_error(*status, code, &why);
                tries += 1;
            }
        }
    }
    println!("{tries} wrong texts");
    // The wrong codes above were counted: this resets the count, and notices, events and throttles aren't compared.
    edge.sql("UPDATE accounts SET wrong_codes = 0", &[]).await;
    assert_eq!(
        edge.dump(&["notices", "security_events", "this_database", "throttles"]).await,
        before,
        "nothing has changed"
    );
}

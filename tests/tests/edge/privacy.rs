//! Leaks in storage and logs (docs/security.md, A9 and A10). A run uses conspicuous addresses and secrets, none of
//! which the database, the files of the runtime's state or the logs contain.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use rcpt_tests::{Account, Authenticator, Mail, Stack, people::send};
use reqwest::Method;
use serde_json::{Value, json};

const PASSWORD: &str = "pelican-secret-41-lantern";
const WRONG_PASSWORD: &str = "pelican-wrong-42-lantern";
const OLD_PASSWORD: &str = "pelican-replaced-43-lantern";
const NAME: &str = "marker-zebra";

/// Checked addresses, each with a word that mustn't occur anywhere.
const CHECKED: [&str; 8] = [
    "accepts+marker-zebra-1@sandbox.test",
    "rejects+marker-zebra-2@sandbox.test",
    "blocked+marker-zebra-3@sandbox.test",
    "marker-zebra-4@catchall.sandbox.test",
    "marker-zebra-5@nodomain.test",
    "marker-zebra-6@down.sandbox.test",
    "Marker-Zebra-7@CatchAll.sandbox.test",
    "marker-zebra-8 is not an address",
];

/// Texts that mustn't occur anywhere, each after its name.
type Secrets = Vec<(String, String)>;

fn secrets_of(credentials: &Value, whose: &str, secrets: &mut Secrets) {
    for name in ["token", "api_key"] {
        let text = credentials[name].as_str().unwrap_or_default();
        assert!(!text.is_empty(), "{credentials}");
        secrets.push((format!("{whose}: {name}"), text.to_owned()));
    }
}

/// Runs every operation that could leave a trace. Returns the forbidden texts, and the ids of the checks that reached
/// the origin.
async fn run(stack: &Stack) -> (Secrets, Vec<String>) {
    let anonymous = stack.edge.anonymous();
    let mut secrets: Secrets = [PASSWORD, WRONG_PASSWORD, OLD_PASSWORD, NAME]
        .map(|text| ("fixed".to_owned(), text.to_owned()))
        .into();
    let email = stack.edge.new_email();
    let mut tokens = Vec::new();
    for (nth, password) in [(1, OLD_PASSWORD), (2, PASSWORD)] {
        assert_eq!(anonymous.register(&email, password).await.status, 201);
        let mail: Mail = stack.edge.mailbox().wait_for_nth_mail(&email, nth).await.unwrap();
        tokens.push(mail.token().unwrap().to_owned());
    }
    let [replaced, token] = &tokens[..] else { panic!("two mails") };
    assert_eq!(anonymous.verify_email(replaced).await.status, 400);
    let confirmed = anonymous.verify_email(token).await;
    assert_eq!(confirmed.status, 200);
    assert_eq!(anonymous.verify_email(token).await.status, 400);
    secrets_of(&confirmed.body, "confirmation", &mut secrets);
    secrets.extend(tokens.into_iter().map(|token| ("mailed token".to_owned(), token)));
    // The hash of this link is still in the database.
    let (_, waiting) = stack.edge.registered().await;
    secrets.push(("waiting token".to_owned(), waiting.token().unwrap().to_owned()));

    assert_eq!(anonymous.login(&email, WRONG_PASSWORD).await.status, 401);
    let login = anonymous.login(&email, PASSWORD).await;
    assert_eq!(login.status, 200);
    secrets_of(&login.body, "sign-in", &mut secrets);
    let account = Account::from_credentials(&anonymous, PASSWORD, &login);

    let mut ids = Vec::new();
    for address in CHECKED {
        for expected_cached in [false, true] {
            let reply = account.check(address).await;
            assert_eq!(reply.status, 200, "{address}: {}", reply.body);
            if reply.body.get("cached").is_some_and(|cached| *cached == expected_cached)
                && !expected_cached
            {
                ids.push(reply.header("x-request-id").to_owned());
            }
        }
    }
    assert_eq!(ids.len(), CHECKED.len() - 1, "all but the one that is no address");
    for (n, address) in CHECKED.into_iter().enumerate() {
        let key = format!("order-{NAME}-{n}");
        let body = json!({ "email": address, "details": true });
        for _ in 0..2 {
            let request = account.anonymous.check_request(&account.api_key, address).json(&body);
            assert_eq!(send(request.header("idempotency-key", &key)).await.status, 200);
        }
    }
    // Places where people put secrets by mistake.
    let key = &account.api_key;
    for path in [format!("/validate_email?email={NAME}&key={key}"), format!("/{NAME}/{key}")] {
        send(account.request(Method::GET, &path)).await;
    }
    let request = account.anonymous.request(Method::POST, "/validate_email");
    send(request.header("x-api-key", format!("{key}0")).json(&json!({ "email": NAME }))).await;
    send(account.request(Method::POST, "/validate_email").body(format!("{NAME} {key}"))).await;
    let rotated = account.rotate_api_key().await;
    assert_eq!(rotated.status, 200);
    let new_key = rotated.body["api_key"].as_str().unwrap();
    secrets.push(("rotated key".to_owned(), new_key.to_owned()));
    assert_eq!(account.check(CHECKED[0]).await.status, 401, "a replaced key");
    assert_eq!(anonymous.check_with_key(new_key, CHECKED[0]).await.status, 200);

    two_factor_and_passwords(stack, account, &mut secrets).await;

    // Parts of credentials that are secret by themselves.
    let parts: Vec<_> = secrets
        .iter()
        .flat_map(|(name, text)| {
            let signature = text.split('.').nth(2).map(str::to_owned);
            let mac = text.strip_prefix("rcpt_live_").map(|rest| rest[35..57].to_owned());
            signature.into_iter().chain(mac).map(move |part| (format!("part of {name}"), part))
        })
        .collect();
    secrets.extend(parts);
    (secrets, ids)
}

/// Creates every kind of secret: active and pending authenticators, recovery codes and reset links, used and unused,
/// and new passwords.
async fn two_factor_and_passwords(stack: &Stack, account: Account, secrets: &mut Secrets) {
    let edge = &stack.edge;
    let (authenticator, codes) = account.enable_two_factor().await;
    secrets.extend(spellings("TOTP secret", &authenticator));
    let pending = edge.account().await;
    secrets.extend(spellings("pending TOTP secret", &pending.set_up_two_factor().await));
    assert_eq!(account.rotate_with(&codes[0]).await.status, 200);
    assert_eq!(account.rotate_with("zzzz-zzzz-zzzz-zzzz-zzzz-zzzz").await.status, 403);
    let anonymous = &account.anonymous;
    let [forgotten, changed] = ["pelican-reset-44-lantern", "pelican-changed-45-lantern"];
    assert_eq!(anonymous.forgot_password(&account.email).await.status, 200);
    let mails = edge.mailbox();
    let is_reset = |mail: &Mail| mail.subject == "Set a new password";
    // Notices of one kind may have been combined in one email, so their number isn't known.
    let mut count = 1;
    let mail = loop {
        let mail = mails.wait_for_nth_mail(&account.email, count).await.unwrap();
        if is_reset(&mail) {
            break mail;
        }
        count += 1;
    };
    let token = mail.token().unwrap();
    let body = json!({ "token": token, "password": forgotten, "totp_code": codes[1] });
    let reply = anonymous.post("/auth/reset-password", &body).await;
    secrets_of(&reply.body, "reset", secrets);
    let session = Account::from_credentials(anonymous, forgotten, &reply);
    let body = json!({ "current_password": forgotten, "new_password": changed });
    secrets_of(&session.put("/auth/password", &body).await.body, "password change", secrets);
    secrets.push(("reset token".to_owned(), token.to_owned()));
    secrets.extend([forgotten, changed].map(|text| ("password".to_owned(), text.to_owned())));
    assert_eq!(pending.anonymous.forgot_password(&pending.email).await.status, 200);
    let waiting = mails.wait_for_nth_mail(&pending.email, 2).await.unwrap();
    secrets.push(("waiting reset token".to_owned(), waiting.token().unwrap().to_owned()));
    for code in codes {
        secrets.push(("recovery code".to_owned(), code.replace('-', "")));
        secrets.push(("recovery code".to_owned(), code));
    }
}

/// The secret in base32, in hexadecimal, and in both base64 alphabets.
fn spellings(name: &str, authenticator: &Authenticator) -> Vec<(String, String)> {
    let bytes = base32(&authenticator.secret);
    let hexadecimal = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [
        authenticator.secret.clone(),
        hexadecimal,
        STANDARD_NO_PAD.encode(&bytes),
        URL_SAFE_NO_PAD.encode(&bytes),
    ]
    .map(|text| (name.to_owned(), text))
    .into()
}

/// Decodes base32 (RFC 4648 §6) without padding.
fn base32(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        _ => letter - b'2' + 26,
    };
    let bits: Vec<u8> = text
        .bytes()
        .flat_map(|letter| (0..5).rev().map(move |bit| value(letter) >> bit & 1))
        .collect();
    bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |byte, bit| byte << 1 | bit)).collect()
}

/// Asserts that `text` contains no secret, in upper or lower case.
fn assert_clean(where_found: &str, text: &[u8], secrets: &Secrets) {
    let text = String::from_utf8_lossy(text).to_ascii_lowercase();
    for (name, secret) in secrets {
        if let Some((before, after)) = text.split_once(&secret.to_ascii_lowercase()) {
            let before: String =
                before.chars().rev().take(80).collect::<Vec<_>>().into_iter().rev().collect();
            let after: String = after.chars().take(80).collect();
            panic!("{name} is in {where_found}: {before}[here]{after}");
        }
    }
}

async fn dump(stack: &Stack) -> BTreeMap<String, String> {
    let tables = stack.edge.dump(&[]).await.into_iter();
    tables.map(|(name, rows)| (name, rows.to_string())).collect()
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files_below(&path, files) } else { files.push(path) }
    }
}

/// The Worker's own log lines. The other lines are miniflare's, in place of Cloudflare: one with the path of
/// each request, and the envelopes of unsent emails. The texts of the emails are files beside miniflare's state.
fn lines_of_the_worker(log: &str) -> String {
    let envelope = ["From: ", "To: ", "Subject: ", "Text: ", "HTML: ", "[mf:"];
    let lines = log.lines().filter(|line| !envelope.iter().any(|start| line.starts_with(start)));
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn neither_storage_nor_logs_hold_an_address_that_was_checked_or_a_secret() {
    let mut stack = Stack::builder().origin_env("RCPT_LOG_LEVEL", "trace").start().await;
    let (secrets, ids) = run(&stack).await;

    // Dumps the database, which contains the account's own address and display name, as the operator could.
    let dump = dump(&stack).await;
    let tables: Vec<_> = dump.keys().map(String::as_str).collect();
    for table in ["accounts", "leases", "plans", "recovery_codes", "reset_links", "throttles"] {
        assert!(tables.contains(&table), "{tables:?}");
    }
    assert!(dump["accounts"].contains("@rcpt-tests.net"), "{}", dump["accounts"]);
    assert!(dump["accounts"].contains("$argon2id$v=19$m=19456,t=2,p=1$"));
    for table in ["recovery_codes", "reset_links", "throttles"] {
        assert_ne!(dump[table], "[]", "{table}");
    }
    for (table, rows) in &dump {
        assert_clean(&format!("table {table}"), rows.as_bytes(), &secrets);
    }

    // Each check has one line in both logs, with the id that the client received.
    for id in &ids {
        stack.edge.process.wait_for_line(id).await;
        stack.origin.process.wait_for_line(id, LIMIT).await.unwrap();
    }

    for line in
        [r#""route":"/v1/validate_email","status":200"#, r#""route":"(unknown)","status":404"#]
    {
        stack.edge.process.wait_for_line(line).await;
    }

    // The files of D1, KV and the Cache API with their journals, in which deleted data may remain. The runtime removes
    // the journal of a database that has been idle for ten seconds.
    stack.edge.process.kill();
    let folder = stack.edge.state().join("v3");
    let mut files = Vec::new();
    files_below(&folder, &mut files);
    for kind in ["d1", "kv", "cache"] {
        let of_kind = files.iter().filter(|file| file.starts_with(folder.join(kind))).count();
        assert!(of_kind > 0, "no files of {kind} among {files:?}");
    }
    let mut verdicts = 0;
    for file in &files {
        let bytes = fs::read(file).unwrap();
        verdicts += usize::from(bytes.starts_with(b"{\"expires_at\":"));
        assert_clean(&file.display().to_string(), &bytes, &secrets);
    }
    assert!(verdicts >= ids.len(), "the cached verdicts are among {} files", files.len());

    let edge_log = lines_of_the_worker(&stack.edge.process.log());
    assert_clean("the log of the edge", edge_log.as_bytes(), &secrets);
    let origin_log = stack.origin.process.log();
    assert_clean("the log of the origin", origin_log.as_bytes(), &secrets);
    assert_clean("the metrics of the origin", metrics(&stack).await.as_bytes(), &secrets);
}

const LIMIT: Duration = Duration::from_secs(60);

async fn metrics(stack: &Stack) -> String {
    let text = stack.origin.get("/metrics").await.unwrap().text().await.unwrap();
    assert!(text.contains("# TYPE"), "{text}");
    text
}

//! D1 restored to an earlier minute (docs/operating/incidents.md, Restore D1): which data is restored or
//! lost, and how everybody gets back to a working account.

use std::{fs, path::Path};

use rcpt_shared::Status;
use rcpt_tests::{Account, Conduct, Edge, FakeOrigin, people::PASSWORD, service::clock};
use serde_json::{Value, json};

use super::{admin::run_admin, email_change, operator_recovery};

/// Copies the database files that contain this text; `None` means all files.
fn copy(from: &Path, to: &Path, text: Option<&str>) {
    fs::create_dir_all(to).unwrap();
    let files: Vec<_> = fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()).collect();
    // A database is a file and, after kill -9, its log: `NAME.sqlite`, `NAME.sqlite-wal`.
    let stem = |path: &Path| {
        path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned()
    };
    let holds = |path: &Path| {
        text.is_none_or(|text| {
            fs::read(path).unwrap().windows(text.len()).any(|window| window == text.as_bytes())
        })
    };
    let stems: Vec<_> = files.iter().filter(|path| holds(path)).map(|path| stem(path)).collect();
    assert!(!stems.is_empty(), "no database in {}", from.display());
    for file in files.iter().filter(|file| stems.contains(&stem(file))) {
        let name = file.file_name().unwrap();
        // Files missing in the copy mustn't remain.
        for left in ["", "-wal", "-shm"].map(|end| format!("{}.sqlite{end}", stem(file))) {
            if to.join(&left).exists() && !from.join(&left).exists() {
                fs::remove_file(to.join(left)).unwrap();
            }
        }
        fs::copy(file, to.join(name)).unwrap();
    }
}

/// A text that only the database with the accounts has.
const MARK: &str = "a name of nobody else";

async fn mark(edge: &Edge, account: &Account) {
    edge.set(&account.email, &format!("display_name = '{MARK}'")).await;
}

async fn works(account: &Account) -> (u16, u16, u16) {
    let sign_in = account.anonymous.login(&account.email, PASSWORD).await.status;
    (account.quota().await.status, account.get("/me").await.status, sign_in)
}

const NOTHING: (u16, u16, u16) = (401, 401, 401);
const EVERYTHING: (u16, u16, u16) = (200, 200, 200);

/// Registers the address again, as its owner would when nothing works.
async fn again(edge: &Edge, account: &Account) -> Account {
    assert_eq!(account.anonymous.register(&account.email, PASSWORD).await.status, 201);
    let title = "Confirm your email address";
    let mail = edge.mailbox().wait_for_titled(&account.email, title, 1).await.unwrap();
    let reply = account.anonymous.verify_email(mail.token().unwrap()).await;
    let again = Account::from_credentials(&account.anonymous, PASSWORD, &reply);
    assert_eq!(works(&again).await, EVERYTHING);
    assert_ne!(again.api_key, account.api_key, "no key is handed out twice");
    assert_eq!(account.quota().await.status, 401, "the key of before");
    again
}

#[tokio::test]
async fn after_a_restore_everybody_gets_to_a_working_account_again() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    // The directory is in another database than the accounts.
    let edge = Edge::builder().origins(&[&origin.url]).var("HOMES", "*:1");
    let mut edge = edge.start().await.unwrap();
    for is_whole in [true, false] {
        let steady = edge.account().await;
        let rotated = edge.account().await;
        let (deleted, secured) = (edge.account().await, edge.account().await);
        assert_eq!(deleted.check("one@restore.example").await.status, 200);
        clock::today().await;
        assert_eq!(steady.check("one@restore.example").await.status, 200);
        let used = steady.email_checks().await.used_today;

        mark(&edge, &steady).await;
        edge.process.kill();
        let databases = edge.state().join("v3/d1/miniflare-D1DatabaseObject");
        let copy_folder = edge.state().join(format!("kept-{is_whole}"));
        copy(&databases, &copy_folder, None);
        edge.restart().await.unwrap();
        assert_eq!(steady.check("two@restore.example").await.status, 200);
        let reply = rotated.rotate_api_key().await;
        let replacement = reply.text("api_key").to_owned();
        let noted = edge.own_version(&rotated.email).await;
        secured.enable_two_factor().await;
        let secured_id = edge.id(&secured.email).await;
        let factor = "SELECT id, secret, on_at FROM second_factors WHERE account_id = ?1";
        let secrets = edge.sql_of(&secured_id, factor, &[json!(secured_id)]).await.remove(0);
        let body = json!({ "password": PASSWORD });
        assert_eq!(deleted.delete("/me", &body).await.status, 204);
        let late = edge.account().await;
        assert_eq!(works(&late).await, EVERYTHING);

        edge.process.kill();
        // Unless `is_whole`, restores only the database with the accounts.
        copy(&copy_folder, &databases, (!is_whole).then_some(MARK));
        edge.restart().await.unwrap();

        // An account without changes loses only the charges of the lost minutes.
        assert_eq!(works(&steady).await, EVERYTHING);
        assert_eq!(steady.email_checks().await.used_today, used);
        assert_eq!(steady.check("two@restore.example").await.status, 200);
        assert_eq!(steady.email_checks().await.used_today, used + 1);
        // The previous key is valid again until the operator restores the recorded version.
        let replaced = Account { api_key: replacement, ..rotated.clone() };
        let checks = async || {
            let of = async |account: &Account| account.check("one@restore.example").await.status;
            (of(&rotated).await, of(&replaced).await)
        };
        assert_eq!(checks().await, (200, 401));
        edge.set_own_key(&rotated.email, &format!("version = {noted}")).await;
        assert_eq!(checks().await, (401, 200));
        if is_whole {
            // Each instance of the Worker remembers dead keys; a deployment clears this memory.
            edge.set_own_key(&rotated.email, "version = version - 1").await;
            assert_eq!(checks().await, (401, 401));
            edge.restart().await.unwrap();
            assert_eq!(checks().await, (200, 401));
        }
        // Two-factor that was turned on is off, until the operator restores it from the saved values.
        assert_eq!(works(&secured).await, EVERYTHING);
        let noted =
            "INSERT INTO second_factors (account_id, id, secret, on_at) VALUES (?1, ?2, ?3, ?4)";
        let params = ["id", "secret", "on_at"].map(|column| secrets[column].clone());
        let params = [&[json!(secured_id)][..], &params].concat();
        edge.sql_of(&secured_id, noted, &params).await;
        let sign_in = secured.anonymous.login(&secured.email, PASSWORD).await;
        sign_in.assert_error(401, "totp_required", "on again");
        // An account that was registered after the restored minute is lost, and is registered again.
        assert_eq!(works(&late).await, NOTHING);
        let state = edge.state();
        let words = ["--persist-to", state.to_str().unwrap(), "directory", "--mend"];
        let (code, output, errors) = run_admin(&edge, "", &words).await;
        assert_eq!((code, errors.as_str()), (0, ""));
        assert_eq!(output.contains("named no account"), !is_whole, "{output}");
        let late = again(&edge, &late).await;
        // A deleted account is back, and is deleted again.
        assert_eq!(works(&deleted).await, EVERYTHING, "{output}");
        assert_eq!(deleted.delete("/me", &body).await.status, 204);
        assert_eq!(works(&deleted).await, NOTHING);
        edge.run_scheduled().await;
        let deleted = again(&edge, &deleted).await;
        assert_eq!(deleted.email_checks().await.left_today, 0, "nothing is renewed");
        edge.run_scheduled().await;
        for account in [&steady, &late, &deleted] {
            assert_eq!(works(account).await, EVERYTHING);
        }
    }
}

/// Tables that the guide saves before the restore, and the statements that read them.
const SAVED: [(&str, &str); 5] = [
    ("keys", "SELECT account_id, id, version, previous_until, replaced_at FROM keys"),
    ("passkeys", "SELECT account_id, id FROM passkeys"),
    ("waiting", "SELECT * FROM waiting"),
    ("changes", "SELECT * FROM changes"),
    ("second_factors", "SELECT * FROM second_factors"),
];

/// Revokes again what was revoked since the restored minute, as step 3 of the guide says.
async fn revoke_again(edge: &Edge, saved: &[(&str, Vec<Value>)]) {
    for (table, rows) in saved {
        let params = [json!(json!(rows).to_string())];
        let run = async |sql: String| {
            edge.sql_in(1, &sql, &params).await;
        };
        match *table {
            "keys" | "passkeys" => {
                run(format!(
                    "DELETE FROM {table} WHERE (account_id, id) NOT IN (
                       SELECT value ->> 'account_id', value ->> 'id' FROM json_each(?1))"
                ))
                .await;
                if *table == "keys" {
                    run("UPDATE keys SET version = s.value ->> 'version', replaced_at = s.value ->> 'replaced_at',
                           previous_until = s.value ->> 'previous_until' FROM json_each(?1) s
                         WHERE account_id = s.value ->> 'account_id' AND keys.id = s.value ->> 'id'"
                        .to_owned())
                    .await;
                }
            }
            // Factors that were turned on since stay; recovery codes of the others stay with them.
            "second_factors" => {
                run("INSERT OR IGNORE INTO second_factors (account_id, id, secret, on_at, off_at)
                     SELECT value ->> 'account_id', value ->> 'id', value ->> 'secret', value ->> 'on_at',
                       value ->> 'off_at' FROM json_each(?1)"
                    .to_owned())
                .await;
            }
            _ => {
                edge.sql_in(1, &format!("DELETE FROM {table}"), &[]).await;
                let Some(Value::Object(first)) = rows.first() else { continue };
                let columns: Vec<_> = first.keys().map(String::as_str).collect();
                let values = columns.iter().map(|column| format!("value ->> '{column}'"));
                let (columns, values) = (columns.join(", "), values.collect::<Vec<_>>().join(", "));
                run(format!("INSERT INTO {table} ({columns}) SELECT {values} FROM json_each(?1)"))
                    .await;
            }
        }
    }
}

#[tokio::test]
async fn what_was_revoked_after_the_restored_minute_is_revoked_again_by_the_guide() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]).var("HOMES", "*:1");
    let mut edge = edge.start().await.unwrap();
    for is_whole in [true, false] {
        let owner = edge.account().await;
        let mover = edge.account().await;
        let terms = |name: &str| json!({ "name": name, "rights": ["checks"] });
        let (ended, ended_id) = owner.named_key(&terms("ended")).await;
        let (stays, _) = owner.named_key(&terms("stays")).await;
        let (removed, removed_id) = owner.add_passkey("removed").await;
        let (replaced, _) = mover.named_key(&terms("replaced")).await;
        owner.enable_two_factor().await;
        operator_recovery::start(&edge, &owner.email).await;
        operator_recovery::pass_three_days(&edge, &owner.email).await;
        let (thiefs, stopping) = email_change::agreed(&edge, &mover).await;

        mark(&edge, &owner).await;
        edge.process.kill();
        let databases = edge.state().join("v3/d1/miniflare-D1DatabaseObject");
        let copy_folder = edge.state().join(format!("revoked-{is_whole}"));
        copy(&databases, &copy_folder, None);
        edge.restart().await.unwrap();
        for path in [format!("/keys/{ended_id}"), format!("/auth/passkeys/{removed_id}")] {
            assert_eq!(owner.delete(&path, &json!({})).await.status, 204, "{path}");
        }
        assert_eq!(owner.post("/me/stop-changes", &json!({})).await.status, 204);
        let proof = json!({ "password": PASSWORD });
        let reply = mover.post("/keys/replace-all", &proof).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(email_change::stop(&edge, &stopping).await.status, 204);
        let id = edge.id(&mover.email).await;
        edge.pass(&id, 3 * email_change::DAY_S).await;
        let mut saved = Vec::new();
        for (table, sql) in SAVED {
            saved.push((table, edge.sql_in(1, sql, &[]).await));
        }

        edge.process.kill();
        copy(&copy_folder, &databases, (!is_whole).then_some(MARK));
        edge.restart().await.unwrap();
        let check = async |key: &str| {
            let reply = owner.anonymous.check_with_key(key, "one@restore.example").await;
            (reply.status, reply.body["code"].as_str().unwrap_or_default().to_owned())
        };
        for key in [&ended, &replaced] {
            assert_eq!(check(key).await.0, 200, "the restore has brought it back");
        }
        assert_eq!(edge.count("waiting WHERE kind = 'recovery'").await, 1);
        assert_eq!(edge.count("waiting WHERE kind = 'address'").await, 1);

        // The steps of the guide.
        revoke_again(&edge, &saved).await;
        edge.run_scheduled().await;
        let state = edge.state();
        let words = ["--persist-to", state.to_str().unwrap(), "directory"];
        let (code, output, errors) = run_admin(&edge, "", &words).await;
        assert_eq!((code, errors.as_str()), (0, ""));
        assert_eq!(output, "every account is in the directory\n");
        let refused = |code: &str| (401, code.to_owned());
        assert_eq!(check(&ended).await, refused("invalid_api_key"));
        assert_eq!(check(&replaced).await, refused("invalid_api_key"));
        assert_eq!(check(&stays).await.0, 200, "nobody has ended it");
        assert!(operator_recovery::has_two_factor(&edge, &owner.email).await);
        let reply = owner.anonymous.sign_in_with(&removed).await;
        reply.assert_error(401, "passkey_refused", "a removed passkey");
        let sign_in = async |email: &str| mover.anonymous.login(email, PASSWORD).await.status;
        assert_eq!((sign_in(&thiefs).await, sign_in(&mover.email).await), (401, 200));
    }
}

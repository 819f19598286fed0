//! D1 restored to an earlier minute (docs/operating.md, Restore D1): which data is restored or
//! lost, and how everybody gets back to a working account.

use std::{fs, path::Path};

use rcpt_shared::Status;
use rcpt_tests::{Account, Conduct, Edge, FakeOrigin, people::PASSWORD, service::clock};
use serde_json::json;

/// Copies the database files that contain this text, or all of them.
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

        edge.process.kill();
        let databases = edge.state().join("v3/d1/miniflare-D1DatabaseObject");
        let copy_folder = edge.state().join(format!("kept-{is_whole}"));
        copy(&databases, &copy_folder, None);
        edge.restart().await.unwrap();
        assert_eq!(steady.check("two@restore.example").await.status, 200);
        let reply = rotated.rotate_api_key().await;
        let replacement = reply.text("api_key").to_owned();
        let noted = edge.row(&rotated.email, "key_version").await;
        secured.enable_two_factor().await;
        let columns = "password_hash, totp_secret, totp_last_step";
        let secrets = edge.row(&secured.email, columns).await;
        let body = json!({ "password": PASSWORD });
        assert_eq!(deleted.delete("/me", &body).await.status, 204);
        let late = edge.account().await;
        assert_eq!(works(&late).await, EVERYTHING);

        edge.process.kill();
        // Only one database: that of the accounts, which contains the address in clear text.
        copy(&copy_folder, &databases, (!is_whole).then_some(steady.email.as_str()));
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
        edge.set(&rotated.email, &format!("key_version = {}", noted["key_version"])).await;
        assert_eq!(checks().await, (401, 200));
        if is_whole {
            // Each instance of the Worker remembers a dead key permanently; if that was a mistake,
            // a deployment clears it.
            edge.set(&rotated.email, "key_version = key_version - 1").await;
            assert_eq!(checks().await, (401, 401));
            edge.restart().await.unwrap();
            assert_eq!(checks().await, (200, 401));
        }
        // Two-factor that was turned on is off, until the operator restores it from the notes.
        assert_eq!(works(&secured).await, EVERYTHING);
        let texts =
            ["password_hash", "totp_secret"].map(|column| secrets[column].as_str().unwrap());
        let [hash, sealed] = texts;
        let step = &secrets["totp_last_step"];
        let noted =
            format!("password_hash = '{hash}', totp_secret = '{sealed}', totp_last_step = {step}");
        edge.set(&secured.email, &noted).await;
        let sign_in = secured.anonymous.login(&secured.email, PASSWORD).await;
        sign_in.assert_error(401, "totp_required", "on again");
        // An account that was registered later is gone, and is registered again.
        assert_eq!(works(&late).await, NOTHING);
        let late = again(&edge, &late).await;
        // A deleted account is back, although nobody can sign in to it if the directory has
        // forgotten it, and is deleted again.
        let sign_in = if is_whole { 200 } else { 401 };
        assert_eq!(works(&deleted).await, (200, 200, sign_in));
        assert_eq!(deleted.delete("/me", &body).await.status, 204);
        assert_eq!(works(&deleted).await, NOTHING);
        edge.run_scheduled().await;
        let deleted = again(&edge, &deleted).await;
        assert_eq!(deleted.email_checks().await.used_today, 1, "what was used stays used");
        edge.run_scheduled().await;
        for account in [&steady, &late, &deleted] {
            assert_eq!(works(account).await, EVERYTHING);
        }
    }
}

//! `tools/admin`: the command between an operator and a service. What strangers have typed is never run, and nothing is
//! changed unasked.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use rcpt_tests::{Edge, people::PASSWORD, process::folder, service::secret};
use serde_json::json;

/// Runs the command with these lines typed; returns the exit code, standard output and standard error.
pub async fn run_admin(edge: &Edge, typed: &str, words: &[&str]) -> (i32, String, String) {
    run_admin_in(&folder::repository(), edge, typed, words).await
}

async fn run_admin_in(
    folder: &Path,
    edge: &Edge,
    typed: &str,
    words: &[&str],
) -> (i32, String, String) {
    let mut command = Command::new(folder::repository().join("tools/admin"));
    command.env("NO_COLOR", "1").env("PORTAL_URL", &edge.url).env_remove("SECRETS_FILE");
    command.env(secret::ADMIN, edge.var(secret::ADMIN)).args(words).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let typed = typed.to_owned();
    let output = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // A command that asks nothing may have ended.
        let _ = input.write_all(typed.as_bytes());
        drop(input);
        child.wait_with_output().unwrap()
    });
    let output = output.await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn what_a_stranger_registered_as_an_address_is_shown_and_never_run() {
    let edge = super::edge().await;
    let folder = folder::scratch("strangers-words").unwrap();
    for local in ["o'brien", "a&id&b", "`id`", "$HOME", "a|touch${IFS}made", "{ab}*", "~root"] {
        let email = format!("{local}@words.example");
        let account = edge.account_of(&email).await;
        let (code, output, errors) = run_admin_in(&folder, edge, "", &["show", &email]).await;
        assert_eq!((code, errors.as_str()), (0, ""), "{email}");
        assert!(output.contains(&format!("{:<22}{email}\n", "email")), "{output}");
        let words = ["--reason", &email, "deactivate", &email];
        let (code, _, errors) = run_admin_in(&folder, edge, "y\n", &words).await;
        assert_eq!(code, 0, "{errors}");
        account.get("/me").await.assert_error(401, "invalid_session", &email);
        let audit = edge.operator().on("audit", &email).await;
        assert_eq!(audit["records"][0]["reason"], email);
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    // Marks that a terminal obeys.
    let account = edge.account().await;
    edge.set(&account.email, "display_name = 'red' || char(27) || '[2J' || char(8238)").await;
    let (_, output, _) = run_admin(edge, "", &["show", &account.email]).await;
    assert!(output.contains("red\\u{1b}[2J\\u{202e}"), "{output}");
}

#[tokio::test]
async fn a_change_names_its_target_and_asks_first() {
    let edge = super::edge().await;
    let account = edge.account().await;
    let email = account.email.as_str();
    let host = edge.url.as_str();
    for (typed, words) in [
        ("", vec!["deactivate", email]),
        ("n\n", vec!["deactivate", email]),
        ("y\n", vec!["--reason", "asked for", "delete", email]),
        ("other@example.org\n", vec!["--reason", "asked for", "delete", email]),
    ] {
        let (code, output, errors) = run_admin(edge, typed, &words).await;
        assert_eq!((code, output.as_str()), (1, ""), "{words:?}");
        for part in
            [host, "as dev", &format!("account {email} (confirmed, free"), "nothing was changed"]
        {
            assert!(errors.contains(part), "{part} in {errors}");
        }
    }
    assert_eq!(account.get("/me").await.status, 200);
    let (code, output, _) = run_admin(edge, "", &["--yes", "grant-checks", email, "25"]).await;
    assert!(code == 0 && output.contains(&format!("{:<22}75\n", "welcome_left")), "{output}");
    let words = ["--reason", "asked for", "delete", email];
    let (code, output, errors) =
        run_admin(edge, &format!("{}\n", email.to_uppercase()), &words).await;
    assert!(code == 0 && output.contains("erased_at"), "{output}{errors}");
    let (_, output, _) = run_admin(edge, "", &["audit", email]).await;
    assert!(output.starts_with("at  ") && output.contains("asked for"), "{output}");
}

#[tokio::test]
async fn wrong_words_are_named_and_nothing_is_sent() {
    let edge = super::edge().await;
    let account = edge.account().await;
    let email = account.email.as_str();
    for (words, message) in [
        (vec!["promote", email], "there is no action promote"),
        (vec!["show"], "expected show ACCOUNT"),
        (vec!["show", email, "1"], "expected show ACCOUNT"),
        (vec!["--yes", "show", "nobody@example.org"], "There is no such account."),
        (vec!["--yes", "set-plan", email, "gold"], "There is no plan of this name."),
        (vec!["--until", "2001-01-01", "set-plan", email, "pro"], "--until needs a date"),
        (vec!["--until", "2099-01-01", "show", email], "only set-plan has --until"),
        (vec!["grant-checks", email, "-5"], "Unknown option '-5'"),
        (vec!["grant-checks", email, "1e9"], "N must be a whole number from 1 to 999999999"),
        (vec!["delete", email], "delete needs --reason TEXT"),
        (vec!["delete", email, "--reason", "--yes"], "Option '--reason' argument is ambiguous"),
        (vec!["--remote", "show", email], "Unknown option '--remote'"),
    ] {
        let (code, output, errors) = run_admin(edge, "", &words).await;
        assert_eq!((code, output.as_str()), (2, ""), "{words:?}: {errors}");
        assert!(errors.starts_with(&format!("admin: {message}")), "{words:?}: {errors}");
    }
    let audit = edge.operator().on("audit", email).await;
    assert_eq!(audit["records"], json!([]));
}

#[tokio::test]
async fn a_change_whose_outcome_is_unknown_says_how_to_send_it_again() {
    let mut edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    edge.sql("ALTER TABLE operator_actions RENAME TO away", &[]).await;
    let grant = ["--yes", "grant-checks", account.email.as_str(), "5"];
    let (code, _, errors) = run_admin(&edge, "", &grant).await;
    let (_, id) = errors.trim().rsplit_once("Send it again with --id ").unwrap();
    assert_eq!(code, 1, "{errors}");
    edge.sql("ALTER TABLE away RENAME TO operator_actions", &[]).await;
    edge.restart().await.unwrap();
    for applied in ["", "This call was done before; nothing was changed now.\n"] {
        let (code, output, errors) =
            run_admin(&edge, "", &[&["--id", id], &grant[..]].concat()).await;
        assert!(code == 0 && output.starts_with(applied), "{output}{errors}");
        assert!(output.contains(&format!("{:<22}55\n", "welcome_left")), "{output}");
    }
}

#[tokio::test]
async fn accounts_that_the_directory_has_lost_are_shown_and_entered_again() {
    let edge = &Edge::builder().databases(3).start().await.unwrap();
    let state = edge.state();
    let directory = async |words: &[&str]| {
        let words = [&["--persist-to", state.to_str().unwrap(), "directory"], words].concat();
        let (code, output, errors) = run_admin(edge, "", &words).await;
        assert_eq!((code, errors.as_str()), (0, ""));
        output
    };
    let (lost, other, moved) = (edge.account().await, edge.account().await, edge.account().await);
    let (lost_id, other_id) = (edge.id(&lost.email).await, edge.id(&other.email).await);
    let (moved_id, taken) = (edge.id(&moved.email).await, edge.account().await);
    let taken_id = edge.id(&taken.email).await;
    edge.sql("DELETE FROM directory WHERE account_id = ?", &[lost_id.as_str().into()]).await;
    let nobody = "00ffffffffffffff";
    let renamed = "UPDATE directory SET account_id = ?2 WHERE account_id = ?1";
    edge.sql(renamed, &[other_id.as_str().into(), nobody.into()]).await;
    // As if one of the two databases had been restored to a minute before the account's address changed.
    let another = "UPDATE directory SET address = 'x' || address, mailbox = 'x' || mailbox, email = 'x' || email
        WHERE account_id = ?1";
    edge.sql(another, &[moved_id.as_str().into()]).await;
    // Somebody has registered the address of an account that the directory had lost.
    let second = edge.account().await;
    let second_id = edge.id(&second.email).await;
    edge.sql("DELETE FROM directory WHERE account_id = ?", &[taken_id.as_str().into()]).await;
    let takes = "UPDATE directory SET address = ?2, mailbox = ?2, email = ?2 WHERE account_id = ?1";
    edge.sql(takes, &[second_id.as_str().into(), taken.email.as_str().into()]).await;
    edge.set(&second.email, &format!("email = '{}'", taken.email)).await;
    let line_of = |text: &str, id: &str| {
        let line = text.lines().find(|line| line.starts_with(id));
        line.unwrap_or_else(|| panic!("no {id} in {text}")).to_owned()
    };
    for (words, said) in [
        (
            &[][..],
            [
                "has lost it",
                "names 00ffffffffffffff",
                "has another address for it",
                "names no account",
            ],
        ),
        (&["--mend"], ["entered", "entered", "entered", "named no account"]),
    ] {
        let text = directory(words).await;
        let line = line_of(&text, &lost_id);
        assert!(line.contains(&lost.email) && line.ends_with(said[0]), "{line}");
        for (id, said) in [(other_id.as_str(), said[1]), (&moved_id, said[2]), (nobody, said[3])] {
            assert!(line_of(&text, id).ends_with(said), "{text}");
        }
        assert!(line_of(&text, &taken_id).ends_with(&format!("names {second_id}")), "{text}");
    }
    for account in [&lost, &other, &moved] {
        assert_eq!(account.anonymous.login(&account.email, PASSWORD).await.status, 200);
    }
    assert_eq!(edge.count("directory WHERE email LIKE 'x%'").await, 0);
    // An operator decides which of the two stays.
    edge.operator().on("delete", &taken_id).await;
    let due = "UPDATE accounts SET erase_at = 1 WHERE id = ?";
    edge.sql_of(&taken_id, due, &[taken_id.as_str().into()]).await;
    edge.run_scheduled().await;
    assert_eq!(directory(&[]).await, "every account is in the directory\n");
}

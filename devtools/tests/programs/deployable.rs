//! The list of missing values, with which `make deploy DRY_RUN=1` ends.

use std::{fs, process::Command};

/// True if nothing is missing, and the tool's output.
fn deployable(arguments: &[&str]) -> (bool, String) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut command = Command::new("node");
    command.args(["devtools/operator/deploy.mjs", "--dry-run"]).args(arguments);
    let tool = command.current_dir(root).output().unwrap();
    (tool.status.success(), String::from_utf8(tool.stdout).unwrap())
}

#[test]
fn a_configuration_as_it_came_is_not_deployed_and_everything_that_it_lacks_is_named() {
    let (ready, said) = deployable(&[]);
    assert!(!ready, "{said}");
    let values = ["PORTAL_URL", "MAIL_FROM", "CONTACT_EMAIL"];
    for name in ["DB", "DB_1", "DB_2", "VERDICTS"].iter().chain(&values) {
        assert!(said.contains(&format!("missing  {name}: ")), "{name}: {said}");
    }

    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../wrangler.toml");
    let filled = fs::read_to_string(root).unwrap();
    let filled =
        filled.replace("00000000-0000-", "5e0c1d2a-0000-").replace("example.net", "acme.net");
    let filled = filled.replace(&"0".repeat(32), &"7".repeat(32));
    let folder = tempfile::tempdir().unwrap();
    let edge = concat!(env!("CARGO_MANIFEST_DIR"), "/../edge");
    std::os::unix::fs::symlink(edge, folder.path().join("edge")).unwrap();
    let file = folder.path().join("wrangler.toml");
    fs::write(&file, filled).unwrap();
    let (ready, said) = deployable(&["--config", file.to_str().unwrap()]);
    assert!(ready && !said.contains("missing"), "{said}");
    let without_contact = fs::read_to_string(&file).unwrap().replace("CONTACT_EMAIL =", "# ");
    let other = folder.path().join("without-contact.toml");
    fs::write(&other, without_contact).unwrap();
    let (ready, reply) = deployable(&["--config", other.to_str().unwrap()]);
    assert!(!ready && reply.contains("missing  CONTACT_EMAIL or CONTACT_URL: "), "{reply}");
    // A database without an id is named like one with the example's, and the Worker is still asked about the rest.
    let filled = fs::read_to_string(&file).unwrap();
    let lines = filled.lines().filter(|line| !line.starts_with("database_id"));
    let without_ids = lines.collect::<Vec<_>>().join("\n");
    fs::write(&other, without_ids.replace("[vars]", "[vars]\nHOMSE = \"*:0\"")).unwrap();
    let (ready, reply) = deployable(&["--config", other.to_str().unwrap()]);
    assert!(!ready && reply.contains("missing  DB_1: "), "{reply}");
    assert!(reply.contains("wrong    HOMSE: there is no such setting."), "{reply}");
    // The Worker itself says what it doesn't accept.
    let wrong = filled.replace("HOMES = \"*:0,1,2\"", "HOMSE = \"*:0\"\nTERMS_URL = \"/terms\"");
    fs::write(&other, wrong.replace("[vars]", "[vars]\nRESET_MAILS_PER_DAY = \"many\"")).unwrap();
    let (ready, reply) = deployable(&["--config", other.to_str().unwrap()]);
    let mistake = "wrong    RESET_MAILS_PER_DAY: expected a number from 1 to 1000000000";
    assert!(!ready && reply.contains(mistake), "{reply}");
    fs::write(&other, wrong).unwrap();
    let (ready, reply) = deployable(&["--config", other.to_str().unwrap()]);
    let mistake = "wrong    HOMSE: there is no such setting. Did you mean HOMES?";
    assert!(!ready && reply.contains(mistake), "{reply}");
    assert!(reply.contains("wrong    TERMS_URL: expected an http(s) URL"), "{reply}");
    for name in ["SESSION", "API_KEY", "TICKET", "ADDRESS", "TOTP", "SCAN"] {
        assert!(said.contains(&format!("{name}_SECRET_…")), "{said}");
    }
}

//! The examples of the packages' READMEs, run against the service.

use std::{fs, path::Path};

use rcpt_tests::{Account, people::command::ran, process::folder};
use tokio::process::Command;

use crate::{
    packages::{Installed, PYTHON, TYPESCRIPT, examples, installed, write_examples},
    stack,
};

/// Replaces the service's URL, and the mailboxes by existing mailboxes, as a reader would.
fn at(url: &str, example: &str) -> String {
    let example = example.replace("https://rcpt.example.net", url);
    example
        .replace("ann@example.org", "accepts@sandbox.test")
        .replace("bob@example.com", "rejects@sandbox.test")
}

async fn runs(mut program: Command, file: &Path, account: &Account) -> String {
    program.arg(file).env("RCPT_API_KEY", &account.api_key).current_dir(file.parent().unwrap());
    let ran = ran(program, "").await;
    assert_eq!(ran.code, 0, "{}: {}{}", file.display(), ran.out, ran.stderr);
    ran.out
}

#[tokio::test]
async fn every_example_of_a_readme_runs() {
    let Installed { project, interpreter, .. } = installed().await;
    let edge = &stack().await.edge;
    // The account's plan allows concurrent scans.
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'unlimited'").await;
    let adapted = |readme: &str, language: &str| -> Vec<String> {
        examples(readme, language).iter().map(|text| at(&edge.url, text)).collect()
    };
    let (typescript, python) = (adapted(TYPESCRIPT, "ts"), adapted(PYTHON, "python"));
    let folder = project.join("run");
    write_examples(&folder, &typescript, &python);
    // Node.js 20 doesn't run TypeScript.
    let esbuild = folder::repository().join("node_modules/.bin/esbuild");
    let mut outputs = String::new();
    for n in 0..typescript.len() {
        let (from, to) = (folder.join(format!("example_{n}.mts")), folder.join(format!("{n}.mjs")));
        let mut compile = Command::new(&esbuild);
        compile.arg(from).arg(format!("--outfile={}", to.display()));
        assert_eq!(ran(compile, "").await.code, 0);
        outputs += &runs(Command::new("node"), &to, &account).await;
    }
    for n in 0..python.len() {
        let file = folder.join(format!("example_{n}.py"));
        outputs += &runs(Command::new(interpreter), &file, &account).await;
    }
    fs::write(folder.join("outputs"), &outputs).unwrap();
    for expected in [
        "store accepts@sandbox.test deliverable",
        "deliverable accepted",
        "2 of 2",
        "rejects@sandbox.test undeliverable",
        "unlimited",
    ] {
        assert!(outputs.contains(expected), "{expected}: {outputs}");
    }
    for (expected, times) in [
        ("['deliverable', 'undeliverable']", 1),
        ("2 of 2", 2),
        ("rejects@sandbox.test undeliverable", 2),
    ] {
        assert_eq!(outputs.matches(expected).count(), times, "{expected}: {outputs}");
    }
}

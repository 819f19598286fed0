//! A person at a command line: `rcpt` with its own home folder.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::Result;
use serde_json::Value;
use tokio::{io::AsyncWriteExt as _, process::Command};

use crate::process::{
    folder,
    nested_build::{self, Once, once},
};

/// The path of `rcpt`: `RCPT_COMMAND_BIN`, or a fresh build.
pub fn binary() -> Result<PathBuf> {
    static BINARY: Once<PathBuf> = Once::new();
    once(&BINARY, || match std::env::var_os("RCPT_COMMAND_BIN") {
        Some(given) => Ok(given.into()),
        None => nested_build::binary("rcpt"),
    })
}

/// Exit code and output of a program.
#[derive(Debug, Clone)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub stderr: String,
}

impl Ran {
    /// The output's lines, parsed as JSON.
    pub fn lines(&self) -> Vec<Value> {
        let lines = self.out.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A home folder, and the service that its commands use.
#[derive(Debug)]
pub struct CommandLine {
    home: PathBuf,
    url: String,
    api_key: Option<String>,
}

impl CommandLine {
    /// Creates a new home folder for the service at this URL, without a key.
    pub fn new(url: &str) -> Self {
        let home = folder::scratch("home").expect("a folder");
        Self { home, url: url.to_owned(), api_key: None }
    }

    /// Sets the API key in the commands' environment.
    #[must_use]
    pub fn with_key(mut self, api_key: &str) -> Self {
        self.api_key = Some(api_key.to_owned());
        self
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The command `rcpt` with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary().unwrap_or_else(|error| panic!("{error:#}")));
        command.env_clear().env("HOME", &self.home).env("RCPT_URL", &self.url);
        if let Some(api_key) = &self.api_key {
            command.env("RCPT_API_KEY", api_key);
        }
        command.args(arguments).current_dir(&self.home).kill_on_drop(true);
        command
    }

    /// Runs `rcpt` with this standard input until it exits.
    pub async fn run(&self, arguments: &[&str], input: &str) -> Ran {
        ran(self.command(arguments), input).await
    }
}

/// Runs a program with this standard input until it exits.
pub async fn ran(mut command: Command, input: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_owned();
    // The input is written while the output is read, because the pipes could fill up. The program may end before it has
    // read everything.
    let write = tokio::spawn(async move { stdin.write_all(input.as_bytes()).await });
    let ended = child.wait_with_output().await.expect("the program ends");
    let _ = write.await;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let code = ended.status.code().expect("no signal");
    Ran { code, out: text(ended.stdout), stderr: text(ended.stderr) }
}

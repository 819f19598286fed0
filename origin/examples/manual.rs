//! Writes the manual page and the shells' completions for the package into the given folder.

use std::{env, fs, path::PathBuf};

use clap_complete::{Shell, generate_to};
use rcpt_origin::cli::Cli;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).expect("a folder"));
    fs::create_dir_all(&folder)?;
    let command = Cli::documented();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .section("1")
        .manual("rcpt")
        .source("rcpt-origin")
        .date("")
        .render(&mut page)?;
    fs::write(folder.join("origin.1"), page)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut command.clone(), "origin", &folder)?;
    }
    Ok(())
}

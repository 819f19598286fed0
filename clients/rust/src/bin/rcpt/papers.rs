//! Completions and manual pages, generated from the definition of the command line.

use std::{fs, io::Write as _, path::Path};

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::{
    args::Args,
    failure::{Failure, RunExit},
    output::print,
};

pub fn completions(shell: Shell) -> Result<RunExit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "rcpt", &mut text);
    print(String::from_utf8_lossy(&text).trim_end())?;
    Ok(RunExit::Good)
}

pub fn manual(folder: &Path) -> Result<RunExit, Failure> {
    let failed = |error| Failure::of_output(folder.display(), &error);
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Args::command(), folder).map_err(failed)?;
    let _ = std::io::stderr().flush();
    Ok(RunExit::Good)
}

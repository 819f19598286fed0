//! Parts of a release that need more than a call of a program. `tools/release` runs this program in the
//! repository's folder.

mod bill;
mod readiness;

use std::{env, fs, path::Path, process::ExitCode};

use anyhow::{Context as _, Result, bail, ensure};

const HELP: &str = "\
Usage: rcpt-release ACTION

  check                 prints the version and its wire format, or everything that keeps it from being released
  bills FOLDER FILE...  removes the builder's folder and the random number from bills of materials
";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("[release] error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<()> {
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["check"] => check(),
        ["bills", folder, ref files @ ..] => files.iter().try_for_each(|file| {
            let tidy = bill::tidy(&fs::read_to_string(file)?, folder).context(file.to_string())?;
            Ok(fs::write(file, tidy)?)
        }),
        _ => bail!("{HELP}"),
    }
}

fn check() -> Result<()> {
    let sources = readiness::Sources::read(Path::new("."))?;
    let mistakes = sources.mistakes();
    ensure!(mistakes.is_empty(), "this is no release yet:\n{}", mistakes.join("\n"));
    println!("{} {}", sources.version, sources.wire_format);
    Ok(())
}

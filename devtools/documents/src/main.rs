//! `rcpt-documents [--write] [FOLDER]` checks documents and comments, and their citations of each other; prints every
//! offender, and exits with 1 if there is one. With `--write` it first writes the generated parts of pages.
//!
//! - A page cited as docs/... exists, and so does the file of every relative link in a *.md, and its #heading.
//! - A claim cited as "docs/security.md, A5", or named alone in a Rust comment, is a row of docs/security.md.
//! - Our own documents are cited by path, not by a section, a bare claim or a bare file name.
//! - A file that a *.md names in backticks exists, and so does each test that docs/security.md names.
//! - Texts for customers cite none of our documents.
//! - docs/api.md has a heading, or docs/account-api.md a row, for each operation of edge/openapi-account.json, and for
//!   no other.
//! - Generated parts of pages (`generated.rs`) are as their sources say.
//! - README.md has at most 130 lines, and every Rust file begins with `//!`.
//! - Lines of a *.md have at most 120 columns, but for tables and code; a cell has at most 200 characters.
//! - A claim has at most 25 words, and its row ends with holds, partly or missed.
//! - No comment or document has a phrase that docs/words.md lists under "In code and documents".

mod citations;
mod generated;
mod markdown;
mod patterns;
#[cfg(test)]
mod tests;
mod words;

use std::{
    collections::{BTreeSet, HashSet},
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result, ensure};
use generated::Sources;
use serde_json::Value;

/// Few people read more before their first try.
const README_LINES_MAX: usize = 130;
/// Files without an ending are scripts.
const ENDINGS: [&str; 15] = [
    "rs", "md", "ts", "tsx", "mjs", "js", "json", "toml", "sql", "sh", "yml", "css", "html", "py",
    "",
];
const SKIPPED_FILES: [&str; 5] = [
    "Cargo.lock",
    "package-lock.json",
    "edge/data/common-passwords.txt",
    // They contain the patterns that the checks look for.
    "devtools/documents/src/patterns.rs",
    "devtools/documents/src/tests.rs",
];

struct Repository {
    root: PathBuf,
    files: BTreeSet<String>,
}

impl Repository {
    fn open(root: PathBuf) -> Result<Self> {
        let listed = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(&root)
            .output()?;
        ensure!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let names = String::from_utf8(listed.stdout)?;
        let files = names.lines().filter(|name| root.join(name).is_file()).map(str::to_owned);
        Ok(Self { files: files.collect(), root })
    }

    fn read(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.root.join(name)).with_context(|| name.to_owned())
    }

    fn sources(&self) -> Result<Sources> {
        let read = |name| anyhow::Ok(serde_json::from_str(&self.read(name)?)?);
        let examples = "edge/data/examples.json";
        let examples = if self.files.contains(examples) { read(examples)? } else { Value::Null };
        Ok(Sources { description: read("edge/openapi-account.json")?, examples })
    }

    fn write(&self) -> Result<()> {
        let sources = self.sources()?;
        for name in self.files.iter().filter(|name| name.ends_with(".md")) {
            let text = self.read(name)?;
            let expanded = sources.expanded(&text).with_context(|| name.clone())?;
            if expanded != text {
                fs::write(self.root.join(name), expanded)?;
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>> {
        let sources = self.sources()?;
        let page = self.read("docs/security.md").unwrap_or_default();
        let claims = citations::claims(&page);
        let mut offenders = markdown::claims(&page);
        for name in &self.files {
            let ending = Path::new(name).extension().unwrap_or_default().to_string_lossy();
            if !ENDINGS.contains(&&*ending) || SKIPPED_FILES.contains(&name.as_str()) {
                continue;
            }
            let Ok(text) = self.read(name) else { continue };
            offenders.extend(citations::offenders(&self.root, name, &text, &claims));
            offenders.extend(words::offenders(name, &text));
            match &*ending {
                "md" => {
                    offenders.extend(markdown::offenders(&self.root, name, &text));
                    match sources.expanded(&text) {
                        Ok(expanded) if expanded == text => {}
                        Ok(_) => offenders.push(format!("{name}: run `tools/check-docs --write`")),
                        Err(error) => offenders.push(format!("{name}: {error}")),
                    }
                }
                "rs" if !text.starts_with("//!") => {
                    offenders.push(format!("{name}: does not begin with //!"));
                }
                _ => {}
            }
        }
        offenders.extend(self.operations(&sources)?);
        let lines = self.read("README.md")?.lines().count();
        if lines > README_LINES_MAX {
            offenders.push(format!("README.md: {lines} lines, at most {README_LINES_MAX}"));
        }
        let mut seen = HashSet::new();
        offenders.retain(|line| seen.insert(line.clone()));
        Ok(offenders)
    }

    fn operations(&self, sources: &Sources) -> Result<Vec<String>> {
        let paths = sources.description["paths"]
            .as_object()
            .context("paths of edge/openapi-account.json")?;
        let mut served = BTreeSet::new();
        for (path, item) in paths {
            let path = path.strip_prefix("/v1").unwrap_or(path);
            let methods = item.as_object().context("the methods of a path")?.keys();
            served.extend(methods.map(|method| format!("{} {path}", method.to_uppercase())));
        }
        let text = self.read("docs/api.md")? + &self.read("docs/account-api.md")?;
        let described =
            patterns::OPERATION.captures_iter(&text).map(|heading| heading[1].to_owned());
        let described: BTreeSet<String> = described.collect();
        let page = "docs/api.md";
        let missing = served.difference(&described);
        let missing = missing.map(|operation| format!("{page}: nothing about {operation}"));
        let unknown = described.difference(&served);
        let unknown = unknown.map(|operation| format!("{page}: {operation} is not served"));
        Ok(missing.chain(unknown).collect())
    }
}

fn main() -> Result<ExitCode> {
    let mut arguments = env::args_os().skip(1).peekable();
    let writes = arguments.next_if(|argument| argument == "--write").is_some();
    let root = arguments.next().map_or_else(|| PathBuf::from("."), PathBuf::from);
    let repository = Repository::open(root)?;
    if writes {
        repository.write()?;
    }
    let offenders = repository.check()?;
    for line in &offenders {
        println!("{line}");
    }
    if offenders.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("rcpt-documents: {} wrong", offenders.len());
    Ok(ExitCode::FAILURE)
}

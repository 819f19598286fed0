//! Searches all logs of a test run for secrets and addresses (docs/security.md, A10).

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

const FORBIDDEN: [(&str, &str); 8] = [
    ("an address", "@"),
    ("an API key", "rcpt_live_"),
    // `{"typ"`, `{"alg"`, `{"iss"` and `{"sub"` in Base64: the start of a header, or of the claims. A random id sometimes
    // has the `eyJ` of a mere `{"`.
    ("a JWT", "eyJ0eXAi"),
    ("a JWT", "eyJhbGci"),
    ("a JWT", "eyJpc3Mi"),
    ("a JWT", "eyJzdWIi"),
    ("a password hash", "$argon2"),
    ("a two-factor secret", "otpauth:"),
];

/// Number of files and lines read, and the matches found.
#[derive(Debug, Default)]
pub struct Scan {
    pub files: usize,
    pub lines: usize,
    /// Requests that the origin logged, and how many of them the edge logged under the same id.
    pub probes: usize,
    pub joined: usize,
    /// File, line number, and kind of the match. The line itself is omitted.
    pub hits: Vec<(PathBuf, usize, &'static str)>,
}

/// Reads the logs of every edge and origin that tests have written below `folder`.
pub fn scan(folder: &Path) -> Result<Scan> {
    let mut scan = Scan::default();
    let [mut edge_ids, mut origin_ids] = [const { Vec::new() }; 2];
    for run in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        for (name, ids) in [("edge.log", &mut edge_ids), ("origin.log", &mut origin_ids)] {
            let file = run.as_ref().map(|run| run.path().join(name)).unwrap_or_default();
            // Some runs have only one of the two logs.
            let Ok(bytes) = fs::read(&file) else { continue };
            scan.files += 1;
            scan.read(&file, &String::from_utf8_lossy(&bytes), ids);
        }
    }
    ensure!(scan.files > 0, "no logs below {}", folder.display());
    let edge_ids: HashSet<_> = edge_ids.into_iter().collect();
    scan.probes = origin_ids.len();
    scan.joined = origin_ids.iter().filter(|id| edge_ids.contains(*id)).count();
    Ok(scan)
}

impl Scan {
    fn read(&mut self, file: &Path, log: &str, ids: &mut Vec<String>) {
        for (number, line) in log.lines().enumerate() {
            // Edge and origin log JSON; other lines are miniflare's, which logs the Worker's emails.
            let Ok(entry) = serde_json::from_str::<Value>(line) else { continue };
            self.lines += 1;
            ids.extend(entry["request_id"].as_str().map(str::to_owned));
            let hits = FORBIDDEN.iter().filter(|(_, text)| line.contains(text));
            self.hits.extend(hits.map(|(what, _)| (file.to_owned(), number + 1, *what)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::scan;

    #[test]
    fn what_a_line_holds_is_found_and_ids_are_joined() {
        let folder = tempfile::tempdir().unwrap();
        for (run, name, log) in [
            (
                "1",
                "edge.log",
                "From: a@b\n{\"request_id\":\"1\"}\n{\"request_id\":\"2\",\"x\":\"a@b\"}\n",
            ),
            ("1", "origin.log", "{\"request_id\":\"1\"}\n{\"request_id\":\"3\"}\n"),
            ("2", "edge.log", "{\"cause\":\"rcpt_live_0 eyJhbGciOiJIUzI1NiJ9\"}\n"),
            ("3", "edge.log", "{\"id\":\"1nItb6l9IT52BHHw9eyJmaRqN9DgIAnzUo0WvnEtzc\"}\n"),
        ] {
            fs::create_dir_all(folder.path().join(run)).unwrap();
            fs::write(folder.path().join(run).join(name), log).unwrap();
        }
        let report = scan(folder.path()).unwrap();
        assert_eq!((report.files, report.lines, report.probes, report.joined), (4, 6, 2, 1));
        let mut hits: Vec<_> = report.hits.iter().map(|(_, line, what)| (*line, *what)).collect();
        hits.sort_unstable();
        assert_eq!(hits, [(1, "a JWT"), (1, "an API key"), (3, "an address")]);
        assert!(scan(&folder.path().join("1")).is_err());
    }
}

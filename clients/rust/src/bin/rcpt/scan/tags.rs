//! Tags of lists that this machine has sent, which find a scan's verdicts again when the rows have moved. Sign-out and
//! nine days remove them.

use std::{fs, io, path::PathBuf, time::Duration};

use rcpt_lists::Plan;

use crate::{credentials, deliveries, failure::Failure};

/// The service removes results a week after the end of a scan, which lasts at most a day.
const KEPT: Duration = Duration::from_secs(9 * 24 * 60 * 60);

#[derive(Debug)]
pub struct Tags {
    pub tags: Vec<u8>,
    pub case_matters: bool,
}

/// Keeps the tags of a scan, and removes those of old ones. A machine without a home folder keeps nothing.
pub fn keep(scan: &str, plan: &Plan, case_matters: bool) -> Result<(), Failure> {
    let Some(file) = file(scan) else { return Ok(()) };
    remove_old();
    let mut bytes = vec![u8::from(case_matters)];
    bytes.extend(plan.tags(scan, case_matters));
    credentials::write_private(&file, &bytes)
}

pub fn recall(scan: &str) -> Option<Tags> {
    remove_old();
    let bytes = fs::read(file(scan)?).ok()?;
    let (case_matters, tags) = bytes.split_first()?;
    Some(Tags { tags: tags.to_vec(), case_matters: *case_matters == 1 })
}

pub fn forget() -> Result<(), Failure> {
    let Some(folder) = folder() else { return Ok(()) };
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::of_output(folder.display(), &error))
        }
        _ => Ok(()),
    }
}

fn folder() -> Option<PathBuf> {
    credentials::file("scans").ok()
}

/// `None` for a text that is no scan's id, which could name another file.
fn file(scan: &str) -> Option<PathBuf> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_id = scan.starts_with("scan_") && scan.chars().all(is_plain);
    is_id.then(|| folder().map(|folder| folder.join(scan)))?
}

fn remove_old() {
    let files = folder().and_then(|folder| fs::read_dir(folder).ok());
    for file in files.into_iter().flatten().flatten() {
        let age = file.metadata().and_then(|it| it.modified());
        let age = age.ok().and_then(|at| deliveries::now().duration_since(at).ok());
        if age.is_some_and(|age| age > KEPT) {
            // The next run tries again.
            let _ = fs::remove_file(file.path());
        }
    }
}

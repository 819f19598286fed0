//! Progress of a scan, in a file that is written completely or not at all. The journal contains no address.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::list::List;
use crate::failure::{Failure, Kind};

#[derive(Debug, Serialize, Deserialize)]
pub struct Journal {
    /// SHA-256 of the file and of the addresses that are checked, in hexadecimal.
    list: String,
    url: String,
    pub key: String,
    pub scan: Option<String>,
    pub parts: usize,
}

impl Journal {
    pub fn new(list: &List, url: &str, key: String) -> Self {
        let (list, url) = (list.digest.clone(), url.to_owned());
        Self { list, url, key, scan: None, parts: 0 }
    }

    pub fn read(path: &Path) -> Result<Option<Self>, Failure> {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(error) => {
                let message = format!("{} can't be read: {error}.", path.display());
                return Err(Failure::new(Kind::Journal, message));
            }
        };
        serde_json::from_slice(&text).map(Some).map_err(|_| {
            let message = format!("{} isn't a journal. Use --restart.", path.display());
            Failure::new(Kind::Journal, message)
        })
    }

    pub fn of_scan(list: &List, url: &str, scan: &str) -> Self {
        Self { scan: Some(scan.to_owned()), ..Self::new(list, url, String::new()) }
    }

    pub fn is_at(&self, url: &str) -> bool {
        self.url == url
    }

    /// True if it was started with this list, read in this way.
    pub fn is_of(&self, list: &List) -> bool {
        self.list == list.digest
    }

    pub fn of_same(self, list: &List, url: &str) -> Result<Self, Failure> {
        let why = if !self.is_at(url) {
            format!("This scan was started at {}.", self.url)
        } else if !self.is_of(list) {
            "The file, its column or an option isn't the one that this scan was started with."
                .to_owned()
        } else {
            return Ok(self);
        };
        let message = format!("{why} Go back to it, or start over with --restart.");
        Err(Failure::new(Kind::Journal, message))
    }

    pub fn write(&self, path: Option<&Path>) -> Result<(), Failure> {
        let Some(path) = path else { return Ok(()) };
        let write = || -> io::Result<()> {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let mut new = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
            new.write_all(&serde_json::to_vec_pretty(self)?)?;
            new.as_file().sync_all()?;
            new.persist(path)?;
            Ok(())
        };
        write().map_err(|error| Failure::of_output(path.display(), &error))
    }
}

pub fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::of_output(path.display(), &error))
        }
        _ => Ok(()),
    }
}

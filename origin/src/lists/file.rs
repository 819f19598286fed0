//! The lists in force: those in `lists_file`, unless the built-in ones are newer.

use std::{fs, io, sync::Arc};

use super::{Bundle, Header, Lists};

/// Greatest size of a lists file in bytes; ours has about 204,000.
pub const MAX_OCTETS: u64 = 8 << 20;

/// The lists in the file at `path`, or the built-in ones with the reason. Without a path, or before the file exists,
/// there is no reason.
#[must_use]
pub fn in_force(path: &str) -> (Arc<Lists>, Option<String>) {
    let built_in = Lists::built_in();
    if path.is_empty() {
        return (built_in, None);
    }
    let text = match read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return (built_in, None),
        Err(error) => return (built_in, Some(format!("{path}: {error}"))),
    };
    match Bundle::parse(&text).map(Lists::of) {
        Err(mistake) => (built_in, Some(format!("{path}: {mistake}"))),
        Ok(lists) => match lists.older_list_than(&built_in) {
            Some(list) => {
                (built_in, Some(format!("{path}: its list {list} is older than the package's")))
            }
            None => (Arc::new(lists), None),
        },
    }
}

/// Reads a file of at most [`MAX_OCTETS`].
///
/// # Errors
/// [`io::Error`].
pub fn read(path: &str) -> io::Result<String> {
    if fs::metadata(path)?.len() > MAX_OCTETS {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large for lists"));
    }
    fs::read_to_string(path)
}

impl Lists {
    /// The name of a list that is older than in `other`.
    #[must_use]
    pub fn older_list_than(&self, other: &Self) -> Option<&'static str> {
        let mut lists = other.headers.iter();
        let is_older = |(list, header): &(&&'static str, &Header)| {
            self.headers.get(**list).is_none_or(|own| own.date < header.date)
        };
        lists.find(is_older).map(|(list, _)| *list)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{BUILT_IN, Lists},
        in_force,
    };

    #[test]
    fn a_newer_file_is_in_force_and_an_older_absent_or_broken_one_is_passed_over() {
        let path = std::env::temp_dir().join(format!("rcpt-lists-{}.toml", std::process::id()));
        let with = |text: &str| {
            std::fs::write(&path, text).unwrap();
            in_force(path.to_str().unwrap())
        };
        let (lists, note) = with(&BUILT_IN.replace("2026-11-09", "2099-11-10"));
        assert_eq!((lists.headers["disposable"].date.as_str(), note), ("2099-11-10", None));
        for (text, expected) in [
            (BUILT_IN.replace("2026-11-09", "2020-11-08"), "list disposable is older"),
            (BUILT_IN[..1_000].to_owned(), "line"),
            (String::new(), "missing field"),
        ] {
            let (lists, note) = with(&text);
            assert_eq!(lists.headers, Lists::built_in().headers);
            assert!(note.clone().unwrap().contains(expected), "{note:?}");
        }
        std::fs::remove_file(&path).unwrap();
        let (lists, note) = in_force(path.to_str().unwrap());
        assert_eq!((&lists.headers, note), (&Lists::built_in().headers, None));
    }
}

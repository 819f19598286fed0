//! The lists in force: those of the file in `lists_file`, and the built-in ones of the other names.

use std::{fmt::Write as _, fs, io, sync::Arc};

use super::{BUILT_IN, Bundle, Lists};

/// Greatest size of a lists file in bytes; ours have about 204,000.
const MAX_OCTETS: u64 = 8 << 20;

/// The lists with those in the file at `path`, or the built-in ones alone with the reason. Without a path, there is no
/// reason.
#[must_use]
pub fn in_force(path: &str) -> (Arc<Lists>, Option<String>) {
    let built_in = Lists::built_in();
    if path.is_empty() {
        return (built_in, None);
    }
    let text = match read(path) {
        Ok(text) => text,
        Err(error) => return (built_in, Some(format!("{path}: {error}"))),
    };
    match Bundle::parse_over(BUILT_IN, &text) {
        Err(mistake) => (built_in, Some(format!("{path}: {mistake}"))),
        Ok(lists) => (Arc::new(Lists::of(lists)), None),
    }
}

fn read(path: &str) -> io::Result<String> {
    if fs::metadata(path)?.len() > MAX_OCTETS {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large for lists"));
    }
    fs::read_to_string(path)
}

impl Lists {
    /// A line per list: name, entries, date, licence, source.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (list, header) in &self.headers {
            let size = self.sizes.get(list).copied().unwrap_or_default();
            // Writing to a String can't fail.
            let _ = writeln!(
                text,
                "{list:<18}{size:>7}  {}  {}  {}",
                header.date, header.licence, header.source
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, Lists, in_force};

    #[test]
    fn the_lists_of_a_file_replace_the_built_in_ones_and_a_broken_file_replaces_none() {
        let path = std::env::temp_dir().join(format!("rcpt-lists-{}.toml", std::process::id()));
        let with = |text: &str| {
            std::fs::write(&path, text).unwrap();
            in_force(path.to_str().unwrap())
        };
        let built_in = &Lists::built_in().headers;
        let own = "[parked_server]\nsource = \"ours\"\ndate = \"2020-01-02\"\nlicence = \"CC0-1.0\"\nnames = [\"parked.example\"]\n";
        let (lists, note) = with(own);
        assert_eq!((lists.headers["parked_server"].source.as_str(), note), ("ours", None));
        assert_eq!(lists.sizes["parked_server"], 1);
        assert_eq!(lists.headers["disposable"], built_in["disposable"]);
        for (text, expected) in [
            (BUILT_IN[..1_000].to_owned(), "line"),
            (own.replace("parked.example", "gmail.com"), "contradicts"),
            (own.replace("names", "names_of"), "missing field"),
            (own.replace("[parked_server]", "[parked_servers]"), "unknown field"),
        ] {
            let (lists, note) = with(&text);
            assert_eq!(&lists.headers, built_in);
            assert!(note.clone().unwrap().contains(expected), "{note:?}");
        }
        std::fs::remove_file(&path).unwrap();
        let (lists, note) = in_force(path.to_str().unwrap());
        assert_eq!(&lists.headers, built_in);
        assert!(note.clone().unwrap().contains("No such file"), "{note:?}");
    }

    #[test]
    fn each_list_is_a_line_with_its_date_and_source() {
        let table = Lists::built_in().table();
        assert_eq!(table.lines().count(), 7);
        assert!(table.contains("disposable          10174  2026-11-09  CC0-1.0  PyPI"), "{table}");
    }
}

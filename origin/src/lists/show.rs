//! `origin lists show`: prints the lists in force, with source and date.

use std::fmt::Write as _;

use super::Lists;

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
    use super::Lists;

    #[test]
    fn each_list_is_a_line_with_its_date_and_source() {
        let table = Lists::built_in().table();
        assert_eq!(table.lines().count(), 7);
        assert!(table.contains("disposable          10174  2026-11-09  CC0-1.0  PyPI"), "{table}");
    }
}

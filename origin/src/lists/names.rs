//! Suffixes of a domain name, for lookups in lists.

/// Down to two labels, the longest first.
pub(super) fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, above)| above))
        .filter(|suffix| suffix.contains('.'))
}

pub(super) fn listed_suffix(name: &str, is_listed: impl Fn(&str) -> bool) -> Option<&str> {
    suffixes(name).find(|suffix| is_listed(suffix))
}

#[cfg(test)]
mod tests {
    use super::{listed_suffix, suffixes};

    #[test]
    fn a_name_is_looked_up_in_whole_labels_and_a_top_level_domain_never() {
        assert_eq!(suffixes("a.b.co.uk").collect::<Vec<_>>(), ["a.b.co.uk", "b.co.uk", "co.uk"]);
        assert_eq!(suffixes("uk").count(), 0);
        assert_eq!(suffixes("").count(), 0);
        assert_eq!(
            listed_suffix("x.mail.example", |it| it == "mail.example"),
            Some("mail.example")
        );
        assert_eq!(listed_suffix("notmail.example", |it| it == "mail.example"), None);
    }
}

//! Describes the mistake in a malformed address for the person who typed it.

use crate::{
    address::{
        ADDRESS_BYTES_MAX, Address, FormatError, LOCAL_PART_BYTES_MAX, LOST,
        marks::{LINE_BREAKS, has_hidden, is_blank},
    },
    name_address::FormMistake,
};

/// Greatest length of a label in bytes (RFC 1035 §2.3.4).
const LABEL_BYTES_MAX: usize = 63;

/// The at sign of Japanese, Chinese and Korean keyboards.
const FULL_WIDTH_AT: char = '＠';

const BRACKETS: &[char] = &['<', '>'];
const SEPARATORS: &[char] = &[',', ';', '|'];

const SEVERAL: &str = "This looks like several addresses. Send one at a time.";
const LINE_BREAK: &str = "There is a line break in it.";
const UNMATCHED: &str = "The angle brackets in it don't match.";

/// Why a text can't be reduced to one address.
pub fn problem_of_form(mistake: FormMistake, text: &str) -> &'static str {
    match mistake {
        FormMistake::Empty => "There is nothing in it.",
        FormMistake::Pairs if text.matches('@').count() > 1 => SEVERAL,
        FormMistake::SecondAddress => SEVERAL,
        FormMistake::LineBreak => LINE_BREAK,
        FormMistake::Unbalanced => UNMATCHED,
        FormMistake::Pairs => {
            "There are several pairs of angle brackets in it, and one is allowed."
        }
        FormMistake::Hollow => "There is nothing between the angle brackets.",
        FormMistake::After | FormMistake::Separator => {
            "There is something after the angle brackets."
        }
    }
}

pub fn problem(text: &str) -> String {
    if let Some(problem) = outside_quotes(text) {
        return problem;
    }
    let (local_part_of, domain_of) = text.rsplit_once('@').unwrap_or((text, ""));
    match Address::parse(text) {
        Err(FormatError::NoAt) => no_at(text).into(),
        Err(_) if text.len() > 4 * ADDRESS_BYTES_MAX => too_long(),
        Err(_) if text.contains(LOST) => {
            format!("A character in it was lost, and {LOST} stands in its place.")
        }
        Err(_) if has_hidden(local_part_of) => {
            "There is an invisible character before the @.".into()
        }
        Err(_) if has_hidden(domain_of) => "There is an invisible character after the @.".into(),
        Err(_) if text.contains(char::is_control) => "There is a control character in it.".into(),
        Err(FormatError::LocalPart) => local_part(local_part_of),
        Err(FormatError::Domain) => domain(domain_of),
        Err(FormatError::TooLong) => too_long(),
        Ok(_) => "It is an address.".into(),
    }
}

fn too_long() -> String {
    format!("It is too long: an address has at most {ADDRESS_BYTES_MAX} bytes.")
}

fn no_at(text: &str) -> &'static str {
    if text.contains(FULL_WIDTH_AT) {
        "The ＠ in it is a full-width sign: type @."
    } else {
        "There is no @ in it."
    }
}

/// If the local part is quoted, only a line break is a mistake, because quotes may contain the other characters.
fn outside_quotes(text: &str) -> Option<String> {
    if text.contains(LINE_BREAKS) {
        return Some(LINE_BREAK.into());
    }
    if text.starts_with('"') {
        return None;
    }
    if text.contains(BRACKETS) {
        return Some("Angle brackets aren't part of an address: leave them out.".into());
    }
    let several = text.matches('@').count();
    if several > 1 {
        return Some(if text.contains(SEPARATORS) || text.contains(is_blank) {
            SEVERAL.into()
        } else {
            format!("There are {several} @ signs in it, and an address has one.")
        });
    }
    text.contains(is_blank).then(|| "There is a space in it.".into())
}

fn local_part(local: &str) -> String {
    if local.is_empty() {
        return "There is nothing before the @.".into();
    }
    if local.len() > LOCAL_PART_BYTES_MAX {
        return format!(
            "The part before the @ is too long: {} bytes, and at most {LOCAL_PART_BYTES_MAX} are allowed.",
            local.len()
        );
    }
    if local.starts_with('.') || local.ends_with('.') {
        return "The part before the @ can't start or end with a dot.".into();
    }
    if local.contains("..") {
        return "There are two dots in a row before the @.".into();
    }
    if local.ends_with(is_blank) {
        return "There is a space before the @.".into();
    }
    if local.starts_with('"') && local.contains(|c| c != ' ' && is_blank(c)) {
        return "Only a plain space is allowed in the quotes before the @.".into();
    }
    if local.starts_with('"') {
        return "The quotes before the @ don't match.".into();
    }
    match local.chars().find(|c| r#"()<>[]:;\,""#.contains(*c)) {
        Some(c) => format!("{} isn't allowed before the @.", named(c)),
        None => "A character before the @ isn't allowed.".into(),
    }
}

/// The name can be the subject of a sentence, which doesn't begin with a sign.
fn named(c: char) -> String {
    let name = match c {
        ',' => "A comma",
        ';' => "A semicolon",
        ':' => "A colon",
        '"' => "A quotation mark",
        '\'' => "An apostrophe",
        '\\' => "A backslash",
        '/' => "A slash",
        '_' => "An underscore",
        '(' | ')' => "A parenthesis",
        '[' | ']' => "A square bracket",
        '<' | '>' => "An angle bracket",
        _ => return format!("The character {c}"),
    };
    name.to_owned()
}

fn domain(domain: &str) -> String {
    if domain.is_empty() {
        return "There is nothing after the @.".into();
    }
    if domain.contains(is_blank) {
        return "There is a space after the @.".into();
    }
    if domain.starts_with('[') {
        return "Addresses at an IP number in brackets aren't supported.".into();
    }
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    if domain.contains('.') && domain.chars().all(is_number) {
        return "There is an IP number after the @, and no domain.".into();
    }
    if domain.len() >= ADDRESS_BYTES_MAX {
        return too_long();
    }
    if domain.starts_with('.') || domain.ends_with('.') {
        return "The domain can't start or end with a dot.".into();
    }
    if domain.contains("..") {
        return "There are two dots in a row after the @.".into();
    }
    if domain.split('.').any(|label| label.len() > LABEL_BYTES_MAX) {
        return format!(
            "The domain is too long: there are at most {LABEL_BYTES_MAX} characters between two dots."
        );
    }
    if domain.split('.').any(|label| label.starts_with('-') || label.ends_with('-')) {
        return "A part of the domain starts or ends with a hyphen.".into();
    }
    let is_allowed = |c: &char| c.is_ascii_alphanumeric() || ".-".contains(*c) || !c.is_ascii();
    match domain.chars().find(|c| !is_allowed(c)) {
        Some(c) => format!("{} isn't allowed after the @.", named(c)),
        None => "What stands after the @ isn't a domain.".into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{ADDRESS_BYTES_MAX, LOST};
    use crate::{Address, read, read_bare};

    #[test]
    fn each_mistake_is_named_and_repaired_where_that_is_plain() {
        let long = format!("{}@example.org", "a".repeat(65));
        let label = format!("ann@{}.org", "x".repeat(64));
        let whole = format!("ann@{}.org", ["y".repeat(60).as_str(); 5].join("."));
        let longer = format!("ann@{}.org", "é\u{200d}".repeat(9_000));
        for (text, problem, repaired) in [
            ("ann", "There is no @ in it.", None),
            ("", "There is nothing in it.", None),
            ("ann＠example.org", "full-width", Some("ann@example.org")),
            ("ａｎｎ＠ｅｘａｍｐｌｅ．ｏｒｇ", "full-width", Some("ann@example.org")),
            ("ann＠", "full-width", None),
            ("ann﹫example.org", "There is no @ in it.", Some("ann@example.org")),
            ("ann@@example.org", "There are 2 @ signs in it", Some("ann@example.org")),
            ("ann@b@example.org", "There are 2 @ signs in it", None),
            ("ann@example.org, bob@example.org", "This looks like several", None),
            ("ann@example.org\u{a0}bob@example.org", "This looks like several", None),
            ("ann @example.org", "There is a space", Some("ann@example.org")),
            ("ann\u{2009}@ example.org", "There is a space", Some("ann@example.org")),
            ("John Smith jsmith@example.org", "There is a space", Some("jsmith@example.org")),
            ("山田太郎 taro@example.org", "There is a space", Some("taro@example.org")),
            ("email: jsmith@example.org", "There is a space", Some("jsmith@example.org")),
            ("jsmith@example.org (work)", "There is a space", Some("jsmith@example.org")),
            ("john smith@example.org", "There is a space", None),
            ("élodie martin@example.org", "There is a space", None),
            ("Élodie martin@example.org", "There is a space", Some("martin@example.org")),
            ("юрий smith@example.org", "There is a space", None),
            ("john. smith@example.org", "There is a space", None),
            ("ann@example.co uk", "There is a space", None),
            ("ann@example.co. uk", "There is a space", None),
            ("ann@mail.example, com", "There is a space", None),
            ("John Smith @example.org", "There is a space", None),
            ("Ann Smith@ example.org", "There is a space", None),
            ("ann@exam ple.org", "There is a space", None),
            ("an n@example org", "There is a space", None),
            ("ann@exam\nple.org", "There is a line break", None),
            ("Ann\n ann@example.org", "There is a line break", Some("ann@example.org")),
            ("ann@exam\u{2028}ple.org", "There is a line break", None),
            ("@example.org", "nothing before", None),
            ("ann@", "nothing after", None),
            (".ann@example.org", "start or end with a dot", Some("ann@example.org")),
            ("ann.@example.org", "start or end with a dot", Some("ann@example.org")),
            ("an..n@example.org", "two dots in a row before", Some("an.n@example.org")),
            ("Ann <ann@example.org>", "Angle brackets", Some("ann@example.org")),
            ("ann(work)@example.org", "A parenthesis isn't allowed before", None),
            ("ann,b@example.org", "A comma isn't allowed before", None),
            ("mailto:ann@example.org", "A colon isn't allowed before", Some("ann@example.org")),
            ("MailTo:ann@example.org?subject=x", "A colon isn't", Some("ann@example.org")),
            ("smtp:ann@example.org", "A colon isn't allowed before", Some("ann@example.org")),
            ("mailto:ann@example.org?cc=bob@example.org", "There are 2 @ signs", None),
            ("\"ann@example.org", "quotes before the @ don't match", Some("ann@example.org")),
            ("\"an\u{a0}n\"@example.org", "Only a plain space", Some("\"an n\"@example.org")),
            ("\"ann\" @example.org", "There is a space before the @.", Some("ann@example.org")),
            ("\"ann\"@ example.org", "There is a space after the @.", None),
            ("an\u{7f}n@example.org", "a control character", None),
            ("ann@example.org\0", "a control character", None),
            ("\u{e000}@example.org", "A character before", None),
            ("an\u{200b}n@example.org", "invisible character before", Some("ann@example.org")),
            (
                "\"a\u{ad} n\"@example.org",
                "invisible character before",
                Some("\"a n\"@example.org"),
            ),
            ("ann@exam\u{200d}ple.org", "invisible character after", Some("ann@example.org")),
            ("a\u{fffd}n@example.org", "was lost", None),
            ("ann@[192.0.2.1]", "in brackets", None),
            ("ann@192.0.2.1", "IP number after", None),
            ("ann@example.org.", "The domain can't start or end", Some("ann@example.org")),
            ("ann@.example.org", "The domain can't start or end", Some("ann@example.org")),
            ("ann@example.org。", "isn't a domain", Some("ann@example.org")),
            ("ann@example..org", "two dots in a row after", Some("ann@example.org")),
            ("ann@example,org", "A comma isn't allowed after", Some("ann@example.org")),
            ("ann@example.org,bob", "A comma isn't allowed after", None),
            ("ann@-example.org", "a hyphen", None),
            ("ann@exa_mple.org", "An underscore isn't allowed after", None),
            ("ann@exa*mple.org", "The character * isn't allowed after", None),
            ("ann@xn--\u{e9}.org", "isn't a domain", None),
            ("“ann”@exam,ple", "A comma isn't allowed after", None),
            (&long, "too long: 65 bytes", None),
            (&label, "at most 63 characters between", None),
            (&whole, "too long", None),
            (&longer, "too long", None),
        ] {
            let malformed = read_bare(text).expect_err(text);
            assert!(malformed.problem().contains(problem), "{text:?}: {}", malformed.problem());
            assert_eq!(malformed.suggestion().as_deref(), repaired, "{text:?}");
        }
    }

    #[test]
    fn beyond_four_times_the_length_of_an_address_nothing_else_is_looked_for() {
        let filler = |bytes: usize| {
            let text = format!("{LOST}{}@example.org", "a".repeat(bytes));
            (text.len() == 4 * ADDRESS_BYTES_MAX).then_some(text)
        };
        let longest = (0..4 * ADDRESS_BYTES_MAX).find_map(filler).unwrap();
        let problem = |text: &str| read_bare(text).unwrap_err().problem();
        assert!(problem(&longest).contains("was lost"), "{}", problem(&longest));
        assert!(problem(&format!("a{longest}")).contains("too long"));
    }

    #[test]
    fn a_text_is_unreadable_if_it_is_empty_or_its_brackets_are_not_one_pair_at_the_end() {
        for (text, is_unreadable) in [
            ("", true),
            ("Ann <ann@example.org", true),
            ("<ann@example.org> <bob@example.org>", true),
            ("Ann <>", true),
            ("<ann@example.org> Ann", true),
            ("<ann@example..org>", false),
            ("bob@example.org <ann@example.org>", false),
            ("ann", false),
        ] {
            let malformed = read(text).expect_err(text);
            assert_eq!(malformed.is_unreadable(), is_unreadable, "{text:?}");
        }
        let malformed = read(" Ann <ann@example..org> ").expect_err("two dots");
        assert_eq!(malformed.text(), "ann@example..org");
        for (text, problem) in [
            ("<ann@example.org> <bob@example.org>", "This looks like several"),
            ("<ann> <bob@example.org>", "There are several pairs"),
        ] {
            let said = read(text).expect_err(text).problem();
            assert!(said.starts_with(problem), "{text}: {said}");
        }
    }

    #[test]
    fn an_address_of_more_bytes_than_allowed_is_too_long_wherever_the_bytes_are() {
        let of_domain = |bytes: usize| {
            let labels = ["y".repeat(60).as_str(); 4].join(".");
            format!("a@{labels}.{}", "z".repeat(bytes - labels.len() - 1))
        };
        let longest = of_domain(ADDRESS_BYTES_MAX - 2);
        assert!(read(&longest).is_ok(), "{longest}");
        for bytes in ADDRESS_BYTES_MAX - 1..ADDRESS_BYTES_MAX + 3 {
            let problem = read_bare(&of_domain(bytes)).expect_err("too long").problem();
            assert!(problem.starts_with("It is too long"), "{bytes}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn every_text_has_an_explanation_and_what_was_meant_is_an_address(
            text in r#"["a-zé＠ａ. \\@<>,;\r\n\u{a0}\u{200b}\u{200d}\u{fe0f}_-]{0,300}"#,
        ) {
            for malformed in [read(&text), read_bare(&text)].into_iter().filter_map(Result::err) {
                let problem = malformed.problem();
                prop_assert!(problem.ends_with('.'), "{}", problem);
                prop_assert!(problem.starts_with(|c: char| c.is_ascii_uppercase()), "{}", problem);
                if let Some(address) = malformed.suggestion() {
                    prop_assert!(Address::parse(&address).is_ok());
                    prop_assert!(read(&address).is_ok());
                }
            }
        }
    }
}

//! Texts of public bug reports, support pages and test lists, and what each is read as. `tests/tests/edge/texts.rs` sends
//! the same rows through the Worker and the command.

mod rows;

use rcpt_shared::{Address, read, read_domain};

#[test]
fn every_text_is_read_as_its_row_says() {
    let rows = rows::rows();
    assert!(rows.len() > 250, "{}", rows.len());
    for row in rows {
        let read = read(&row.text);
        assert_eq!(read.is_ok(), row.is_address, "{:?}", row.text);
        let suggestion = match &read {
            Ok(address) => address.suggestion(None),
            Err(malformed) => malformed.suggestion(),
        };
        assert_eq!(suggestion, row.suggestion, "{:?}", row.text);
    }
}

#[test]
fn a_text_and_its_mistake_are_read_the_same_with_anything_invisible_around_it() {
    for row in rows::rows() {
        for around in
            ["\u{a0}", "\u{feff}\u{202a}", "\u{2060}\u{e0041}\u{3164}\r\n", "\u{ad}\u{2800}"]
        {
            let text = format!("{around}{}{around}", row.text);
            let (read, plain) = (read(&text), read(&row.text));
            assert_eq!(read, plain, "{text:?}");
            let given =
                |it: &Result<Address, _>| it.as_ref().ok().map(|it| it.as_given().to_owned());
            assert_eq!(given(&read), given(&plain), "{text:?}");
        }
    }
}

#[test]
fn a_mark_or_blank_at_any_place_never_makes_another_mailbox() {
    for mark in
        ['\u{200b}', '\u{a0}', '\u{202e}', '\u{ad}', '\u{2060}', '\u{34f}', '\u{fe0f}', '\u{115f}']
    {
        for address in
            ["ann@example.org", "\"a b\"@example.org", "ann@bücher.example", "δ.a@example.org"]
        {
            let plain = read(address).unwrap();
            for (at, _) in address.char_indices() {
                let (before, after) = address.split_at(at);
                let text = format!("{before}{mark}{after}");
                match read(&text) {
                    Ok(read) => assert_eq!(read, plain, "{text:?}: only around it"),
                    Err(malformed) => {
                        let problem = malformed.problem();
                        let words = ["invisible", "space"].map(|word| problem.contains(word));
                        assert!(words.contains(&true), "{text:?}: {problem}");
                        if address.is_ascii() && !address.starts_with('"') && mark != '\u{a0}' {
                            assert_eq!(
                                malformed.suggestion().as_deref(),
                                Some(address),
                                "{text:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_text_that_is_no_address_still_names_its_domains() {
    for (text, domains) in [
        ("x@blocked.example.", &["blocked.example"][..]),
        ("x@BLOCKED.Example。", &["blocked.example"]),
        ("x(comment)@blocked.example", &["blocked.example"]),
        ("x@(comment)blocked.example", &["blocked.example"]),
        ("x@blocked(a.b@c.d).example", &["blocked.example"]),
        ("x@blocked.example(comment)", &["blocked.example"]),
        ("x@[blocked.example]", &["blocked.example"]),
        ("x@(a(b)c)blocked.example", &["blocked.example"]),
        ("x@((b)c())blocked.example", &["blocked.example"]),
        ("x@(blocked.example", &["blocked.example"]),
        ("x@a)blocked.example", &["blocked.example"]),
        ("x@a blocked.example", &["blocked.example"]),
        ("x@.blocked..example", &["blocked.example"]),
        ("x@blocked . example", &["blocked.example"]),
        ("x @ blocked.example", &["blocked.example"]),
        ("x@blocked\u{200b}.example", &["blocked.example"]),
        ("x＠blocked．example>", &["blocked.example"]),
        ("x@a_b.blocked.example", &["blocked.example"]),
        ("x@-a.blocked.example", &["blocked.example"]),
        ("x@blocked,example", &["blocked.example"]),
        ("x@bücher.example.", &["xn--bcher-kva.example"]),
        ("x@xn--bcher-kva.example.", &["xn--bcher-kva.example"]),
        ("Ann <x@blocked.example>;", &["blocked.example"]),
        ("a@one.example, b@blocked.example", &["one.example", "blocked.example"]),
        ("b@blocked.example <nobody>", &["blocked.example"]),
        ("mailto:x@blocked.example?subject=a", &["blocked.example"]),
        ("x@192.0.2.1", &[]),
        ("x@", &[]),
        ("blocked.example", &[]),
    ] {
        let found = read(text).expect_err(text).domains();
        for domain in domains {
            assert!(found.iter().any(|found| found == domain), "{text:?}: {found:?}");
        }
        let in_comment = ["a.b", "c.d"];
        let is_there = |found: &String| [domains, &in_comment].concat().contains(&found.as_str());
        assert!(found.iter().all(is_there), "{text:?}: {found:?}");
    }
    let many = format!("x@{}blocked.example", "a_.".repeat(20_000));
    assert!(read(&many).unwrap_err().domains().contains(&"blocked.example".to_owned()));
}

#[test]
fn a_domain_is_read_as_dns_sees_it() {
    for (text, name) in [
        ("Duck.COM.", Some("duck.com")),
        ("\u{feff} duck.com。\r\n", Some("duck.com")),
        ("bücher.example", Some("xn--bcher-kva.example")),
        ("duck", None),
        ("duck\u{200b}.com", None),
        ("duck.com..", None),
        ("[192.0.2.1]", None),
        ("ann@duck.com", None),
    ] {
        assert_eq!(read_domain(text).as_deref(), name, "{text:?}");
    }
}

//! Files as people have them, each with its right reading. The shapes are from public bug reports of importers; names
//! and companies are invented.

use std::{fs, path::PathBuf};

use rcpt_lists::{
    Answer, Choices, Column, Deliverability, List, Part, Plan, Repeats, RowPlan, TAG_BYTES, read,
};

fn bytes(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    fs::read(folder.join(name)).unwrap()
}

fn list(name: &str) -> List {
    read(bytes(name), &Choices::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn plan(list: &List) -> Plan {
    list.plan(Repeats::default())
}

/// A word for each row: the local parts of its addresses, `-` for an empty cell, `?` for a text that isn't an address.
fn rows(list: &List) -> String {
    let plan = plan(list);
    let word = |row: &RowPlan| match row {
        RowPlan::Empty => "-".to_owned(),
        RowPlan::NotAnAddress => "?".to_owned(),
        _ => {
            let local = |at: &u32| {
                let address = &plan.addresses[*at as usize];
                let local = address.split('@').next().unwrap();
                local.strip_prefix("accepts+").unwrap_or(local).to_owned()
            };
            row.positions().iter().map(local).collect::<Vec<_>>().join("+")
        }
    };
    plan.rows.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn notices(list: &List) -> Vec<String> {
    list.notices().iter().map(ToString::to_string).collect()
}

/// The copy, with the verdict `risky` for every address.
fn copy(list: &List) -> Vec<u8> {
    let risky = |_| {
        Some(Answer {
            verdict: Deliverability::Risky,
            reason: "accepted_catch_all".to_owned(),
            disposable: Some(false),
            role: Some(true),
            free: None,
            is_final: true,
        })
    };
    list.copy(&plan(list), &Part { answer: &risky, only: &|_, _| true, split: false })
}

const OURS: &str =
    "rcpt_verdict,rcpt_reason,rcpt_suggestion,rcpt_disposable,rcpt_role,rcpt_free,rcpt_final";
const RISKY: &str = "risky,accepted_catch_all,,false,true,,true";

#[test]
fn each_file_has_its_rows_its_column_and_its_delimiter() {
    let table = [
        ("01-bom-header.csv", ',', "email", "ann bob"),
        ("02-bom-headerless.csv", ',', "column 1", "ann bob cid"),
        ("03-utf16le-unicode-text.csv", '\t', "E-Mail", "joerg zoe"),
        ("04-utf16be.csv", ';', "email", "ann bob"),
        ("05-cp1252-semicolon.csv", ';', "E-Mail", "joerg niamh rejects"),
        ("06-cp1251-semicolon.csv", ';', "Почта", "ivan maria rejects"),
        ("08-mixed-encodings.csv", ',', "email", "lukasz zoe joerg yamada"),
        ("10-type-line.csv", ',', "mail", "ann rejects"),
        ("12-quoted-newlines.csv", ',', "email", "ann rejects cid"),
        ("12b-excel-line-ends.csv", ',', "E-Mail\n(private)", "ann rejects"),
        ("13-commas-in-semicolon-header.csv", ';', "E-Mail", "ann rejects"),
        ("14-title-line.csv", ',', "E-Mail", "ann rejects"),
        ("15-outlook-short-rows.csv", ',', "E-mail Address", "ann - rejects"),
        ("16-google-contacts.csv", ',', "E-mail 1 - Value", "ann bob1+bob2 - rejects"),
        ("17-mailchimp-export.csv", ',', "Email Address", "ann rejects cid"),
        ("18-hubspot-additional.csv", ',', "Email", "ann - rejects"),
        ("19-salesforce-users.csv", ',', "Email", "ann bob.jones cid=customers.example.org"),
        ("20-ghost-members.csv", ',', "email", "ann rejects"),
        ("20b-email-flag-column.csv", ',', "contact", "ann rejects"),
        (
            "21-multi-address-cells.csv",
            ',',
            "email",
            "a1+a2 b1+b2 c1+c2 d1+d2 e1+e2 f1+f2 g1+g2 hal",
        ),
        ("22-blanks-around.csv", ',', "email", "ann bob cid dee eve fay gus"),
        ("23b-case-of-local-part.csv", ',', "email", "x x x x"),
        ("24-cr-only.csv", ',', "email", "ann rejects"),
        ("24b-mixed-line-ends.csv", ',', "email", "ann bob rejects"),
        ("24c-joined-windows-and-unix.csv", ',', "email", "w0 w1 w2 w3 w4 u0 u1 u2 u3"),
        ("25-prefixes.csv", ',', "email", "? ? ? ? eve fay ? ? ?"),
        ("26-qualtrics-three-headers.csv", ',', "RecipientEmail", "ann rejects -"),
        (
            "27-headerless-two-address-columns.csv",
            ';',
            "column 3",
            "ann.work bob.work cid.work dee.work",
        ),
        ("28-tabs-padded.csv", '\t', "E-Mail", "ann rejects"),
        ("29-stray-quotes.csv", ',', "email", "ann bob rejects"),
        ("29b-unclosed-quote.csv", ',', "email", "ann bob cid dee"),
        ("31-trailing-empty-rows.csv", ',', "email", "ann rejects - - - -"),
        ("32-long-note.csv", ',', "email", "ann bob rejects"),
        ("33-nul-bytes.csv", ',', "email", "ann bob ? rejects"),
        ("34-pipe.csv", '|', "email", "ann rejects"),
        ("35-formula-safe.csv", ',', "email", "? ? ? dee"),
        ("36-unquoted-comma.csv", ',', "email", "ann ? cid"),
        ("37-hash-comment.csv", ';', "email", "ann rejects"),
        ("38-crlf-line-number.csv", ',', "email", "ann bob cid dee"),
        ("38b-line-number-after-blank-lines.csv", ',', "email", "ann cid"),
        ("38c-crlf-encoding-line-number.csv", ',', "email", "ann bob joerg"),
    ];
    let mut wrong = Vec::new();
    for (name, delimiter, column, expected) in table {
        let list = list(name);
        let found = (
            char::from(list.delimiter()),
            list.column().map(|it| list.column_name(it)),
            rows(&list),
        );
        if found != (delimiter, Some(column.to_owned()), expected.to_owned()) {
            wrong.push(format!("{name}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Every file of the folder is read somewhere here.
    let known = table.map(|row| row.0);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    for file in fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let elsewhere = ["23-duplicates-10k.csv", "30-whole-line-quoted.csv"];
        assert!(known.contains(&&*name) || elsewhere.contains(&&*name), "{name}");
    }
}

#[test]
fn what_a_person_should_know_is_said_with_the_lines_of_the_file() {
    let table: &[(&str, &[&str])] = &[
        ("01-bom-header.csv", &[]),
        (
            "08-mixed-encodings.csv",
            &["Line 4 isn't UTF-8 like the others: it's read as windows-1252."],
        ),
        ("10-type-line.csv", &["Line 1 above the list isn't part of it."]),
        ("12-quoted-newlines.csv", &[]),
        ("14-title-line.csv", &["Lines 1, 2 above the list aren't part of it."]),
        ("24b-mixed-line-ends.csv", &[]),
        ("26-qualtrics-three-headers.csv", &["Lines 2, 4 above the list aren't part of it."]),
        (
            "29-stray-quotes.csv",
            &["Line 3: a quotation mark is out of place, so it's read as a character."],
        ),
        (
            "29b-unclosed-quote.csv",
            &["Line 3: a quotation mark is out of place, so it's read as a character."],
        ),
        ("31-trailing-empty-rows.csv", &["One line is empty."]),
        (
            "36-unquoted-comma.csv",
            &[
                "Line 3: more cells than the headings, and the address isn't in its column. Is a comma without quotes?",
            ],
        ),
        ("37-hash-comment.csv", &["Line 1 above the list isn't part of it."]),
        ("38b-line-number-after-blank-lines.csv", &["2 lines are empty."]),
        (
            "15-outlook-short-rows.csv",
            &[
                "Other columns have addresses too, which aren't checked: E-mail 2 Address, E-mail 3 Address.",
            ],
        ),
    ];
    for (name, expected) in table {
        assert_eq!(notices(&list(name)), *expected, "{name}");
    }
    assert_eq!(list("38-crlf-line-number.csv").number(2), 4);
    assert_eq!(list("38b-line-number-after-blank-lines.csv").number(1), 5);
    assert_eq!(list("38c-crlf-encoding-line-number.csv").number(2), 4);
}

#[test]
fn the_encoding_is_told_or_guessed_and_shown_with_words_of_the_file() {
    let table: &[(&str, &str, &[&str], bool)] = &[
        ("03-utf16le-unicode-text.csv", "UTF-16LE", &["Jörg", "Groß", "Köln"], false),
        ("04-utf16be.csv", "UTF-16BE", &["Änn", "Böb"], false),
        ("05-cp1252-semicolon.csv", "windows-1252", &["Jörg", "Müller", "Köln"], true),
        ("06-cp1251-semicolon.csv", "windows-1251", &["Имя", "Почта", "Город"], true),
        ("08-mixed-encodings.csv", "UTF-8", &["Łukasz", "Żak", "Zoë"], true),
        ("01-bom-header.csv", "UTF-8", &[], false),
    ];
    for (name, encoding, words, is_guess) in table {
        let list = list(name);
        let found = list.encoding();
        assert_eq!((found.name, found.is_guess), (*encoding, *is_guess), "{name}");
        assert_eq!(found.words, *words, "{name}");
    }
    let chosen = Choices { encoding: Some("windows-1252".to_owned()), ..Choices::default() };
    let other = read(bytes("06-cp1251-semicolon.csv"), &chosen).unwrap();
    assert_eq!((other.encoding().name, &*other.encoding().words[0]), ("windows-1252", "Èìÿ"));
    // Wrongly read names go back as they came.
    assert!(
        copy(&other)
            .starts_with(b"\xc8\xec\xff;\xcf\xee\xf7\xf2\xe0;\xc3\xee\xf0\xee\xe4;rcpt_verdict;")
    );
    // In a joined file the choice is for the lines that aren't UTF-8.
    let cyrillic = Choices { encoding: Some("windows-1251".to_owned()), ..Choices::default() };
    let joined = read(bytes("08-mixed-encodings.csv"), &cyrillic).unwrap();
    assert_eq!((joined.cells(0)[0].as_str(), joined.cells(2)[0].as_str()), ("Łukasz Żak", "Jцrg"));
}

#[test]
fn shift_jis_is_recognised_and_its_bytes_that_look_like_bars_are_letters() {
    // 0x83 0x7c is ポ: its second byte is the bar of ASCII.
    let file =
        b"name,email\r\n\x8eR\x93c\x91\xbe\x98Y\x83|\x83X\x83g,accepts+yamada@sandbox.test\r\n\
                 \x97\xe9\x96\xd8\x82\xb3\x82\xf1,accepts+suzuki@sandbox.test\r\n";
    let list = read(file.to_vec(), &Choices::default()).unwrap();
    assert_eq!((list.encoding().name, list.cells(0)[0].as_str()), ("Shift_JIS", "山田太郎ポスト"));
    let bars: Vec<u8> = file.iter().map(|byte| if *byte == b',' { b'|' } else { *byte }).collect();
    let list = read(bars.clone(), &Choices::default()).unwrap();
    assert_eq!((char::from(list.delimiter()), list.cells(0)[0].as_str()), ('|', "山田太郎ポスト"));
    let kept = [&bars[..10], OURS.replace(',', "|").as_bytes()].join(&b'|');
    assert!(copy(&list).starts_with(&kept));
}

#[test]
fn a_copy_is_the_file_with_our_columns() {
    for (name, first, second) in [
        ("01-bom-header.csv", "email,name", "accepts+ann@sandbox.test,Ann"),
        ("24b-mixed-line-ends.csv", "email,name", "accepts+ann@sandbox.test,Ann"),
        (
            "28-tabs-padded.csv",
            "Name  \tE-Mail  \tOrt",
            "Ann   \taccepts+ann@sandbox.test      \tBonn",
        ),
    ] {
        let text = String::from_utf8(copy(&list(name))).unwrap();
        let delimiter = if first.contains('\t') { "\t" } else { "," };
        let mut lines = text.trim_start_matches('\u{feff}').lines();
        let with =
            |cells: &str, ours: &str| format!("{cells}{delimiter}{}", ours.replace(',', delimiter));
        assert_eq!(lines.next().unwrap(), with(first, OURS), "{name}");
        assert_eq!(lines.next().unwrap(), with(second, RISKY), "{name}");
    }
    assert!(copy(&list("01-bom-header.csv")).starts_with(b"\xef\xbb\xbfemail,name,rcpt_verdict"));
    let text = String::from_utf8(copy(&list("24-cr-only.csv"))).unwrap();
    assert_eq!(
        text,
        format!(
            "email,name,{OURS}\raccepts+ann@sandbox.test,Ann,{RISKY}\rrejects@sandbox.test,Bob,{RISKY}\r"
        )
    );
    let mixed = copy(&list("24b-mixed-line-ends.csv"));
    let text = String::from_utf8(mixed).unwrap();
    assert_eq!((text.matches("\r\n").count(), text.matches('\n').count()), (2, 3));
    assert!(text.ends_with(&format!("Cid,{RISKY}")), "{text:?}");
}

#[test]
fn bytes_of_other_columns_come_back_whatever_their_encoding() {
    for name in ["05-cp1252-semicolon.csv", "06-cp1251-semicolon.csv", "08-mixed-encodings.csv"] {
        let (before, after) = (bytes(name), copy(&list(name)));
        let delimiter = if name.starts_with("08") { b',' } else { b';' };
        for (before, after) in before.split(|b| *b == b'\n').zip(after.split(|b| *b == b'\n')) {
            let kept = before.strip_suffix(b"\r").unwrap_or(before);
            assert!(after.starts_with(kept), "{name}");
            assert!(kept.is_empty() || after[kept.len()] == delimiter, "{name}");
        }
    }
    let text: Vec<u16> = copy(&list("03-utf16le-unicode-text.csv"))
        .chunks(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect();
    let text = String::from_utf16(&text).unwrap();
    let second =
        format!("Jörg Groß\taccepts+joerg@sandbox.test\tKöln\t{}\r\n", RISKY.replace(',', "\t"));
    assert!(text.contains(&second), "{text}");
    assert!(text.starts_with("\u{feff}Name\tE-Mail\tOrt\trcpt_verdict\t"), "{text}");
}

#[test]
fn a_quote_that_is_a_character_is_one_for_every_program_that_reads_the_copy() {
    for (name, row, cell) in [
        ("29-stray-quotes.csv", 1, "\"Bob\" Jones"),
        ("29-stray-quotes.csv", 0, "Ann \"Annie\" Smith"),
        ("29b-unclosed-quote.csv", 1, "\"Bob"),
    ] {
        let copy = copy(&list(name));
        let mut reader = csv::Reader::from_reader(&*copy);
        let read: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!((&read[row][0], &read[row][2]), (cell, "risky"), "{name}");
    }
}

#[test]
fn short_rows_are_filled_and_long_ones_widen_the_headings() {
    let text = String::from_utf8(copy(&list("15-outlook-short-rows.csv"))).unwrap();
    for line in text.lines() {
        assert_eq!(line.matches(',').count(), 11 + 7, "{line}");
    }
    assert!(
        text.lines().nth(2).unwrap().ends_with("SMTP,Bob,,,,,,,,,"),
        "an empty cell has no verdict: {text}"
    );
    let text = String::from_utf8(copy(&list("36-unquoted-comma.csv"))).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], format!("name,email,city,,{OURS}"));
    assert_eq!(lines[1], format!("\"Smith, Ann\",accepts+ann@sandbox.test,Bonn,,{RISKY}"));
    assert_eq!(
        lines[2],
        "Jones, Bob,accepts+bob@sandbox.test,Trier,not_an_address,There is no @ in it.,accepts+bob@sandbox.test,,,,"
    );
}

#[test]
fn columns_of_an_earlier_copy_are_replaced() {
    for name in [
        "05-cp1252-semicolon.csv",
        "15-outlook-short-rows.csv",
        "03-utf16le-unicode-text.csv",
        "34-pipe.csv",
    ] {
        let first = copy(&list(name));
        let again = read(first.clone(), &Choices::default()).unwrap();
        assert_eq!(copy(&again), first, "{name}");
    }
    let file = "rcpt_verdict,email,rcpt_free,name\nrisky,a@x.org,true,Ann\n,b@x.org\n";
    let text = String::from_utf8(copy(&read(file.into(), &Choices::default()).unwrap())).unwrap();
    assert_eq!(text, format!("email,name,{OURS}\na@x.org,Ann,{RISKY}\nb@x.org,,{RISKY}\n"));
}

#[test]
fn repeated_addresses_are_checked_once_and_case_matters_where_that_is_said() {
    let list = list("23-duplicates-10k.csv");
    let once = plan(&list);
    assert_eq!(
        (once.counts.rows, once.counts.addresses, once.counts.repeated),
        (10_000, 2_500, 7_500)
    );
    let each = list.plan(Repeats { once: false, ..Repeats::default() });
    assert_eq!((each.counts.addresses, each.counts.repeated), (10_000, 7_500));
    assert_eq!(each.rows[9_999].positions(), [9_999]);
    let case = self::list("23b-case-of-local-part.csv");
    assert_eq!(case.plan(Repeats { case_matters: true, ..Repeats::default() }).addresses.len(), 4);
    assert_eq!(plan(&case).addresses, ["accepts+x@sandbox.test"]);
}

#[test]
fn a_row_with_several_addresses_is_as_bad_as_its_worst_and_names_each() {
    let list =
        read(b"email\n\"a@x.org, b@x.org\"\na@x.org\n".to_vec(), &Choices::default()).unwrap();
    let answer = |bad: bool| Answer {
        verdict: if bad { Deliverability::Undeliverable } else { Deliverability::Deliverable },
        reason: if bad { "no_such_mailbox" } else { "accepted" }.to_owned(),
        disposable: Some(bad),
        role: None,
        free: Some(false),
        is_final: !bad,
    };
    let plan = list.plan(Repeats::default());
    assert_eq!((plan.counts.addresses, plan.counts.several), (2, 1));
    let all = Part { answer: &|at| Some(answer(at == 1)), only: &|_, _| true, split: false };
    let copy = list.copy(&plan, &all);
    let several = "a@x.org deliverable: accepted; b@x.org undeliverable: no_such_mailbox";
    assert_eq!(
        String::from_utf8(copy).unwrap(),
        format!(
            "email,{OURS}\n\"a@x.org, b@x.org\",undeliverable,{several},,true,,false,false\n\
             a@x.org,deliverable,accepted,,false,,false,true\n"
        )
    );
    // One of two is known: nobody can say yet which is the worst.
    let half = list.copy(
        &plan,
        &Part {
            answer: &|at| (at == 0).then(|| answer(false)),
            only: &|_, verdict| verdict.is_some(),
            split: false,
        },
    );
    assert_eq!(String::from_utf8(half).unwrap().lines().count(), 2);
    // Split, each address has a row and a verdict of its own, and only the wanted ones are there.
    let split = |only: &dyn Fn(&[u32], Option<Deliverability>) -> bool| {
        let answer = |at| Some(answer(at == 1));
        String::from_utf8(list.copy(&plan, &Part { answer: &answer, only, split: true })).unwrap()
    };
    let (good, bad) = (
        "a@x.org,deliverable,accepted,,false,,false,true\n",
        "b@x.org,undeliverable,no_such_mailbox,,true,,false,false\n",
    );
    assert_eq!(split(&|_, _| true), format!("email,{OURS}\n{good}{bad}{good}"));
    let deliverable = |_: &[u32], verdict| verdict == Some(Deliverability::Deliverable);
    assert_eq!(split(&deliverable), format!("email,{OURS}\n{good}{good}"));
}

#[test]
fn a_mistyped_domain_that_takes_no_mail_has_a_suggestion() {
    let list =
        read(b"email\nann@gmail.con\nbob@gmail.com\n".to_vec(), &Choices::default()).unwrap();
    let answer = |_| {
        Some(Answer {
            verdict: Deliverability::Undeliverable,
            reason: "domain_not_found".to_owned(),
            disposable: None,
            role: None,
            free: None,
            is_final: true,
        })
    };
    let part = Part { answer: &answer, only: &|_, _| true, split: false };
    let copy = String::from_utf8(list.copy(&plan(&list), &part)).unwrap();
    assert!(copy.contains("ann@gmail.con,undeliverable,domain_not_found,ann@gmail.com,"), "{copy}");
    assert!(copy.contains("bob@gmail.com,undeliverable,domain_not_found,,"), "{copy}");
}

#[test]
fn a_list_without_a_column_of_addresses_is_a_list_and_the_column_can_be_chosen() {
    let mut lines = list("30-whole-line-quoted.csv");
    assert_eq!((lines.column(), lines.width(), lines.len()), (None, 1, 3));
    assert_eq!(plan(&lines).counts.empty, 3);
    lines.choose(Some(&Column::Number(0)));
    assert_eq!(rows(&lines), "? ?", "a comma in a cell isn't an address of two people");
    let mut other = list("15-outlook-short-rows.csv");
    other.choose(Some(&Column::Named("e-mail 2 address".to_owned())));
    assert_eq!(rows(&other), "- bob2 -");
    other.choose(None);
    assert_eq!(rows(&other), "ann - rejects");
}

#[test]
fn files_that_are_no_lists_say_what_they_are() {
    let said = |bytes: &[u8]| read(bytes.to_vec(), &Choices::default()).unwrap_err().to_string();
    for (bytes, what) in [
        (&b""[..], "This has no text in it."),
        (b" \r\n\r\n", "This has no text in it."),
        (b"\xef\xbb\xbf", "This has no text in it."),
        (b"\x89PNG\r\n\x1a\nxxxx", "This is a PNG picture, not a list."),
        (b"%PDF-1.7\n", "This is a PDF document, not a list."),
        (b"{\"email\": \"a@x.org\"}", "This is a JSON file, not a list."),
        (b"[{\"email\": \"a@x.org\"}]\n", "This is a JSON file, not a list."),
        (b"BEGIN:VCARD\r\nEMAIL:a@x.org\r\n", "This is an address book (vCard), not a list."),
        (b"\n<html><body><table>", "This is a web page, not a list."),
        (b"PK\x03\x04junk", "This workbook can't be opened"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "This workbook can't be opened"),
        (&[1, 2, 3, 4, 5, 6, 7, 200], "This is no text, not a list."),
    ] {
        assert!(said(bytes).starts_with(what), "{}", said(bytes));
    }
}

#[test]
fn a_list_that_was_sorted_cut_and_enlarged_finds_its_verdicts_by_the_tags_of_the_scan() {
    let read = |text: &str| read(text.as_bytes().to_vec(), &Choices::default()).unwrap();
    let scanned = read("email\nann@x.org\nbob@x.org\ncid@x.org\n\"dee@x.org, ann@x.org\"\n");
    let plan = scanned.plan(Repeats::default());
    assert_eq!(plan.addresses.len(), 4);
    let tags = plan.tags("scan_1", false);
    assert_eq!(tags.len(), 4 * TAG_BYTES);
    let now = read(
        "name;email\nNew;new@x.org\nB;BOB@X.org\nD;dee@x.org, ann@x.org\nE;dee@x.org, eve@x.org\n;\n-;none\n",
    );
    let joined = now.joined("scan_1", &tags, false);
    let positions: Vec<_> = joined.rows.iter().map(RowPlan::positions).collect();
    assert_eq!(positions, [&[][..], &[1], &[3, 0], &[], &[], &[]]);
    assert_eq!((joined.counts.addresses, joined.counts.not_in_scan), (3, 2));
    assert_eq!(joined.addresses, ["ann@x.org", "BOB@X.org", "", "dee@x.org"]);
    let verdict = |position: u32| {
        Some(Answer {
            verdict: if position == 1 {
                Deliverability::Undeliverable
            } else {
                Deliverability::Deliverable
            },
            reason: "said".to_owned(),
            disposable: None,
            role: None,
            free: None,
            is_final: true,
        })
    };
    let copy = String::from_utf8(
        now.copy(&joined, &Part { answer: &verdict, only: &|_, _| true, split: false }),
    )
    .unwrap();
    let words: Vec<_> = copy.lines().skip(1).map(|line| line.split(';').nth(2).unwrap()).collect();
    assert_eq!(words, ["", "undeliverable", "deliverable", "", "", "not_an_address"]);
    // Every position of a repeated address is one of this list's.
    let each = read("ann@x.org\nbob@x.org\nann@x.org\n")
        .plan(Repeats { once: false, ..Repeats::default() });
    let joined = now.joined("scan_3", &each.tags("scan_3", false), false);
    assert_eq!(joined.addresses, ["ann@x.org", "BOB@X.org", "ann@x.org"]);
    // Another scan's tags, or those of another case, find nothing.
    assert_eq!(now.joined("scan_2", &tags, false).counts.addresses, 0);
    assert_eq!(
        now.joined("scan_1", &scanned.plan(Repeats::default()).tags("scan_1", true), true)
            .counts
            .addresses,
        2
    );
    assert_eq!(now.joined("scan_1", &[], false).counts.addresses, 0);
}

#[test]
fn nobody_of_a_thousand_is_lost_behind_stray_quotes_and_changing_line_ends() {
    let mut file = "name,email,city\r\n".to_owned();
    for n in 0..1_000 {
        let name = match n {
            299 => "\"Bob\" Jones",
            500 => "\"Never closed",
            700 => "\"\"Twice\"\"",
            900 => "Screen 5\"",
            _ => "Ann",
        };
        let end = if n < 500 {
            "\r\n"
        } else if n < 800 {
            "\n"
        } else {
            "\r"
        };
        file += &format!("{name},person{n}@x.org,Bonn{end}");
    }
    let list = read(file.into_bytes(), &Choices::default()).unwrap();
    assert_eq!((list.len(), plan(&list).counts.addresses), (1_000, 1_000));
    let said =
        "Lines 301, 502, 702: a quotation mark is out of place, so it's read as a character.";
    assert_eq!(notices(&list), [said]);
    let copy = copy(&list);
    let records: Vec<_> = csv::Reader::from_reader(&*copy).records().map(Result::unwrap).collect();
    assert_eq!(records.len(), 1_000);
    assert!(
        records
            .iter()
            .enumerate()
            .all(|(n, row)| row[1] == *format!("person{n}@x.org") && &row[3] == "risky")
    );
}

#[test]
fn a_workbook_becomes_a_csv_in_which_no_text_is_a_formula() {
    for name in ["customers.xlsx", "customers.xls", "customers.ods"] {
        let list = list(&format!("../../../workbooks/tests/files/{name}"));
        assert_eq!(
            (rows(&list).as_str(), list.sheets().unwrap().1),
            ("joerg ann bob", 1),
            "{name}"
        );
        assert_eq!((list.number(0), list.number(2)), (2, 5), "{name}");
        assert_eq!(notices(&list), ["Other sheets have addresses too, which aren't checked: Old."]);
        let text = String::from_utf8(copy(&list)).unwrap();
        assert!(
            text.starts_with(&format!("\u{feff}Name,E-Mail,Since,Number,Sum,{OURS}\r\n")),
            "{text}"
        );
        let last = text.lines().last().unwrap();
        assert_eq!(last, format!("'=Bob,bob@example.org,,1.5,,{RISKY}"), "{name}");
    }
    // Cells from a CSV go back as they came; our own columns are guarded everywhere.
    let list = read(b"phone,email\n+49 30 1,=a@@x.org\n=1,b@x.org\n".to_vec(), &Choices::default())
        .unwrap();
    let text = String::from_utf8(copy(&list)).unwrap();
    assert!(
        text.lines().nth(1).unwrap().starts_with("+49 30 1,=a@@x.org,not_an_address,"),
        "{text}"
    );
    assert!(text.contains(",'=a@x.org,") && text.contains("\n=1,b@x.org,risky"), "{text}");
}

#[test]
fn lines_that_tell_excel_the_delimiter_are_above_the_list() {
    for file in ["sep=;\r\nname;mail\r\nA, B;a@x.org\r\n", "sep=|\r\nname|mail\r\nA|a@x.org\r\n"] {
        let list = read(file.into(), &Choices::default()).unwrap();
        assert_eq!((rows(&list).as_str(), list.number(0)), ("a", 3));
        assert_eq!(notices(&list), ["Line 1 above the list isn't part of it."]);
        assert!(String::from_utf8(copy(&list)).unwrap().starts_with(&file[..7]));
    }
}

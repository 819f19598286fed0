//! Random dirty files: no line is lost, and a copy is the file.

use proptest::{collection::vec, prelude::*, sample::select};
use rcpt_lists::{
    Answer, Choices, Deliverability, Notice, Part, Repeats, Subject, read, read_pasted, subject,
};

/// Parts of files of which each is what some program writes.
const PIECES: [&[u8]; 40] = [
    b"ann@x.org",
    b"bob@x.org",
    b"Cid <cid@x.org>",
    b"\"Smith, Ann\"",
    b"\"Bob\" Jones",
    b"5\" screen",
    b"\"",
    b"\"\"",
    b"\"a\nb\"",
    b"\"x@y.org\r\nz@y.org\"",
    b"\xfc",
    b"J\xf6rg",
    b"Zo\xc3\xab",
    b"\xe5\xb1\xb1",
    b"\x83|",
    b"\xcf\xee\xf7\xf2\xe0",
    b"\0",
    b"a",
    b"name",
    b"email",
    b"#TYPE x",
    b"sep=;",
    b" ",
    b"\xc2\xa0",
    b"rcpt_verdict",
    b"=1+1",
    b"+49 30",
    b"a@b@c",
    b"mailto:a@x.org",
    b"'a@x.org",
    b"\xef\xbb\xbf",
    b"\xe2\x80\x8b",
    b"{\"ImportId\"",
    b"\x1b$B",
    b"d@x.org;e@x.org",
    b"f@x.org, g@x.org",
    b"\"never closed",
    b"closed\"",
    b"\"\"\"",
    b"\xff",
];
const BETWEEN: [&[u8]; 8] = [b",", b",", b",", b";", b"\t", b"|", b"", b" "];
const ENDS: [&[u8]; 7] = [b"\n", b"\n", b"\r\n", b"\r\n", b"\r", b"\n\n", b"\r\r\n"];

fn file() -> impl Strategy<Value = Vec<u8>> {
    let cell = (select(&PIECES[..]), select(&BETWEEN[..]));
    let row = (vec(cell, 0..5), select(&ENDS[..]));
    let rows = vec(row, 0..14).prop_map(|rows| {
        let mut file = Vec::new();
        for (cells, end) in rows {
            for (cell, between) in cells {
                file.extend([cell, between].concat());
            }
            file.extend(end);
        }
        file
    });
    // Some files are UTF-16.
    (rows, 0..12_u8).prop_map(|(rows, form)| {
        let text = || String::from_utf8_lossy(&rows).into_owned();
        match form {
            0 => text().encode_utf16().flat_map(u16::to_le_bytes).collect(),
            1 => [
                &b"\xff\xfe"[..],
                &text().encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(),
            ]
            .concat(),
            2 => [
                &b"\xfe\xff"[..],
                &text().encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>(),
            ]
            .concat(),
            _ => rows,
        }
    })
}

/// Lines of a text by the file's bytes alone; those of UTF-16 by its units.
fn lines(bytes: &[u8], unit: usize, is_big: bool) -> u32 {
    let body = if unit == 2 && (bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")) {
        &bytes[2..]
    } else {
        bytes
    };
    let units: Vec<u32> = body
        .chunks(unit)
        .map(|pair| match pair {
            [a, b] if is_big => u32::from(*a) << 8 | u32::from(*b),
            [a, b] => u32::from(*b) << 8 | u32::from(*a),
            [a] if unit == 1 => u32::from(*a),
            _ => 0xFFFD,
        })
        .collect();
    let is_end = |at: usize| match units[at] {
        0x0A => true,
        0x0D => units.get(at + 1) != Some(&0x0A),
        _ => false,
    };
    let ends = (0..units.len()).filter(|at| is_end(*at)).count();
    let is_open = !units.is_empty() && !is_end(units.len() - 1);
    u32::try_from(ends + usize::from(is_open)).unwrap()
}

fn answer(position: u32) -> Option<Answer> {
    let verdict = [
        Deliverability::Deliverable,
        Deliverability::Risky,
        Deliverability::Unknown,
        Deliverability::Undeliverable,
    ][position as usize % 4];
    Some(Answer {
        verdict,
        reason: "reason".to_owned(),
        disposable: None,
        role: None,
        free: None,
        is_final: true,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3_000) })]

    #[test]
    fn each_line_of_a_file_is_in_one_row_or_in_one_notice(bytes in file()) {
        let Ok(list) = read(bytes.clone(), &Choices::default()) else { return Ok(()) };
        let wide = list.encoding().name.starts_with("UTF-16");
        let total = lines(&bytes, if wide { 2 } else { 1 }, list.encoding().name == "UTF-16BE");
        let mut next = 1;
        for lines in list.lines() {
            prop_assert_eq!(lines.start, next);
            next = lines.end;
        }
        prop_assert_eq!(next - 1, total);
        // Each row is a row with a number of its own, and has one plan.
        let plan = list.plan(Repeats::default());
        prop_assert_eq!(plan.rows.len(), list.len());
        prop_assert!((1..list.len()).all(|row| list.number(row) > list.number(row - 1)));
        prop_assert_eq!(list.into_bytes(), bytes);
    }

    #[test]
    fn another_program_reads_in_a_copy_the_cells_of_the_file_and_each_row_s_verdict(bytes in file()) {
        let Ok(list) = read(bytes.clone(), &Choices::default()) else { return Ok(()) };
        let headings = list.headings().unwrap_or_default();
        let replaces = headings.iter().any(|heading| heading.trim() == "rcpt_verdict");
        let is_noticed = list.notices().iter().any(|notice| matches!(notice, Notice::Above { .. }));
        if list.encoding().odd_lines.is_some() || replaces || is_noticed {
            return Ok(());
        }
        let plan = list.plan(Repeats::default());
        let copy = list.copy(&plan, &Part { answer: &answer, only: &|_, _| true, split: false });
        let encoding = encoding_rs::Encoding::for_label(list.encoding().name.as_bytes()).unwrap();
        let text = encoding.decode_without_bom_handling(&copy).0;
        let mut reader = csv::ReaderBuilder::new();
        let reader = reader.has_headers(false).flexible(true).delimiter(list.delimiter());
        let records = reader.from_reader(text.as_bytes()).into_records().map(Result::unwrap);
        // Blanks around a quoted cell belong to it for some programs.
        let trimmed = |cell: &str| cell.trim_end_matches(' ').to_owned();
        let is_blank = |cell: &str| cell.trim_matches([' ', '\u{a0}']).is_empty();
        let blank = |record: &csv::StringRecord| record.len() == 1 && is_blank(&record[0]);
        let mut read: Vec<Vec<String>> =
            records.filter(|record| !blank(record)).map(|record| record.iter().map(trimmed).collect()).collect();
        if list.headings().is_some() {
            read.remove(0);
        }
        prop_assert_eq!(read.len(), list.len(), "{:?}", text);
        for (row, cells) in read.into_iter().enumerate() {
            let mut expected: Vec<_> = list.cells(row).iter().map(|cell| trimmed(cell)).collect();
            expected.resize(list.width(), String::new());
            prop_assert_eq!(&cells[..list.width()], expected, "{:?}", text);
            let is_known = !plan.rows[row].positions().is_empty();
            let verdict = &*cells[list.width()];
            prop_assert_eq!(is_known, !["", "not_an_address"].contains(&verdict), "{:?}", text);
        }
    }

    #[test]
    fn a_copy_without_any_row_is_what_stands_above_and_beside_them(bytes in file()) {
        let Ok(list) = read(bytes.clone(), &Choices::default()) else { return Ok(()) };
        let none = list.copy(&list.plan(Repeats::default()), &Part { answer: &answer, only: &|_, _| false, split: false });
        let all = list.copy(&list.plan(Repeats::default()), &Part { answer: &answer, only: &|_, _| true, split: false });
        prop_assert!(none.len() <= all.len());
        prop_assert!(all.len() >= bytes.len() || bytes.windows(5).any(|it| it == b"rcpt_"));
    }

    #[test]
    fn an_address_in_a_line_of_its_own_is_never_lost(
        dirt in file(), at in 0..14_usize, end in select(&ENDS[..]),
    ) {
        // A list of one column, with lines of any bytes somewhere in it.
        let mut file = b"email\n".to_vec();
        for n in 0..14 {
            file.extend_from_slice(format!("person{n}@x.org").as_bytes());
            file.extend_from_slice(end);
            if n == at {
                file.extend(dirt.iter().filter(|byte| ![b',', b';', b'\t', b'|', 0].contains(byte)));
                file.extend_from_slice(b"\n");
            }
        }
        let list = read(file, &Choices::default()).unwrap();
        let plan = list.plan(Repeats::default());
        for n in 0..14 {
            let address = format!("person{n}@x.org");
            prop_assert!(plan.addresses.contains(&address), "{} {:?}", address, String::from_utf8_lossy(&dirt));
        }
    }

    #[test]
    fn no_text_makes_a_cell_panic(text in ".{0,40}", separated in "[a-z@.,;/<>\" \n]{0,60}") {
        for text in [text, separated] {
            if let Subject::Addresses(addresses) = subject(&text) {
                prop_assert!(addresses.iter().all(|address| text.contains(address.as_given())));
            }
            let _ = read_pasted(text.into_bytes(), &Choices::default());
        }
    }
}

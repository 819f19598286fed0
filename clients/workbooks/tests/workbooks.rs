//! Workbooks of three programs, each with the same sheets, and archives that are none.

use std::{
    fs,
    io::{Cursor, Write as _},
    path::PathBuf,
};

use rcpt_workbooks::{Additions, Unreadable, copy, read};
use zip::{ZipWriter, write::SimpleFileOptions};

fn bytes(name: &str) -> Vec<u8> {
    fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)).unwrap()
}

fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn each_kind_of_workbook_is_read_with_the_numbers_of_its_rows() {
    for (name, date, time) in [
        ("customers.xlsx", "2024-02-29", "2024-03-01 12:30:00"),
        ("customers.xls", "2024-02-29", "2024-03-01 12:30:00"),
        ("customers.ods", "2024-02-29", "2024-03-01T12:30:00"),
    ] {
        let book = read(&bytes(name), None).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(book.sheets, ["Read me", "Customers", "Old"], "{name}");
        assert_eq!((book.sheet, &*book.others), (1, &[2][..]), "{name}: the first is a cover");
        let lines: Vec<_> = book.text.lines().collect();
        assert_eq!(lines[0], "Name,E-Mail,Since,Number,Sum", "{name}");
        assert_eq!(lines[1], format!("Jörg Müller,joerg@example.org,{date},007"), "{name}");
        let sum = lines[2].strip_prefix(&format!("\"Smith, Ann\",ann@example.org,{time},7"));
        assert!(
            ["", ",3", ",0"].contains(&sum.unwrap()),
            "{name}: a formula's last value: {lines:?}"
        );
        assert_eq!(lines[3], "=Bob,bob@example.org,,1.5", "{name}");
        assert_eq!((lines.len(), book.numbers), (4, vec![1, 2, 3, 5]), "{name}");
        let old = read(&bytes(name), Some(2)).unwrap();
        assert_eq!(
            (&*old.text, old.sheet, old.others),
            ("mail\r\nold@example.org\r\n", 2, vec![1])
        );
    }
}

#[test]
fn what_is_no_workbook_says_what_it_is() {
    let other = |parts: &[(&str, &[u8])]| match read(&archive(parts), None) {
        Err(Unreadable::Other(what, _)) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(other(&[("word/document.xml", b"")]), "a Word document");
    assert_eq!(other(&[("ppt/presentation.xml", b"")]), "a presentation");
    assert_eq!(other(&[("Index/Document.iwa", b"")]), "a Numbers document");
    assert_eq!(other(&[("a.csv", b""), ("b.csv", b"")]), "a zip archive");
    assert_eq!(other(&[("xl/workbook.bin", b"")]), "a binary workbook (xlsb)");
    for damaged in [
        &b"PK\x03\x04"[..],
        b"\xD0\xCF\x11\xE0",
        &bytes("customers.xls")[..900],
        &bytes("customers.xlsx")[..900],
    ] {
        assert_eq!(read(damaged, None), Err(Unreadable::Damaged));
    }
}

#[test]
fn a_small_archive_of_a_large_workbook_is_refused() {
    let mut bomb = archive(&[("xl/workbook.xml", &[b' '; 100])]);
    let directory = bomb.windows(4).position(|start| start == b"PK\x01\x02").unwrap();
    // The size of the unpacked part, by the archive's own word.
    bomb[directory + 24..directory + 28].copy_from_slice(&(300_u32 << 20).to_le_bytes());
    assert_eq!(read(&bomb, None), Err(Unreadable::TooLarge));
}

#[test]
fn a_cell_far_away_costs_no_memory() {
    let xlsx = bytes("customers.xlsx");
    let mut old = zip::ZipArchive::new(Cursor::new(&xlsx)).unwrap();
    for cell in ["XFD1048576", "ZZZZZZ1", "A4294967295"] {
        let mut parts = Vec::new();
        for at in 0..old.len() {
            let mut part = old.by_index(at).unwrap();
            let mut content = String::new();
            std::io::Read::read_to_string(&mut part, &mut content).unwrap();
            let content = content.replace("r=\"B5\"", &format!("r=\"{cell}\""));
            parts.push((part.name().unwrap().into_owned(), content.into_bytes()));
        }
        let parts: Vec<_> = parts.iter().map(|(name, content)| (&**name, &**content)).collect();
        match read(&archive(&parts), Some(1)) {
            Ok(book) => assert!(book.text.len() < 100_000, "{cell}: {}", book.text.len()),
            Err(error) => {
                assert!(matches!(error, Unreadable::TooLarge | Unreadable::Damaged), "{cell}")
            }
        }
    }
}

fn lines(book: &[u8], sheet: usize) -> Vec<String> {
    let read = read(book, Some(sheet)).unwrap();
    read.text.lines().map(str::to_owned).collect()
}

#[test]
fn a_copy_is_the_workbook_with_further_cells() {
    let book = bytes("customers.xlsx");
    let before = lines(&book, 1);
    let additions = Additions {
        sheet: 1,
        columns: vec![5, 6],
        address: 1,
        numbers: vec![1, 2, 5],
        values: ["rcpt_verdict", "rcpt_reason", "risky", "=1+1", "unknown", "a < \"b\" & c"]
            .map(str::to_owned)
            .to_vec(),
        alone: vec![String::new(); 3],
        dropped: vec![],
    };
    let copied = copy(&book, &additions).unwrap();
    let after = read(&copied, Some(1)).unwrap();
    let rows: Vec<_> = after.text.lines().collect();
    assert_eq!(rows[0], format!("{},rcpt_verdict,rcpt_reason", before[0]));
    assert!(rows[1].starts_with(&before[1]) && rows[1].ends_with(",risky,=1+1"), "{rows:?}");
    assert_eq!(rows[2], before[2], "a row without values is as it was");
    assert!(rows[3].ends_with(",unknown,\"a < \"\"b\"\" & c\""), "{rows:?}");
    assert_eq!(after.numbers, [1, 2, 3, 5]);
    assert_eq!(after.sheets, ["Read me", "Customers", "Old"]);
    for sheet in [0, 2] {
        assert_eq!(lines(&copied, sheet), lines(&book, sheet));
    }
    // Again: the columns are written over.
    let again = copy(&copied, &additions).unwrap();
    assert_eq!(lines(&again, 1), lines(&copied, 1));
}

#[test]
fn a_copy_without_some_rows_or_with_split_ones_is_a_workbook_of_its_sheet_alone() {
    let book = bytes("customers.xlsx");
    let before = lines(&book, 1);
    let additions = Additions {
        sheet: 1,
        columns: vec![5],
        address: 1,
        numbers: vec![1, 3, 3],
        values: ["rcpt_verdict", "deliverable", "unknown"].map(str::to_owned).to_vec(),
        alone: ["", "a@example.org", "b@example.org"].map(str::to_owned).to_vec(),
        dropped: vec![2, 5],
    };
    let copied = copy(&book, &additions).unwrap();
    let after = read(&copied, None).unwrap();
    assert_eq!(after.sheets, ["Customers"]);
    assert_eq!(after.numbers, [1, 2, 3]);
    let rows: Vec<_> = after.text.lines().collect();
    assert_eq!(rows[0], format!("{},rcpt_verdict", before[0]));
    let row = |address: &str, verdict: &str| {
        let cells = before[2].replace("ann@example.org", address);
        let missing = 5 - before[2].replace("\"Smith, Ann\"", "").split(',').count();
        format!("{cells}{},{verdict}", ",".repeat(missing))
    };
    assert_eq!(rows[1..], [row("a@example.org", "deliverable"), row("b@example.org", "unknown")]);
    let mut parts = zip::ZipArchive::new(Cursor::new(&copied)).unwrap();
    let mut sheet = String::new();
    let mut part = parts.by_name("xl/worksheets/sheet1.xml").unwrap();
    std::io::Read::read_to_string(&mut part, &mut sheet).unwrap();
    assert!(!sheet.contains("<f") && !sheet.contains("autoFilter"), "{sheet}");
}

#[test]
fn what_is_no_xlsx_is_not_copied() {
    for name in ["customers.xls", "customers.ods"] {
        assert_eq!(copy(&bytes(name), &Additions::default()), Err(Unreadable::Damaged));
    }
}

//! Workbooks of three programs, each with the same sheets, and archives that are none.

use std::{
    fs,
    io::{Cursor, Write as _},
    path::PathBuf,
};

use rcpt_workbooks::{Unreadable, read};
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

//! `tests/README.md` maps the rows of the interface to tests; this keeps the map true.

use std::{collections::BTreeSet, fs, path::Path};

/// `file::test` of every test in this folder.
fn tests() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(source) = fs::read_to_string(&path) else { continue };
        let file = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut lines = source.lines();
        while let Some(line) = lines.next() {
            if line.starts_with("#[tokio::test") || line == "#[test]" {
                let name = lines.find_map(|line| line.split_once("fn ")).map(|(_, rest)| rest);
                let name = name.and_then(|rest| rest.split('(').next()).unwrap_or_default();
                names.insert(format!("{file}::{name}"));
            }
        }
    }
    names
}

#[test]
fn every_test_that_the_readme_names_exists_and_every_row_names_one() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let tests = tests();
    let rows: Vec<_> = readme.lines().filter(|line| line.starts_with("| §")).collect();
    assert!(rows.len() > 40, "{}", rows.len());
    for row in rows {
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let mut file = "";
        let mut named = 0;
        // Every second piece stands between backquotes.
        for name in cell.split('`').skip(1).step_by(2) {
            let (of, test) = name.split_once("::").unwrap_or((file, name));
            file = of;
            assert!(tests.contains(&format!("{file}::{test}")), "{file}::{test} of {row}");
            named += 1;
        }
        assert!(named > 0, "no test in {row}");
    }
}

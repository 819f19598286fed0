//! A type's name has only one meaning per crate. Associated types of traits are named by the trait.

use std::{collections::BTreeMap, fs, path::Path};

use rcpt_tests::process::folder;

/// The name of the type that a line defines.
fn defined(line: &str) -> Option<&str> {
    let is_indented = line.starts_with(' ');
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let kinds = ["struct ", "enum ", "trait ", "union ", "type "];
    let name = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    // An indented alias, such as `type Rejection = Error;`, is an associated type.
    let is_associated = is_indented && line.starts_with("type ");
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    (!is_associated).then_some(&name[..end])
}

fn collect(folder: &Path, definitions: &mut BTreeMap<String, Vec<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "bin") {
            collect(&path, definitions);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
            for name in source.lines().filter_map(defined) {
                definitions.entry(name.to_owned()).or_default().push(path.display().to_string());
            }
        }
    }
}

#[test]
fn a_type_name_stands_for_one_type_in_a_crate() {
    let crates = [
        "clients/rust",
        "devtools",
        "devtools/documents",
        "devtools/release",
        "devtools/worker",
        "edge",
        "origin",
        "origin/pool",
        "origin/smtp",
        "origin/verdict",
        "shared",
        "tests",
    ];
    let mut count = 0;
    for name in crates {
        let mut matches = BTreeMap::new();
        let source = folder::repository().join(name).join("src");
        collect(&source, &mut matches);
        // Every program is its own crate, of one or more files.
        for program in fs::read_dir(source.join("bin")).into_iter().flatten() {
            let (path, mut its) = (program.unwrap().path(), BTreeMap::new());
            if path.is_dir() {
                collect(&path, &mut its);
            }
            its.retain(|_, files: &mut Vec<String>| files.len() > 1);
            assert!(its.is_empty(), "{its:#?}");
        }
        count += matches.len();
        matches.retain(|_, files| files.len() > 1);
        assert!(matches.is_empty(), "{matches:#?}");
    }
    assert!(count > 500, "{count} types");
}

#[test]
fn a_definition_is_recognised_and_a_use_is_none() {
    assert_eq!(defined("    pub(super) struct Found<'a> {"), Some("Found"));
    assert_eq!(defined("enum Kind {"), Some("Kind"));
    assert_eq!(defined("    type Rejection = Error;"), None);
    assert_eq!(defined("let structure = 1;"), None);
}

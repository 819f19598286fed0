//! Files of one crate have no import cycles. Between crates, cargo prevents cycles.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use rcpt_tests::process::folder;

/// Path of a file: the names of its folders, then its own name.
type Place = Vec<String>;

fn first_name(text: &str) -> String {
    text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

/// Collects the texts of all Rust files except tests, without comments.
fn files(folder: &Path, place: &Place, paths: &mut BTreeMap<Place, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Tests may use files above the tested file.
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        let own = [place.as_slice(), &[path.file_stem().unwrap().to_str().unwrap().to_owned()]];
        if path.is_dir() {
            files(&path, &own.concat(), paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let code = source.lines().map(|line| line.split("//").next().unwrap());
            paths.insert(own.concat(), code.collect::<Vec<_>>().join("\n"));
        }
    }
}

/// The paths that begin with `crate` or `super`, with lists expanded.
fn paths(source: &str, own: &Place) -> Vec<Place> {
    let mut matches = Vec::new();
    for (index, _) in source.match_indices("crate::") {
        expand(&source[index + "crate::".len()..], &Vec::new(), &mut matches);
    }
    for (index, _) in source.match_indices("super::") {
        if source[..index].ends_with("super::") {
            continue;
        }
        let (mut rest, mut base) = (&source[index..], own.clone());
        while let Some(next) = rest.strip_prefix("super::") {
            base.pop();
            rest = next;
        }
        expand(rest, &base, &mut matches);
    }
    matches
}

/// Expands one tree of a `use`, and returns the text after the tree.
fn expand<'a>(text: &'a str, base: &Place, paths: &mut Vec<Place>) -> &'a str {
    let (mut rest, mut path) = (text, base.clone());
    loop {
        if let Some(mut list) = rest.strip_prefix('{') {
            loop {
                list = expand(list.trim_start(), &path, paths);
                list = list.trim_start_matches(|c| !matches!(c, ',' | '}'));
                match list.strip_prefix(',').map(str::trim_start) {
                    Some(next) if !next.starts_with('}') => list = next,
                    Some(next) => return &next[1..],
                    None => return list.get(1..).unwrap_or_default(),
                }
            }
        }
        let name = first_name(rest);
        rest = &rest[name.len()..];
        path.push(name);
        match rest.strip_prefix("::") {
            Some(next) => rest = next,
            None => {
                paths.push(path);
                return rest;
            }
        }
    }
}

/// The dependencies between the entries of one folder. `a.rs` and the folder `a` are one entry: references
/// between them are ignored.
fn arrows(files: &BTreeMap<Place, String>) -> BTreeMap<Place, BTreeSet<Place>> {
    let mut arrows: BTreeMap<Place, BTreeSet<Place>> = BTreeMap::new();
    for (own, source) in files {
        for path in paths(source, own) {
            let module = (1..=path.len()).rev().map(|length| path[..length].to_vec());
            let Some(other) = module.into_iter().find(|place| files.contains_key(place)) else {
                continue;
            };
            let common = own.iter().zip(&other).take_while(|(a, b)| a == b).count();
            if common < own.len().min(other.len()) {
                let to = other[..=common].to_vec();
                arrows.entry(own[..=common].to_vec()).or_default().insert(to);
            }
        }
    }
    arrows
}

/// An entry that imports itself through other entries; `None` if there is none.
fn circle(arrows: &BTreeMap<Place, BTreeSet<Place>>) -> Option<Place> {
    arrows.keys().find_map(|start| {
        let (mut open, mut seen) = (vec![start], BTreeSet::new());
        while let Some(place) = open.pop() {
            for next in arrows.get(place).into_iter().flatten() {
                if next == start {
                    return Some([start.as_slice(), place.as_slice()].concat());
                }
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        None
    })
}

#[test]
fn no_files_name_each_other_in_a_circle() {
    let mut count = 0;
    for folder in
        ["edge", "origin", "origin/pool", "origin/smtp", "origin/verdict", "shared", "devtools"]
    {
        let mut all = BTreeMap::new();
        files(&folder::repository().join(folder).join("src"), &Vec::new(), &mut all);
        let arrows = arrows(&all);
        count += arrows.len();
        assert_eq!(circle(&arrows), None, "{folder}");
    }
    assert!(count > 100, "{count} places name others");
}

#[test]
fn a_circle_is_found_through_lists_and_from_below() {
    let place = |text: &str| -> Place { text.split('/').map(str::to_owned).collect() };
    let with = |sources: &[(&str, &str)]| {
        let files = sources.iter().map(|(name, source)| (place(name), (*source).to_owned()));
        circle(&arrows(&files.collect()))
    };
    let down = ("a/one", "use crate::{x::Y, b::{self, two::{Two as Second, more}}};");
    assert_eq!(with(&[down, ("b/two", "use super::other;"), ("b", "")]), None);
    assert!(with(&[down, ("b/two", "let _ = crate::a::one::back();"), ("b", "")]).is_some());
    let (one, two) = (("a/one", "use super::two::{Two, three};"), ("a/two", "use super::one;"));
    assert_eq!(with(&[one, ("a/two", "use super::Parent;"), ("a", "")]), None);
    assert!(with(&[one, two, ("a", "")]).is_some());
}

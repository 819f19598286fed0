//! Checks the dependencies between rooms: a file uses only rooms below its own.

use std::{fs, path::Path};

/// The floors from bottom to top. Rooms on one floor don't use each other.
const FLOORS: [&[&str]; 14] = [
    &["error", "isolate", "json", "meter"],
    &["cf"],
    &["account", "outbound"],
    &["credentials"],
    &["mail", "limits"],
    &["config"],
    &["ledger"],
    &["app"],
    &["notices"],
    &["extract"],
    &["webhooks"],
    &["checks", "accounts", "keys", "scans"],
    &["operator", "schedule"],
    &["routes"],
];
const ROOF: &str = "worker";

fn floor(room: &str) -> Option<usize> {
    let listed = FLOORS.iter().position(|rooms| rooms.contains(&room));
    listed.or((room == ROOF).then_some(FLOORS.len()))
}

fn names_after_crate(source: &str) -> Vec<String> {
    let mentions = source.split("crate::").skip(1);
    let names = mentions.flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => members(list),
        None => vec![first_name(rest)],
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// The first name of each member, up to the closing brace. Inner lists are skipped.
fn members(list: &str) -> Vec<String> {
    let (mut depth, mut members) = (1, vec![String::new()]);
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            ',' if depth == 1 => members.push(String::new()),
            _ if depth == 1 => members.last_mut().unwrap().push(c),
            _ => {}
        }
    }
    members.iter().map(|member| first_name(member.trim())).collect()
}

fn first_name(text: &str) -> String {
    text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

fn check(file: &Path, room: &str, wrong: &mut Vec<String>) {
    let source = fs::read_to_string(file).unwrap();
    let own = floor(room).unwrap_or_else(|| panic!("{room} stands on no floor"));
    for other in names_after_crate(&source) {
        let is_below = floor(&other).is_some_and(|other| other < own);
        if other != room && !is_below {
            wrong.push(format!("{} names {other}", file.display()));
        }
    }
    let names_the_runtime = source.contains("use worker::");
    if names_the_runtime && !["cf", ROOF].contains(&room) {
        wrong.push(format!("{} names the runtime", file.display()));
    }
    let is_code = file.extension().is_some_and(|extension| extension == "rs");
    if is_code && !source.contains("worker::") && room == "cf" && file.file_stem().unwrap() != "cf"
    {
        wrong.push(format!("{} does not name the runtime: it belongs elsewhere", file.display()));
    }
    let is_data = file.extension().is_some_and(|extension| extension == "json");
    if !is_data && !source.starts_with("//! ") {
        wrong.push(format!("{} does not say what it is", file.display()));
    }
}

fn walk(folder: &Path, room: &str, wrong: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, room, wrong);
        } else {
            check(&path, room, wrong);
        }
    }
}

#[test]
fn every_file_names_only_rooms_below_its_own() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut at_the_top = 0;
    for entry in fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        let room = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            walk(&path, &room, &mut wrong);
        } else {
            at_the_top += usize::from(!source.join(&room).is_dir());
            if !["lib", "rooms"].contains(&room.as_str()) {
                check(&path, &room, &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(at_the_top <= 6, "{at_the_top} files at the top that are no room's");
}

#[test]
fn names_are_found_in_lists_too() {
    let source =
        "use crate::{\n    app::App,\n    ledger::{self, account},\n};\ncrate::cf::clock::now()";
    assert_eq!(names_after_crate(source), ["app", "ledger", "cf"]);
}

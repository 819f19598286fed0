//! Checks the links of pages, the files and tests that pages name, and the lengths of lines.

use std::{collections::BTreeSet, fs, path::Path};

use crate::patterns::{CLAIM_ROW, HEADING, LINK, LINK_TEXT, NAMED_FILE, NAMED_TEST, OUTER_LINK};

/// Folders of build output, which isn't in the repository.
const BUILT: [&str; 2] = ["edge/build/", "edge/portal/dist/"];

/// Rows of tables may be wider.
const COLUMNS_MAX: usize = 120;
/// Targets of links don't count. A longer text is a paragraph.
const CELL_CHARS_MAX: usize = 200;
/// A claim's cases stand in the head of its test.
const CLAIM_WORDS_MAX: usize = 25;
const JUDGEMENTS: [&str; 3] = ["holds", "partly", "missed"];

/// The links that lead nowhere, the names of files and tests that don't exist, and the lines that are too long.
pub fn offenders(root: &Path, name: &str, text: &str) -> Vec<String> {
    let mut offenders = links(root, name, text);
    offenders.extend(long_lines(name, text));
    offenders.extend(wide_cells(name, text));
    offenders.extend(named_files(root, name, text));
    offenders.extend(named_tests(root, name, text));
    offenders
}

fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fence = None;
    text.lines().filter(move |line| {
        let opened = ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence));
        match (fence, opened) {
            (None, None) => true,
            (None, Some(_)) => {
                fence = opened;
                false
            }
            (Some(_), _) => {
                if fence == opened {
                    fence = None;
                }
                false
            }
        }
    })
}

fn long_lines(name: &str, text: &str) -> Vec<String> {
    let wide = |line: &&str| !line.starts_with('|') && line.chars().count() > COLUMNS_MAX;
    let opening = |line: &str| line.chars().take(40).collect::<String>();
    prose(text)
        .filter(wide)
        .map(|line| format!("{name}: more than {COLUMNS_MAX} columns: {}…", opening(line)))
        .collect()
}

fn cells(row: &str) -> Vec<String> {
    let row = LINK_TEXT.replace_all(row, "$1").replace("\\|", "/");
    row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

fn wide_cells(name: &str, text: &str) -> Vec<String> {
    let rows = prose(text).filter(|line| line.starts_with('|'));
    let wide = rows.flat_map(cells).filter(|cell| cell.chars().count() > CELL_CHARS_MAX);
    let opening = |cell: String| cell.chars().take(40).collect::<String>();
    wide.map(|cell| {
        format!("{name}: a cell of more than {CELL_CHARS_MAX} characters: {}…", opening(cell))
    })
    .collect()
}

/// The claims of docs/security.md that are too long, or have no judgement.
pub fn claims(page: &str) -> Vec<String> {
    let rows = page.lines().filter(|line| CLAIM_ROW.is_match(line)).map(cells);
    let wrong = rows.filter(|row| {
        let is_short =
            row.get(1).is_some_and(|it| it.split_whitespace().count() <= CLAIM_WORDS_MAX);
        !is_short || !row.last().is_some_and(|it| JUDGEMENTS.contains(&it.as_str()))
    });
    wrong
        .map(|row| {
            format!(
                "docs/security.md: {} has over {CLAIM_WORDS_MAX} words, or doesn't end with one of {}",
                row[0],
                JUDGEMENTS.join(", ")
            )
        })
        .collect()
}

/// The fragments are those that GitHub derives from headings, without the `#`.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page).filter_map(|line| HEADING.captures(line));
    let anchor = |heading: &str| -> String {
        let text = LINK_TEXT.replace_all(heading, "$1").to_lowercase();
        let shown = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '));
        shown.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(|heading| anchor(&heading[1])).collect()
}

fn links(root: &Path, name: &str, text: &str) -> Vec<String> {
    let mut offenders = Vec::new();
    let targets =
        prose(text).flat_map(|line| LINK.captures_iter(line)).map(|link| link[1].to_owned());
    for target in targets.filter(|target| !OUTER_LINK.is_match(target)) {
        let (path, fragment) = target.split_once('#').unwrap_or((&target, ""));
        let own = root.join(name);
        let page = if path.is_empty() { own } else { own.with_file_name(path) };
        if !page.exists() {
            offenders.push(format!("{name}: the link {target} leads nowhere"));
        } else if !fragment.is_empty() && page.extension().is_some_and(|ending| ending == "md") {
            let headings = anchors(&fs::read_to_string(&page).unwrap_or_default());
            if !headings.contains(fragment) {
                offenders.push(format!("{name}: {target} names no heading"));
            }
        }
    }
    offenders
}

/// A path is relative to the root, the page, or a folder with programs.
fn named_files(root: &Path, name: &str, text: &str) -> Vec<String> {
    let page = root.join(name);
    let starts = [root, page.parent().unwrap_or(root), &root.join("tests"), &root.join("devtools")];
    let exists = |path: &str| {
        starts.iter().any(|start| start.join(path).exists())
            || BUILT.iter().any(|folder| path.starts_with(folder))
    };
    let paths = NAMED_FILE.captures_iter(text).map(|file| file[1].to_owned());
    paths.filter(|path| !exists(path)).map(|path| format!("{name}: there is no {path}")).collect()
}

fn named_tests(root: &Path, name: &str, text: &str) -> Vec<String> {
    let tests: BTreeSet<(String, String)> = NAMED_TEST
        .captures_iter(text)
        .map(|test| (test[1].to_owned(), test[2].to_owned()))
        // The page's explanation of such names uses `T room name`.
        .filter(|(room, test)| (room.as_str(), test.as_str()) != ("room", "name"))
        .collect();
    let exists = |(room, test): &(String, String)| {
        let folder = root.join("tests/tests").join(room);
        folder.join(format!("{test}.rs")).is_file() || folder.join(test).is_dir()
    };
    let missing = tests.into_iter().filter(|test| !exists(test));
    missing.map(|(room, test)| format!("{name}: tests/tests/{room} has no {test}")).collect()
}

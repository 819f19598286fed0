//! Citations of our own documents, in every file.

use std::{collections::BTreeSet, path::Path};

use crate::patterns::{
    BARE_CLAIM, BARE_PAGE, CITED_CLAIM, CITED_PAGE, CLAIM, CLAIM_ROW, COMMENT, COMMENT_LINE,
    NAMED_CLAIM, SECTION,
};

/// Path prefixes of texts that customers read, which may cite none of our documents.
const SHOWN: [&str; 3] = ["edge/openapi-account.json", "edge/portal/src/", "edge/src/mail.rs"];

pub fn claims(page: &str) -> BTreeSet<String> {
    CLAIM_ROW.captures_iter(page).map(|row| row[1].to_owned()).collect()
}

/// The claims of a list: `A1–A3, L2` are A1, A2, A3 and L2.
pub fn expand(cited: &str) -> Vec<String> {
    let mut names = Vec::new();
    for part in cited.split(", ").flat_map(|part| part.split(" and ")) {
        let ends: Vec<(String, u32)> = CLAIM
            .captures_iter(part)
            .filter_map(|claim| Some((claim[1].to_owned(), claim[2].parse().ok()?)))
            .collect();
        match &ends[..] {
            [(letter, first), (other, last)] if letter == other => {
                names.extend((*first..=*last).map(|number| format!("{letter}{number}")));
            }
            _ => names.extend(ends.iter().map(|(letter, number)| format!("{letter}{number}"))),
        }
    }
    names
}

/// The words of a Rust comment that look like claims. The lab's figures have names of their own.
fn named_claims<'a>(name: &str, line: &'a str) -> impl Iterator<Item = &'a str> {
    let is_checked = name.ends_with(".rs") && !name.starts_with("lab/");
    let comment = COMMENT.captures(line).filter(|_| is_checked).and_then(|found| found.get(1));
    let words = comment.map(|comment| NAMED_CLAIM.captures_iter(comment.as_str()));
    words.into_iter().flatten().filter_map(|word| Some(word.get(1)?.as_str()))
}

/// Claims share their letters, and a name with another letter is something else.
fn is_wrong(name: &str, claims: &BTreeSet<String>) -> bool {
    !claims.contains(name) && claims.iter().any(|claim| claim.starts_with(&name[..1]))
}

pub fn offenders(root: &Path, name: &str, text: &str, claims: &BTreeSet<String>) -> Vec<String> {
    let mut offenders = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut push = |message: String| offenders.push(format!("{name}:{}: {message}", index + 1));
        for page in CITED_PAGE.captures_iter(line) {
            if !root.join(&page[1]).exists() {
                push(format!("{} does not exist", &page[1]));
            }
        }
        for cited in CITED_CLAIM.captures_iter(line) {
            for claim in expand(&cited[1]).iter().filter(|claim| !claims.contains(*claim)) {
                push(format!("{claim} is no claim of docs/security.md"));
            }
        }
        for claim in named_claims(name, line).filter(|claim| is_wrong(claim, claims)) {
            push(format!("{claim} is no claim of docs/security.md"));
        }
        let has_section = SECTION.is_match(line);
        if has_section || BARE_CLAIM.is_match(line) {
            push("cites one of our documents by a section or a bare claim".to_owned());
        }
        if !name.starts_with("docs/") && BARE_PAGE.is_match(line) {
            push("a page without docs/ before it".to_owned());
        }
        let is_shown = SHOWN.iter().any(|start| name.starts_with(start));
        if is_shown && !COMMENT_LINE.is_match(line) && (has_section || CITED_PAGE.is_match(line)) {
            push("customers are sent to a document of the repository".to_owned());
        }
    }
    offenders
}

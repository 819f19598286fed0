//! Finds phrases that are hard to understand in comments and prose.

use std::path::Path;

use crate::patterns::{COMMENT, DOC_COMMENT, PHRASE};

const REFUSED_OPENINGS: [&str; 3] = ["What", "Whose", "Who"];
const ENDINGS: [&str; 5] = ["rs", "ts", "tsx", "mjs", "py"];
/// Pages that aren't checked: the list of the phrases, and the changelog.
const SKIPPED_PAGES: [&str; 2] = ["docs/words.md", "CHANGELOG.md"];

fn openings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut follows = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let word = DOC_COMMENT.captures(line).and_then(|comment| Some(comment.get(1)?.as_str()));
        let is_first = !std::mem::replace(&mut follows, word.is_some());
        Some((index, word?)).filter(|_| is_first)
    })
}

pub fn offenders(name: &str, text: &str) -> Vec<String> {
    let ending = Path::new(name).extension().unwrap_or_default().to_string_lossy();
    let is_page = ending == "md";
    if (is_page && SKIPPED_PAGES.contains(&name)) || !(is_page || ENDINGS.contains(&&*ending)) {
        return Vec::new();
    }
    let mut offenders: Vec<String> = openings(text)
        .filter(|(_, word)| REFUSED_OPENINGS.contains(word))
        .map(|(index, word)| format!("{name}:{}: a comment that begins with {word}", index + 1))
        .collect();
    for (index, line) in text.lines().enumerate() {
        let comment = COMMENT.captures(line).and_then(|comment| Some(comment.get(1)?.as_str()));
        let prose = if is_page { Some(line) } else { comment };
        if let Some(phrase) = prose.and_then(|prose| PHRASE.find(prose)) {
            let phrase = phrase.as_str();
            offenders.push(format!("{name}:{}: \"{phrase}\" (docs/words.md)", index + 1));
        }
    }
    offenders
}

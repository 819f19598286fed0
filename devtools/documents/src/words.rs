//! Finds phrases that are hard to understand in comments and prose, and counts first words and participles.

use std::{collections::HashMap, fmt, path::Path};

use crate::patterns::{COMMENT, DOC_COMMENT, FIELD_PARTICIPLE, PARTICIPLE, PHRASE};

/// First words of doc comments whose occurrences are counted.
const OPENINGS: [&str; 6] = ["What", "Whose", "Who", "Whether", "How", "One"];
/// First words with which no doc comment may begin.
const REFUSED_OPENINGS: [&str; 3] = ["What", "Whose", "Who"];
/// Endings of files whose comments are checked.
const ENDINGS: [&str; 5] = ["rs", "ts", "tsx", "mjs", "py"];
/// Pages that aren't checked: the list of the phrases, and texts of earlier releases.
const SKIPPED_PAGES: [&str; 2] = ["docs/words.md", "CHANGELOG.md"];

/// The line's index, and the doc comment's first word.
fn openings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut follows = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let word = DOC_COMMENT.captures(line).and_then(|comment| Some(comment.get(1)?.as_str()));
        let is_first = !std::mem::replace(&mut follows, word.is_some());
        Some((index, word?)).filter(|_| is_first)
    })
}

/// The lines of a file with a refused phrase.
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

/// Counts of first words of doc comments, and of names that are bare participles.
#[derive(Debug, Default)]
pub struct Figures {
    comments: u32,
    openings: HashMap<String, u32>,
    participles: usize,
    field_participles: usize,
    lines: usize,
}

impl Figures {
    /// Adds the counts of a Rust file.
    pub fn count(&mut self, text: &str) {
        for (_, word) in openings(text) {
            self.comments += 1;
            *self.openings.entry(word.to_owned()).or_default() += 1;
        }
        let code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        for line in text.lines().filter(code) {
            self.lines += 1;
            self.participles += PARTICIPLE.find_iter(line).count();
            self.field_participles += FIELD_PARTICIPLE.find_iter(line).count();
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "words: {} doc comments begin with ", self.comments)?;
        for word in OPENINGS {
            let count = self.openings.get(word).copied().unwrap_or_default();
            let share = 100.0 * f64::from(count) / f64::from(self.comments.max(1));
            write!(f, "{word} {share:.1} %, ")?;
        }
        let per_thousand = 1000.0 * self.participles as f64 / self.lines.max(1) as f64;
        write!(f, "and {per_thousand:.1} of 1,000 lines of code name something by a participle; ")?;
        write!(f, "{} fields and parameters", self.field_participles)
    }
}

//! Replies of real servers for the simulated servers, from the corpus with which the verdicts are
//! tested.

use std::{collections::HashMap, sync::LazyLock};

const FILES: [&str; 3] = [
    include_str!("../../../origin/verdict/src/tests/golden.txt"),
    include_str!("../../../origin/verdict/src/tests/seen/providers.txt"),
    include_str!("../../../origin/verdict/src/tests/seen/software.txt"),
];
const DEAD: &str = include_str!("../../../origin/verdict/src/tests/languages/dead.txt");

static REPLIES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut replies = HashMap::new();
    for (case, reply) in FILES.iter().flat_map(|file| file.lines()).filter_map(row) {
        replies.entry(case).or_insert(reply);
    }
    replies
});

/// A refusal of an unknown recipient in each language.
static LANGUAGES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let mut all: Vec<(&str, &str)> = Vec::new();
    for line in DEAD.lines().filter(|line| line.contains("| no_such_mailbox |")) {
        let Some((case, reply)) = row(line) else { continue };
        let language = case.split(':').next().unwrap_or_default();
        if reply.is_ascii() && !all.iter().any(|(known, _)| *known == language) {
            all.push((language, reply));
        }
    }
    all.into_iter().map(|(_, reply)| reply).collect()
});

/// The row's case and reply.
fn row(line: &str) -> Option<(&str, &str)> {
    let mut columns = line.split(" | ");
    let case = columns.next()?;
    Some((case, columns.nth(2)?)).and_then(|_| Some((case, line.rsplit(" | ").next()?)))
}

/// The reply of a corpus case with its line breaks and another recipient.
///
/// # Panics
/// If the corpus has no such case: a mistake in an inhabitant, which a test finds.
#[expect(clippy::panic, reason = "a name that is written in this crate")]
pub fn reply(case: &str, recipient: &str) -> String {
    let Some(text) = REPLIES.get(case) else { panic!("the corpus has no case {case:?}") };
    text.replace("\\n", "\r\n").replace("user@example.org", recipient)
}

/// A refusal of an unknown recipient in one of the languages.
pub fn dead_in_language(number: usize) -> String {
    LANGUAGES.get(number % LANGUAGES.len().max(1)).copied().unwrap_or("550 No").to_owned()
}

/// Number of languages with such a refusal in ASCII.
pub fn languages() -> usize {
    LANGUAGES.len()
}

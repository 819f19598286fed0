//! What the words and the enhanced code of a reply speak of.

use std::net::IpAddr;

use super::phrases::{IDIOMS, Meaning, phrases};
use crate::smtp::Reply;

/// What the text of a refusal speaks of.
pub(super) struct Evidence {
    meanings: u16,
    /// Subject and detail of the enhanced code. The class is the basic code's to say: servers that
    /// answer `450 5.7.1` mean to be asked again.
    pub enhanced: Option<(u16, u16)>,
}

impl Evidence {
    pub(super) fn of(reply: &Reply) -> Self {
        let mut text = comparable(reply.text());
        let mut meanings = 0;
        for idiom in IDIOMS {
            if text.contains(idiom.text) {
                meanings |= idiom.meaning.bit();
                text = text.replace(idiom.text, " ");
            }
        }
        let spoken = phrases().filter(|row| text.contains(row.text));
        meanings = spoken.fold(meanings, |meanings, row| meanings | row.meaning.bit());
        let enhanced = reply.enhanced.map(|code| (code.subject, code.detail));
        Self { meanings, enhanced }
    }

    pub(super) const fn speaks_of(&self, meaning: Meaning) -> bool {
        self.meanings & meaning.bit() != 0
    }
}

/// The text in lower case, its words separated and surrounded by single spaces, without a word in angle
/// brackets and without words that hold an `@`: servers quote the address, and a mailbox may be called
/// `spamhaus`. A URL or a sentence in brackets stays (RFC 3986 appendix C). IP addresses go, which stand
/// in the middle of what is said of them.
fn comparable(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    let mut rest = text;
    let mut push = |part: &str| {
        let quoted = |word: &&str| word.contains('@') || is_ip_address(word);
        for word in part.split_whitespace().filter(|word| !quoted(word)) {
            words.push(' ');
            words.extend(word.chars().flat_map(char::to_lowercase));
        }
    };
    while let Some((before, quoted)) = rest.split_once('<') {
        push(before);
        // A bracket that is never closed quotes nothing.
        rest = quoted.split_once('>').map_or(quoted, |(inside, after)| {
            if !inside.contains('@') && inside.contains([':', ' ']) {
                push(inside);
            }
            after
        });
    }
    push(rest);
    words.push(' ');
    words
}

fn is_ip_address(word: &str) -> bool {
    let start = word.trim_start_matches(['[', '(']);
    let bare = start.trim_end_matches([']', ')', ',', ';', '.', ':']);
    bare.contains(['.', ':']) && bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::comparable;

    #[test]
    fn what_the_server_quotes_is_not_what_it_says() {
        for (text, words) in [
            ("User Unknown", " user unknown "),
            ("<spamhaus@example.org>: Recipient\nrejected", " : recipient rejected "),
            ("no such user spamhaus@example.org here", " no such user here "),
            (r#"<"blocked using spamhaus"@example.org>... unknown"#, " ... unknown "),
            ("Client IP address [192.0.2.1] rejected", " client ip address rejected "),
            ("[192.0.2.1]: 2001:db8::1, see https://a.example", " see https://a.example "),
            ("5.4.1 a: b", " 5.4.1 a: b "),
            ("a < b", " a b "),
            ("see <https://www.spamhaus.org/q>.", " see https://www.spamhaus.org/q . "),
            ("<<< Blocked by RBL >>>", " << blocked by rbl >> "),
            ("", " "),
        ] {
            assert_eq!(comparable(text), words, "{text}");
        }
    }
}

//! A server's words in the form for searching the tables'. A mailbox may be named `spamhaus`, so addresses, host names
//! and URLs are removed first.

pub(super) mod fold;
mod hosts;

use std::net::IpAddr;

use fold::{LOST, fold, unquoted};
use hosts::{is_host_name, is_of_blocklist};

/// Marks a removed IP address in [`Said::words`].
pub(super) const IP: char = '*';
/// Marks the end of a sentence in [`Said::words`].
pub(super) const STOP: char = '|';

/// Marks a colon in [`Said::words`]: only a word directly before it can belong to the words after it.
pub(super) const COLON: char = ':';
/// Replaces `Recipient address rejected` in [`Said::words`]: words directly after it are about the recipient.
pub(super) const REJECTED: char = '§';
const REJECTIONS: [&str; 2] = [" recipient address rejected ", " recipient rejected "];

/// Four times the first 1 KiB of a reply, which alone is interpreted: U+FDFA folds into 18 letters.
const FOLDED_BYTES_MAX: usize = 4_096;

/// Words that say nothing about who is rejected.
const FILLERS: [&str; 9] = ["sorry", "the", "this", "that", "is", "was", "has", "been", "here"];

/// Complete replies, without fillers, that only reject the recipient.
const MERELY_REJECTED: [&[&str]; 8] = [
    &["address", "rejected"],
    &["address", "refused"],
    &["address", "not", "accepted"],
    &["mailbox", "not", "accepted"],
    &["recipient", "refused"],
    &["recipient", "not", "accepted"],
    &["recipient", "address", "refused"],
    &["recipient", "address", "not", "accepted"],
];

/// From U+2E80 on, scripts have no spaces between words.
const UNSPACED: char = '\u{2e80}';

#[derive(Debug, Default)]
pub(super) struct Said {
    /// Folded words with punctuation, separated and surrounded by single spaces.
    pub text: String,
    /// Folded words without punctuation; IP addresses and ends of sentences are marked.
    pub words: String,
    pub names_blocklist: bool,
}

impl Said {
    pub(super) fn of(text: &str) -> Self {
        let text = unquoted(text);
        let mut parsed = Self::default();
        let mut rest = &*text;
        // Position of the last closing bracket, searched once: a search for each open bracket would be quadratic.
        let last_closing = text.rfind('>').unwrap_or_default();
        while let Some((before, quoted)) = rest.split_once('<') {
            parsed.push(before);
            // An unclosed bracket quotes nothing; brackets without an address contain a URL or a
            // sentence (RFC 3986 appendix C).
            let is_closed = text.len() - quoted.len() <= last_closing;
            let pair = if is_closed { quoted.split_once('>') } else { None };
            rest = pair.map_or(quoted, |(inside, after)| {
                if !inside.contains('@') && inside.contains([':', ' ']) {
                    parsed.push(inside);
                }
                after
            });
        }
        parsed.push(rest);
        parsed.text.push(' ');
        parsed.gap();
        for rejection in REJECTIONS {
            if parsed.words.contains(rejection) {
                parsed.words = parsed.words.replace(rejection, &format!(" {REJECTED} "));
            }
        }
        parsed
    }

    pub(super) fn quotes_an_ip(&self) -> bool {
        self.words.contains(IP)
    }

    /// Other words would decide the subject of the reply.
    pub(super) fn merely_rejects_the_recipient(&self) -> bool {
        let spoken_words = self.words.split(' ').filter(|word| word.contains(char::is_alphabetic));
        let meaningful_words: Vec<_> =
            spoken_words.filter(|word| !FILLERS.contains(word)).collect();
        (meaningful_words.is_empty() && self.words.contains(REJECTED))
            || MERELY_REJECTED.iter().any(|words| meaningful_words == *words)
    }

    fn push(&mut self, part: &str) {
        for word in part.split_whitespace() {
            if is_ip_address(word) {
                self.gap();
                self.words.push(IP);
            } else if let Some((local, domain)) = word.rsplit_once('@') {
                // `not found:a@example.org`: unless quoted, a local part contains no colon (RFC 5322 §3.2.3).
                let label = local.rsplit_once(COLON).map_or("", |(label, _)| label);
                if !label.is_empty() && label.chars().all(char::is_alphabetic) {
                    self.push_word(&format!("{label}{COLON}"));
                }
                // Keeps text attached to an address: `a@example.org:user` and `用户a@example.org不存在`.
                let before: String = word.chars().take_while(|c| *c >= UNSPACED).collect();
                let part =
                    |c: char| c < UNSPACED && (c.is_alphanumeric() || matches!(c, '.' | '-'));
                // Host names never contain two dots in a row: `a@example.org...User unknown`.
                let (domain, behind) = domain.split_once("..").unwrap_or((domain, ""));
                let after = domain.trim_start_matches(part);
                let glued = if after.contains(char::is_alphanumeric) { after } else { "" };
                self.push_word(&(before + glued));
                self.push_word(behind.trim_start_matches('.'));
            } else {
                self.push_word(word);
            }
        }
    }

    fn push_word(&mut self, word: &str) {
        let word = fold(&self.without_names(word));
        if word.is_empty() || self.text.len() + word.len() > FOLDED_BYTES_MAX {
            return;
        }
        self.text.push(' ');
        self.text.push_str(&word);
        self.gap();
        let mut chars = word.chars().peekable();
        let mut previous = ' ';
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            let lost =
                c == '?' && previous.is_alphabetic() && next.is_some_and(char::is_alphabetic);
            // `l'adresse` and `dell'utente` are two words each; `n'existe` and `doesn't` are one word each.
            let elided = c == '\'' && previous != 'n' && chars.clone().take(3).count() == 3;
            match c {
                _ if elided => self.gap(),
                _ if c.is_alphanumeric() || c == LOST || c == '\'' => self.words.push(c),
                _ if lost => self.words.push(LOST),
                COLON => {
                    self.gap();
                    self.words.push(COLON);
                    self.gap();
                }
                _ if matches!(c, ';' | '!' | '。') || (c == '.' && next.is_none()) => {
                    self.gap();
                    self.words.push(STOP);
                    self.gap();
                }
                _ => self.gap(),
            }
            previous = c;
        }
    }

    fn gap(&mut self) {
        if !self.words.ends_with(' ') {
            self.words.push(' ');
        }
    }

    /// URLs and host names may be a part of the word, as in `host=mx.example.org[192.0.2.1]`.
    fn without_names(&mut self, word: &str) -> String {
        let mut remainder = String::with_capacity(word.len());
        let mut rest = word;
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        while let Some(start) = rest.find(is_part) {
            let (before, from) = rest.split_at(start);
            remainder.push_str(before);
            let (run, after) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
            rest = after;
            if let Some(url) = after.strip_prefix("://") {
                let (host, path) = url.split_at(url.find(|c| !is_part(c)).unwrap_or(url.len()));
                self.names_blocklist |= is_of_blocklist(host);
                rest = behind_path(path);
            } else if is_host_name(run) {
                self.names_blocklist |= is_of_blocklist(run);
                rest = if after.starts_with('/') { behind_path(after) } else { after };
                // The removed name may have ended a sentence.
                remainder.push_str(if run.ends_with('.') { "." } else { "" });
            } else {
                remainder.push_str(run);
            }
        }
        remainder + rest
    }
}

fn behind_path(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_graphic() || matches!(c, '"' | ')' | ']' | '>'));
    text.get(end.unwrap_or(text.len())..).unwrap_or_default()
}

fn is_ip_address(word: &str) -> bool {
    let start = word.trim_start_matches(['[', '(']);
    let bare = start.trim_end_matches([']', ')', ',', ';', '.', ':']);
    bare.contains(['.', ':']) && bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::Said;

    #[test]
    fn what_the_server_quotes_is_not_what_it_says() {
        for (text, words) in [
            ("User Unknown", " user unknown "),
            ("<spamhaus@example.org>: Recipient\nrejected", " : recipient rejected "),
            ("no such user spamhaus@example.org here", " no such user here "),
            (r#"<"blocked using spamhaus"@example.org>... unknown"#, " ... unknown "),
            ("Client IP address [192.0.2.1] rejected", " client ip address rejected "),
            ("[192.0.2.1]: 2001:db8::1, see https://a.example/b?c=d e", " see e "),
            ("5.4.1 a: b", " 5.4.1 a: b "),
            ("a < b", " a b "),
            ("see <https://www.example.org/q>.", " see . "),
            ("<<< Blocked by RBL >>>", " << blocked by rbl >> "),
            ("host=callback.example.org[192.0.2.1]: no", " host=[192.0.2.1]: no "),
            ("(ess.barracudanetworks.com) x", " () x "),
            ("see:http://reputation.example/x, or not", " see: or not "),
            (
                "(see http://a.example/x)unknown \"https://a.example/y\"user",
                " (see )unknown \"\"user ",
            ),
            ("用户a@example.org不存在", " 用户不存在 "),
            ("a@mx.example.org...User unknown", " user unknown "),
            ("a@example.org....", " "),
            ("a@example.org:no..user", " :no user "),
            ("Empf=C3=A4nger UNBEKANNT", " empfanger unbekannt "),
            ("", " "),
        ] {
            assert_eq!(Said::of(text).text, words, "{text}");
        }
    }

    #[test]
    fn words_far_back_are_read_and_folding_has_a_bound() {
        let filler = "lorem ipsum ".repeat(75);
        assert!(Said::of(&format!("{filler}user unknown")).text.ends_with(" user unknown "));
        // Each of these letters becomes eighteen.
        let folded = Said::of(&"\u{fdfa} ".repeat(256)).text;
        assert!((1_024..=4_096 + 256).contains(&folded.len()), "{}", folded.len());
    }

    #[test]
    fn words_have_no_punctuation_and_sentences_have_ends() {
        for (text, words) in [
            ("User (a@b.example) unknown.", " user unknown | "),
            ("mailbox: not-found; bye", " mailbox : not found | bye "),
            ("address 192.0.2.1 not found", " address * not found "),
            ("Empf?nger unbekannt? 5.1.1", " empf\u{fffd}nger unbekannt 5 1 1 "),
            ("L'adresse n'existe pas", " l adresse n'existe pas "),
            ("user doesn't exist", " user doesn't exist "),
        ] {
            assert_eq!(Said::of(text).words, words, "{text}");
        }
    }

    #[test]
    fn the_site_of_a_blocklist_is_noticed_where_it_is_a_host() {
        for (text, named) in [
            ("see https://www.spamhaus.org/query/ip/192.0.2.1", true),
            ("blocked using zen.spamhaus.org;", true),
            ("<http://www.sorbs.net/lookup.shtml?192.0.2.1>", true),
            ("see https://example.org/spamhaus.org", false),
            ("<zen@spamhaus.org> unknown", false),
        ] {
            assert_eq!(Said::of(text).names_blocklist, named, "{text}");
        }
    }
}

//! Replies with their source pages and labels.

use std::collections::HashSet;

use anyhow::{Context as _, Result, bail, ensure};
use rcpt_smtp::Reply;
use rcpt_verdict::reader::Features;
use sha2::{Digest as _, Sha256};

/// Rows collected for the reader alone; the rules weren't derived from them.
const COLLECTED: &str = include_str!("../../verdict/data/reader/corpus.txt");
/// The rules' corpora; the rules judge these replies correctly.
const SEEN: [&str; 3] = [
    include_str!("../../verdict/src/tests/seen.txt"),
    include_str!("../../verdict/src/tests/seen/providers.txt"),
    include_str!("../../verdict/src/tests/seen/software.txt"),
];

/// Meaning of a permanent refusal, as the corpus labels it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// The mailbox or its domain accepts no mail.
    Dead,
    /// The server refuses us.
    Us,
    /// A failure of the server, a size limit, or a syntax error.
    Other,
}

/// A permanent refusal in the corpus, with its label and its source.
#[derive(Debug, Clone)]
pub struct Row {
    pub label: Label,
    /// Page, product or set of rules; rows of one source share a fold.
    pub source: String,
    pub raw: String,
    pub reply: Reply,
    pub features: Features,
    /// The rules were tested with this reply when they were written.
    pub is_of_rules: bool,
    /// A part of a reply: a pattern of a classifier.
    pub is_fragment: bool,
}

impl Row {
    fn new(label: Label, page: &str, raw: &str, is_of_rules: bool) -> Result<Self> {
        let reply = Reply::parse(&(raw.replace("\\n", "\r\n") + "\r\n"))
            .with_context(|| format!("not a reply: {raw}"))?;
        let features = Features::of(reply.beginning());
        Ok(Self {
            label,
            source: source_of(page)?,
            raw: raw.to_owned(),
            reply,
            features,
            is_of_rules,
            is_fragment: false,
        })
    }

    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.label == Label::Dead
    }
}

/// Returns the whole corpus: the collected rows and those of the rules.
///
/// # Errors
/// A row that can't be parsed.
pub fn all_rows() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in SEEN.iter().flat_map(|text| text.lines()).filter(|line| is_row(line)) {
        let columns: Vec<_> = line.splitn(6, " | ").collect();
        let [_, stage, status, _, page, raw] = columns[..] else { bail!("not a row: {line}") };
        if stage != "rcpt" || !raw.starts_with('5') {
            continue;
        }
        let label = match status {
            "false" => Label::Dead,
            "blocked_by_provider" => Label::Us,
            _ => Label::Other,
        };
        rows.push(Row::new(label, page, raw, true)?);
    }
    rows.extend(collected()?);
    Ok(rows)
}

/// Returns the corpus without duplicate texts, in an order that depends on the texts alone.
///
/// # Errors
/// A row that can't be parsed.
pub fn rows() -> Result<Vec<Row>> {
    let mut rows = all_rows()?;
    // Pages quote the same replies. A row of the rules' corpora is kept before others, and a reply
    // before the same text as a fragment.
    rows.sort_by_key(|row| row.is_fragment);
    let mut texts = HashSet::new();
    rows.retain(|row| texts.insert((row.reply.code, row.features.buckets.clone())));
    rows.sort_by_cached_key(|row| Sha256::digest(row.raw.as_bytes()));
    Ok(rows)
}

fn is_row(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

fn collected() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut page = None;
    for line in COLLECTED.lines().filter(|line| is_row(line)) {
        if let Some((kind @ ("@" | "~"), next)) = line.split_once(' ') {
            page = Some((next, kind == "~"));
            continue;
        }
        let (label, raw) = line.split_once(' ').with_context(|| format!("no label: {line}"))?;
        let label = match label {
            "dead" => Label::Dead,
            "us" => Label::Us,
            "other" => Label::Other,
            _ => bail!("unknown label: {line}"),
        };
        ensure!(raw.starts_with('5'), "not permanent: {raw}");
        let (page, is_fragment) = page.context("no page")?;
        rows.push(Row { is_fragment, ..Row::new(label, page, raw, false)? });
    }
    Ok(rows)
}

/// Products whose replies occur in several repositories.
const SAME: [(&str, &str); 7] = [
    ("sisimai/", "sisimai"),
    ("haraka/", "haraka/haraka"),
    ("fm/smtp-codes", "smtp-field-manual"),
    ("activecampaign/smtp-field-manual", "smtp-field-manual"),
    // Each contains the samples of PHPMailer-BMH in its comments.
    ("hippich/phpmailer-bmh", "voku/phpmailer-bmh"),
    ("mautic/mautic", "voku/phpmailer-bmh"),
    ("twisted1919/bounce-handler", "voku/phpmailer-bmh"),
];

/// Returns the source of `page`: a repository, or everything on a host.
fn source_of(page: &str) -> Result<String> {
    let page = page.to_lowercase();
    let rest = page.split_once("://").map_or(&*page, |(_, rest)| rest);
    let mut parts = rest.split('/');
    let host = parts.next().unwrap_or_default();
    let host = host.strip_prefix("www.").unwrap_or(host);
    ensure!(host.contains('.'), "not a page: {page}");
    if host != "github.com" {
        return Ok(host.to_owned());
    }
    let repository = parts.take(2).collect::<Vec<_>>().join("/");
    let same = SAME.iter().find(|(begins, _)| repository.starts_with(begins));
    Ok(same.map_or(repository, |(_, name)| (*name).to_owned()))
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use rcpt_shared::{Stage, Status};
    use rcpt_verdict::{
        judge,
        reader::{self, MODEL},
    };

    use super::{all_rows, collected, rows, source_of};
    use crate::folds::{HELD_OUT, fold_of};

    #[test]
    fn the_corpus_has_330_sources_and_2_000_replies() {
        let all = all_rows().unwrap();
        let sources: HashSet<_> = all.iter().map(|row| &row.source).collect();
        assert!(sources.len() >= 330, "{} sources", sources.len());
        let rows = rows().unwrap();
        assert!(rows.len() >= 2_000, "{} replies", rows.len());
    }

    /// Two pages that quote the same reply have the same label.
    #[test]
    fn a_text_has_one_label() {
        let mut labels = HashMap::new();
        for row in collected().unwrap() {
            let key = (row.reply.code, row.raw.to_lowercase());
            let first = *labels.entry(key).or_insert(row.label);
            assert_eq!(first, row.label, "{}", row.raw);
        }
    }

    /// The held-out fold's replies must stay unseen, so they aren't tested.
    #[test]
    fn no_refusal_of_the_corpus_is_a_no() {
        for row in all_rows().unwrap() {
            if row.is_dead() || fold_of(&row.source) == HELD_OUT {
                continue;
            }
            let finding = judge(Stage::Rcpt, &row.reply);
            assert_ne!(finding.status, Status::Refused, "{}", row.raw);
            let percent = reader::percent(Stage::Rcpt, &row.reply, &finding, []);
            let is_dead = percent.is_some_and(|percent| percent >= MODEL.threshold);
            assert!(!is_dead, "{percent:?} {}", row.raw);
        }
    }

    #[test]
    fn no_row_names_a_person_or_a_machine() {
        for row in collected().unwrap() {
            for word in row.raw.split(|c: char| c.is_whitespace() || "<>()[],;:\"'".contains(c)) {
                let is_masked = ["example", "xxx", "*"].iter().any(|it| word.contains(it));
                assert!(!word.contains('@') || is_masked || word.ends_with('@'), "{}", row.raw);
                let is_ip = word.parse::<std::net::Ipv4Addr>().is_ok();
                assert!(
                    !is_ip || word.starts_with("192.0.2.") || word.starts_with("127."),
                    "{}",
                    row.raw
                );
            }
        }
    }

    #[test]
    fn pages_of_one_product_are_one_source() {
        for (page, source) in [
            ("https://github.com/sisimai/go-sisimai/blob/1/a.go", "sisimai"),
            ("https://github.com/fm/smtp-codes/tree/1", "smtp-field-manual"),
            ("https://github.com/A/B/issues/3", "a/b"),
            ("http://www.example.org/a/b", "example.org"),
        ] {
            assert_eq!(source_of(page).unwrap(), source);
        }
    }
}

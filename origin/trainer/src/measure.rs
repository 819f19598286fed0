//! Accuracy of rules, reader and both together on replies of sources that weren't used in training.

use rcpt_shared::{Stage, Status};
use rcpt_verdict::{judge, reader};

use crate::{
    corpus::{Label, Row},
    folds::{FOLDS, HELD_OUT, fold_of},
    interval::wilson,
    regression::train,
};

/// Lowest threshold considered, in percent: more likely than not.
const THRESHOLD_MIN: u8 = 50;
const THRESHOLD_MAX: u8 = 95;

/// Results for one row of a fold that the model hasn't been trained on.
#[derive(Debug, Clone)]
pub struct Judged {
    pub fold: u8,
    pub label: Label,
    pub is_of_rules: bool,
    pub is_fragment: bool,
    pub raw: String,
    pub source: String,
    /// Result of the rules alone.
    pub is_refused: bool,
    /// True if no rule understands the reply.
    pub is_asked: bool,
    /// Result of the reader, even if a rule has decided; `None` if it abstains.
    pub percent: Option<u8>,
    /// Number of the reply's words seen in training.
    pub known_words: usize,
    /// Threshold chosen in the other folds.
    pub threshold: u8,
}

impl Judged {
    fn is_read(&self) -> bool {
        self.is_above(self.threshold)
    }

    fn is_above(&self, threshold: u8) -> bool {
        self.percent.is_some_and(|percent| percent >= threshold)
    }
}

/// Share of the counted rows, with its Wilson confidence interval.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    pub part: usize,
    pub whole: usize,
    pub interval: [f64; 2],
}

impl Share {
    fn of<'a>(
        rows: impl Iterator<Item = &'a Judged>,
        is_counted: impl Fn(&Judged) -> bool,
    ) -> Self {
        let (mut part, mut whole) = (0, 0);
        for row in rows {
            whole += 1;
            part += usize::from(is_counted(row));
        }
        Self { part, whole, interval: wilson(part, whole) }
    }

    #[must_use]
    pub fn value(self) -> f64 {
        self.part as f64 / self.whole.max(1) as f64
    }
}

/// Judges each row with a model that was trained without its source.
#[must_use]
pub fn out_of_fold(rows: &[Row], words_min: u8) -> Vec<Judged> {
    let folds: Vec<_> = rows.iter().map(|row| fold_of(&row.source)).collect();
    // Scores the rows of `of` with a model that was trained without the rows of `of` and `and`.
    let scores = |of: u8, and: u8| {
        let trained = train(
            rows.iter()
                .zip(&folds)
                .filter(|(_, fold)| ![of, and].contains(fold))
                .map(|(row, _)| row),
        );
        let model = reader::Model { words_min, ..trained };
        let of_fold = rows.iter().zip(&folds).filter(move |(_, fold)| **fold == of);
        of_fold.map(|(row, _)| scored(row, of, &model)).collect::<Vec<_>>()
    };
    let mut judged = Vec::new();
    for fold in 0..FOLDS {
        let inner: Vec<_> = (0..FOLDS)
            .filter(|other| *other != fold)
            .flat_map(|other| scores(other, fold))
            .collect();
        let threshold = threshold_for(&inner);
        let outer = scores(fold, fold);
        judged.extend(outer.into_iter().map(|row| Judged { threshold, ..row }));
    }
    judged
}

fn scored(row: &Row, fold: u8, model: &reader::Model) -> Judged {
    let finding = judge(Stage::Rcpt, &row.reply);
    Judged {
        fold,
        label: row.label,
        is_of_rules: row.is_of_rules,
        is_fragment: row.is_fragment,
        raw: row.raw.clone(),
        source: row.source.clone(),
        is_refused: finding.status == Status::Refused,
        is_asked: reader::is_asked(Stage::Rcpt, &row.reply, &finding),
        percent: reader::opinion(&row.reply, model, []).percent,
        known_words: model.known_words(&row.features),
        threshold: 100,
    }
}

/// Returns the lowest threshold at which the reader makes few errors, otherwise `THRESHOLD_MAX`.
///
/// Of the replies without the label `dead`, the reader may call at most one in two hundred dead, and
/// none that the rules leave to it.
#[must_use]
pub fn threshold_for(rows: &[Judged]) -> u8 {
    let alive = |row: &&Judged| row.label != Label::Dead;
    let fits = |threshold: &u8| {
        let is_error = |row: &&Judged| row.is_above(*threshold);
        let errors = rows.iter().filter(alive).filter(is_error).count();
        let errors_of_asked =
            rows.iter().filter(alive).filter(|row| row.is_asked).filter(is_error).count();
        errors_of_asked == 0 && errors * 200 <= rows.iter().filter(alive).count()
    };
    (THRESHOLD_MIN..THRESHOLD_MAX).find(fits).unwrap_or(THRESHOLD_MAX)
}

/// Rows covered by a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Replies from which the rules weren't derived.
    Collected,
    /// Collected replies without fragments.
    Whole,
    /// Rows in the held-out fold.
    Apart,
    /// Rows in the other folds.
    Others,
}

impl Scope {
    fn includes(self, row: &Judged) -> bool {
        let is_apart = row.fold == HELD_OUT;
        let is_in = match self {
            Self::Collected => true,
            Self::Whole => !row.is_fragment,
            Self::Apart => is_apart,
            Self::Others => !is_apart,
        };
        is_in && !row.is_of_rules
    }
}

/// Returns the name and share of each figure.
#[must_use]
pub fn figures(judged: &[Judged], scope: Scope) -> [(&'static str, Share); 6] {
    let rows = || judged.iter().filter(move |row| scope.includes(row));
    let dead = || rows().filter(|row| row.label == Label::Dead);
    let alive = || rows().filter(|row| row.label != Label::Dead);
    let both = |row: &Judged| row.is_refused || (row.is_asked && row.is_read());
    [
        ("rules_recall", Share::of(dead(), |row| row.is_refused)),
        ("reader_recall", Share::of(dead(), Judged::is_read)),
        ("both_recall", Share::of(dead(), both)),
        ("rules_false_no", Share::of(alive(), |row| row.is_refused)),
        ("reader_false_no", Share::of(alive(), |row| row.is_asked && row.is_read())),
        ("both_false_no", Share::of(alive(), both)),
    ]
}

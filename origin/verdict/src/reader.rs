//! A statistical second reader for refusals that match no rule: estimates the probability that the
//! reply reports a dead mailbox.
//!
//! The reader is a linear model over hashed words and letters. Its result decides nothing, and is evidence next to the
//! verdict (`docs/verdicts.md`). `origin/trainer` computes its weights.

mod features;
mod model;
mod veto;

use std::sync::LazyLock;

use rcpt_shared::{Reason, Stage};
use rcpt_smtp::Reply;

pub use features::{BUCKETS, Feature, Features};
pub use model::{Model, chance};
pub use veto::Abstention;

use crate::{Finding, judge};

/// The weights written by `make reader`.
pub static MODEL: LazyLock<Model> = LazyLock::new(|| {
    Model::read(include_bytes!("../data/reader/model.bin")).unwrap_or_else(Model::silent)
});

/// The reader's result for a reply, with its features.
#[derive(Debug, Clone)]
pub struct Opinion {
    /// Probability in percent; `None` if the reader abstains.
    pub percent: Option<u8>,
    pub abstention: Option<Abstention>,
    /// Each feature with its contribution to the logit, largest first.
    pub features: Vec<(Feature, f64)>,
    /// Start value of the logit.
    pub bias: f64,
}

/// Returns the probability in percent that `reply` reports a dead mailbox. `None` if a rule has
/// decided or the reader abstains. `our_names` are our HELO names, current and former: the reader abstains if the reply
/// contains one of them.
#[must_use]
pub fn percent<'a>(
    stage: Stage,
    reply: &Reply,
    finding: &Finding,
    our_names: impl IntoIterator<Item = &'a str>,
) -> Option<u8> {
    if !is_asked(stage, reply, finding) || veto::of_text(reply, our_names).is_some() {
        return None;
    }
    let features = Features::of(reply.beginning());
    veto::of_words(&features, &MODEL).is_none().then(|| MODEL.percent(&features))
}

/// Returns whether the reader is used: only if the rules end in `unclear` at RCPT with a permanent
/// code. Replies about us match other rules.
#[must_use]
pub fn is_asked(stage: Stage, reply: &Reply, finding: &Finding) -> bool {
    stage == Stage::Rcpt && reply.is_permanent() && finding.reason == Reason::Unclear
}

/// Returns the model's result for `reply`, even if a rule has decided.
#[must_use]
pub fn opinion<'a>(
    reply: &Reply,
    model: &Model,
    our_names: impl IntoIterator<Item = &'a str>,
) -> Opinion {
    let features = Features::of(reply.beginning());
    let abstention = veto::of_text(reply, our_names).or_else(|| veto::of_words(&features, model));
    let mut weighed: Vec<_> = Features::named(reply.beginning())
        .into_iter()
        .map(|feature| {
            let part = model.part(feature.bucket, features.norm());
            (feature, part)
        })
        .collect();
    weighed.sort_by(|(one, a), (other, b)| {
        b.abs().total_cmp(&a.abs()).then_with(|| one.text.cmp(&other.text))
    });
    Opinion {
        percent: abstention.is_none().then(|| model.percent(&features)),
        abstention,
        features: weighed,
        bias: model.bias(),
    }
}

/// Returns the rule's finding for `reply` at RCPT, and the reader's result if it is used.
#[must_use]
pub fn explain(reply: &Reply) -> (Finding, Option<Opinion>) {
    let finding = judge(Stage::Rcpt, reply);
    let reader_is_asked = is_asked(Stage::Rcpt, reply, &finding);
    let opinion = reader_is_asked.then(|| opinion(reply, &MODEL, []));
    (finding, opinion)
}

#[cfg(test)]
mod tests;

//! The policy as tables: the first matching rule gives a reply's status and reason. A test compares them with
//! `docs/verdicts.md`.

mod before_rcpt;
mod rcpt_permanent;
mod rcpt_transient;
mod table;

use rcpt_shared::{Reason, Stage};

use before_rcpt::BEFORE_RCPT;
use rcpt_permanent::RCPT_PERMANENT;
use rcpt_transient::RCPT_TRANSIENT;
pub(super) use table::Rule;
use table::rule;

/// RCPT answered with 2yz or 3yz.
const RCPT_POSITIVE: &[Rule] = &[
    // 252 is "cannot verify, but will accept". 211, 214, 220, 221, 235 and 253 are replies to other commands.
    rule("2yz.accepted").codes(&[250, 251, 252]).accepted(),
    rule("2yz.out-of-place").unanswered(Reason::ProtocolError),
];

/// The first match decides. The last rule of each table matches everything.
pub(super) const fn of(stage: Stage, code: u16) -> &'static [Rule] {
    match (stage, code / 100) {
        (Stage::Rcpt, 4) => RCPT_TRANSIENT,
        (Stage::Rcpt, 5) => RCPT_PERMANENT,
        (Stage::Rcpt, _) => RCPT_POSITIVE,
        _ => BEFORE_RCPT,
    }
}

//! The policy as tables: the first matching rule gives a reply's status and reason. A test compares them with
//! `docs/verdicts.md`.

mod before_rcpt;
mod rcpt_permanent;
mod rcpt_positive;
mod rcpt_transient;
mod table;

use rcpt_shared::Stage;

use before_rcpt::BEFORE_RCPT;
use rcpt_permanent::RCPT_PERMANENT;
use rcpt_positive::RCPT_POSITIVE;
use rcpt_transient::RCPT_TRANSIENT;
pub(super) use table::Rule;

/// The first match decides. The last rule of each table matches everything.
pub(super) const fn of(stage: Stage, code: u16) -> &'static [Rule] {
    match (stage, code / 100) {
        (Stage::Rcpt, 4) => RCPT_TRANSIENT,
        (Stage::Rcpt, 5) => RCPT_PERMANENT,
        (Stage::Rcpt, _) => RCPT_POSITIVE,
        _ => BEFORE_RCPT,
    }
}

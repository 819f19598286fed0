//! RCPT answered with 2yz or 3yz.

use rcpt_shared::Reason::ProtocolError;

use super::table::{Rule, rule};

pub(crate) const RCPT_POSITIVE: &[Rule] = &[
    // 252 is "cannot verify, but will accept". 211, 214, 220, 221, 235 and 253 are replies to other commands.
    rule("2yz.accepted").codes(&[250, 251, 252]).accepted(),
    rule("2yz.out-of-place").unanswered(ProtocolError),
];

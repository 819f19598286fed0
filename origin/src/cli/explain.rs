//! `origin explain`: the meaning of a reply to RCPT, and the rule that decided.

use rcpt_shared::Stage;
use rcpt_smtp::Reply;
use rcpt_verdict::{Parties, judge};

/// Explains `text`, a reply with `\n` between its lines. Returns `None` if `text` isn't a reply.
#[must_use]
pub fn explain(text: &str) -> Option<String> {
    let reply = Reply::parse(&(text.trim().replace("\\n", "\r\n") + "\r\n"))?;
    let finding = judge(Stage::Rcpt, &reply, &Parties::default());
    let (status, reason) = (finding.status.as_str(), finding.reason.as_str());
    Some(format!("status {status}, reason {reason}\nrule {}\n", finding.rule.unwrap_or("none")))
}

#[cfg(test)]
mod tests {
    use super::explain;

    #[test]
    fn a_reply_is_explained_by_the_rule_that_decides() {
        let explanation = explain("550 5.1.1 <ann@example.org>: User unknown").unwrap();
        let due = "status false, reason no_such_mailbox\nrule 5yz.address-code\n";
        assert_eq!(explanation, due);
        let explanation = explain("550-no one here\\n550 by that name").unwrap();
        let due = "status blocked_by_provider, reason unclear\nrule 5yz.otherwise\n";
        assert_eq!(explanation, due);
    }

    #[test]
    fn what_is_no_reply_is_not_explained() {
        for text in ["", "no such user", "99 x", "550-first\\n250 second"] {
            assert!(explain(text).is_none(), "{text}");
        }
    }
}

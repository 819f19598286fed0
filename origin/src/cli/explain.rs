//! `origin explain`: the meaning of a reply to RCPT, and the rule that decided.

use rcpt_shared::Stage;
use rcpt_smtp::Reply;
use rcpt_verdict::{Parties, Wording, judge};

const UNDECIDED: &str = "\
undecided: these words say neither \"nobody is there\" nor \"we don't want you\". In a list, they mean nobody if the server
says the same to a name that doesn't exist, and accepts neighbours before and after
";

#[must_use]
pub fn explain(text: &str) -> Option<String> {
    let reply = Reply::parse(&(text.trim().replace("\\n", "\r\n") + "\r\n"))?;
    let finding = judge(Stage::Rcpt, &reply, &Parties::default());
    let (status, reason) = (finding.status.as_str(), finding.reason.as_str());
    let rule = finding.rule.unwrap_or("none");
    let undecided = if is_undecided(&reply) { UNDECIDED } else { "" };
    Some(format!("status {status}, reason {reason}\nrule {rule}\n{undecided}"))
}

/// True if no rule decides the refusal, so that a list may decide it by contrast.
pub(super) fn is_undecided(reply: &Reply) -> bool {
    let finding = judge(Stage::Rcpt, reply, &Parties::default());
    Wording::of(reply, &finding, &Parties::default(), |_| 0).is_some()
}

#[cfg(test)]
mod tests {
    use super::explain;

    #[test]
    fn a_reply_is_explained_by_the_rule_that_decides() {
        let explanation = explain("550 5.1.1 <ann@example.org>: User unknown").unwrap();
        let due = "status false, reason no_such_mailbox\nrule 5yz.address-code\n";
        assert_eq!(explanation, due);
        let explanation = explain("550-kielletty\\n550 tapahtuma").unwrap();
        let due = "status blocked_by_provider, reason unclear\nrule 5yz.otherwise\nundecided: ";
        assert!(explanation.starts_with(due), "{explanation}");
    }

    #[test]
    fn what_is_no_reply_is_not_explained() {
        for text in ["", "no such user", "99 x", "550-first\\n250 second"] {
            assert!(explain(text).is_none(), "{text}");
        }
    }
}

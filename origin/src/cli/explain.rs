//! `origin explain`: the meaning of a reply to RCPT, and the rule that decided.

use std::fmt::{self, Write as _};

use rcpt_smtp::Reply;
use rcpt_verdict::reader::{self, MODEL};

/// Maximum number of features shown; further features add little.
const FEATURES_MAX: usize = 16;

/// Explains `text`, a reply with `\n` between its lines. Returns `None` if `text` isn't a reply.
#[must_use]
pub fn explain(text: &str) -> Option<String> {
    let reply = Reply::parse(&(text.trim().replace("\\n", "\r\n") + "\r\n"))?;
    let mut explained = String::new();
    write(&mut explained, &reply).ok()?;
    Some(explained)
}

fn write(out: &mut String, reply: &Reply) -> fmt::Result {
    let (finding, opinion) = reader::explain(reply);
    writeln!(out, "status {}, reason {}", finding.status.as_str(), finding.reason.as_str())?;
    writeln!(out, "rule {}", finding.rule.unwrap_or("none"))?;
    let Some(opinion) = opinion else {
        return writeln!(out, "reader not asked: a rule has decided");
    };
    match (opinion.percent, opinion.abstention) {
        (Some(percent), _) => writeln!(
            out,
            "reader {percent} % dead, threshold {} %; it decides nothing",
            MODEL.threshold
        )?,
        (None, abstention) => {
            let why = abstention.map_or("", reader::Abstention::as_str);
            writeln!(out, "reader abstains: {why}")?;
        }
    }
    writeln!(out, "  {:+.3} to begin with", opinion.bias)?;
    for (feature, part) in opinion.features.iter().take(FEATURES_MAX) {
        writeln!(out, "  {part:+.3} {}", feature.text)?;
    }
    let others = opinion.features.iter().skip(FEATURES_MAX);
    let (count, sum) = others.fold((0, 0.0), |(count, sum), (_, part)| (count + 1, sum + part));
    if count > 0 {
        writeln!(out, "  {sum:+.3} {count} others")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::explain;

    #[test]
    fn a_reply_that_a_rule_understands_is_explained_by_the_rule() {
        let explanation = explain("550 5.1.1 <ann@example.org>: User unknown").unwrap();
        let due = "status false, reason no_such_mailbox\nrule 5yz.address-code\n\
            reader not asked: a rule has decided\n";
        assert_eq!(explanation, due);
    }

    #[test]
    fn a_reply_that_no_rule_understands_is_explained_by_its_words() {
        let explanation = explain("550-no one here\\n550 by that name").unwrap();
        let lines: Vec<_> = explanation.lines().collect();
        assert_eq!(lines[1], "rule 5yz.otherwise", "{explanation}");
        assert!(
            lines[2].starts_with("reader ") && lines[2].contains(" % dead, threshold "),
            "{explanation}"
        );
        assert!(lines[3].ends_with(" to begin with") && lines.len() > 10, "{explanation}");
        let explanation =
            explain("550 no one here by that name, see https://example.org/").unwrap();
        assert!(explanation.contains("reader abstains: a URL"), "{explanation}");
    }

    #[test]
    fn what_is_no_reply_is_not_explained() {
        for text in ["", "no such user", "99 x", "550-first\\n250 second"] {
            assert!(explain(text).is_none(), "{text}");
        }
    }
}

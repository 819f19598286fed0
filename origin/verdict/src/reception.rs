//! How a server treats us, by its reply, and the delay that its text asks for. The pool uses both to decide when to
//! connect again.

use rcpt_smtp::Reply;

use super::Rule;

/// Postgrey's default delay, for texts without one.
const DEFAULT_DELAY_S: u32 = 300;
const MIN_DELAY_S: u32 = 60;
const MAX_DELAY_S: u32 = 24 * 3_600;

/// Extent of a refusal beyond the recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// No consequence for the next recipient.
    Nothing,
    /// Our address, its name or its reputation: every recipient there gets the same reply.
    OurAddress,
    /// A rule that may belong to the recipient or its domain: other domains there get other
    /// replies.
    DomainRule,
    Rate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reception {
    pub scope: Scope,
    /// Seconds for which the text asks us to stay away.
    pub hint: Option<u32>,
}

impl Reception {
    pub(super) const NONE: Self = Self { scope: Scope::Nothing, hint: None };

    pub(super) fn of(rule: &Rule, reply: &Reply) -> Self {
        let scope = match rule.scope {
            Scope::Nothing if reply.code == 421 => Scope::Rate,
            scope => scope,
        };
        let hint = if scope == Scope::Nothing { None } else { hint(reply.beginning()) };
        Self { scope, hint }
    }
}

/// The delay is from the text (`try again in 5 minutes`, `Greylisted for 300 seconds`), otherwise five minutes.
pub(super) fn seconds(text: &str) -> u32 {
    hint(text).unwrap_or(DEFAULT_DELAY_S)
}

/// The delay in seconds: at least a minute, and at most a day.
pub(super) fn hint(text: &str) -> Option<u32> {
    let mut number = None;
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if let Some(count) = number {
            let word = word.to_ascii_lowercase();
            let unit = match word.as_str() {
                "s" | "sec" | "secs" | "second" | "seconds" => Some(1),
                "m" | "min" | "mins" | "minute" | "minutes" => Some(60),
                "h" | "hour" | "hours" => Some(3_600),
                _ => None,
            };
            if let Some(unit) = unit {
                return Some(u32::saturating_mul(count, unit).clamp(MIN_DELAY_S, MAX_DELAY_S));
            }
        }
        number = word.parse().ok();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn takes_the_delay_from_the_text_within_reason() {
        for (text, delay) in [
            ("Greylisted, see http://postgrey.schweikert.ch/help/example.org.html", 300),
            ("Greylisting in effect, please come back in 7 minutes", 420),
            ("greylisted for 300 seconds", 300),
            ("try again in 1 hour.", 3_600),
            ("try again in 1 second", 60),
            ("try again in 4294967295 hours", 86_400),
            ("try again in 99999999999999 hours", 300),
            ("", 300),
        ] {
            assert_eq!(seconds(text), delay, "{text}");
        }
    }
}

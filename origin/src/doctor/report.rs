//! The doctor's findings, as text and as JSON.

use std::fmt;

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    Fine,
    /// Not configured, or not determined.
    Unknown,
    /// Probes work, but some servers may refuse them.
    Warning,
    Wrong,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Fixed name of the examination: `port_25`, `helo_name`, …
    pub check: &'static str,
    pub health: Health,
    pub about: String,
    /// Empty if nothing needs to be done.
    pub advice: String,
    #[serde(skip)]
    pub source: Option<String>,
}

impl Finding {
    fn new(
        (check, health): (&'static str, Health),
        about: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { check, health, about: about.into(), advice: advice.into(), source: None }
    }

    pub(crate) fn of(self, source: &str) -> Self {
        Self { source: Some(source.to_owned()), ..self }
    }

    pub(crate) fn fine(check: &'static str, about: impl Into<String>) -> Self {
        Self::new((check, Health::Fine), about, "")
    }

    pub(crate) fn unknown(
        check: &'static str,
        about: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self::new((check, Health::Unknown), about, advice)
    }

    pub(crate) fn warning(
        check: &'static str,
        about: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self::new((check, Health::Warning), about, advice)
    }

    pub(crate) fn wrong(
        check: &'static str,
        about: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self::new((check, Health::Wrong), about, advice)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.health {
            Health::Fine => "ok     ",
            Health::Unknown => "unknown",
            Health::Warning => "warning",
            Health::Wrong => "WRONG  ",
        };
        write!(f, "{mark} {}", self.about)?;
        if !self.advice.is_empty() {
            write!(f, "\n        {}", self.advice)?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The worst of the findings.
    health: Health,
    pub findings: Vec<Finding>,
}

impl Report {
    pub fn of(findings: Vec<Finding>) -> Self {
        let health = findings.iter().map(|it| it.health).max().unwrap_or(Health::Unknown);
        Self { health, findings }
    }

    /// 1 if something is wrong, 3 if there are only warnings. 2 is reserved for wrong arguments.
    pub fn exit_code(&self) -> u8 {
        match self.health {
            Health::Fine | Health::Unknown => 0,
            Health::Wrong => 1,
            Health::Warning => 3,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, finding) in self.findings.iter().enumerate() {
            let separator = if position == 0 { "" } else { "\n" };
            write!(f, "{separator}{finding}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Finding, Report};

    #[test]
    fn a_finding_says_what_to_do() {
        let wrong = Finding::wrong("port_25", "port 25 is shut", "Ask the provider.");
        assert_eq!(wrong.to_string(), "WRONG   port 25 is shut\n        Ask the provider.");
        assert_eq!(Finding::fine("clock", "all is well").to_string(), "ok      all is well");
    }

    #[test]
    fn the_exit_code_tells_warnings_from_failures() {
        let fine = || Finding::fine("a", "");
        let unknown = || Finding::unknown("b", "", "");
        let warning = || Finding::warning("c", "", "");
        let wrong = || Finding::wrong("d", "", "");
        for (findings, code) in [
            (vec![fine(), unknown()], 0),
            (vec![warning(), fine()], 3),
            (vec![fine(), wrong(), warning()], 1),
        ] {
            assert_eq!(Report::of(findings).exit_code(), code);
        }
    }

    #[test]
    fn machines_get_the_same() {
        let report = Report::of(vec![Finding::warning("spf", "no record", "Add one.")]);
        let finding = json!({"check": "spf", "health": "warning", "about": "no record",
            "advice": "Add one."});
        let expected = json!({"health": "warning", "findings": [finding]});
        assert_eq!(serde_json::to_value(report).unwrap(), expected);
    }
}

//! The doctor's findings, as text and as JSON.

use std::fmt;

use serde::{Serialize, Serializer, ser::SerializeStruct as _};

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
    pub(crate) fn fine(check: &'static str, about: impl Into<String>) -> Self {
        Self {
            check,
            health: Health::Fine,
            about: about.into(),
            advice: String::new(),
            source: None,
        }
    }

    pub(crate) fn of(self, source: &str) -> Self {
        Self { source: Some(source.to_owned()), ..self }
    }

    pub(crate) fn unknown(
        check: &'static str,
        about: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            check,
            health: Health::Unknown,
            about: about.into(),
            advice: advice.into(),
            source: None,
        }
    }

    pub(crate) fn warning(
        check: &'static str,
        about: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            check,
            health: Health::Warning,
            about: about.into(),
            advice: advice.into(),
            source: None,
        }
    }

    pub(crate) fn wrong(
        check: &'static str,
        about: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            check,
            health: Health::Wrong,
            about: about.into(),
            advice: advice.into(),
            source: None,
        }
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report(pub Vec<Finding>);

impl Report {
    pub fn health(&self) -> Health {
        self.0.iter().map(|finding| finding.health).max().unwrap_or(Health::Unknown)
    }

    /// 1 if something is wrong, 3 if there are only warnings. 2 is reserved for wrong arguments.
    pub fn exit_code(&self) -> u8 {
        match self.health() {
            Health::Fine | Health::Unknown => 0,
            Health::Wrong => 1,
            Health::Warning => 3,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, finding) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { "\n" };
            write!(f, "{separator}{finding}")?;
        }
        Ok(())
    }
}

/// Serialises as `{health, findings: [{check, health, about, advice}]}`.
impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut report = serializer.serialize_struct("Report", 2)?;
        report.serialize_field("health", &self.health())?;
        report.serialize_field("findings", &self.0)?;
        report.end()
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
            assert_eq!(Report(findings).exit_code(), code);
        }
    }

    #[test]
    fn machines_get_the_same() {
        let report = Report(vec![Finding::warning("spf", "no record", "Add one.")]);
        let finding = json!({"check": "spf", "health": "warning", "about": "no record",
            "advice": "Add one."});
        let expected = json!({"health": "warning", "findings": [finding]});
        assert_eq!(serde_json::to_value(report).unwrap(), expected);
    }
}

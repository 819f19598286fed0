//! Mistakes in the configuration, single and as a list, and those between valid values.

use std::fmt;

use rcpt_smtp::HeloIdentity;

use super::Config;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingMistake {
    pub name: String,
    sentence: String,
}

impl SettingMistake {
    pub(crate) fn new(name: &str, problem: &str) -> Self {
        Self { name: name.to_owned(), sentence: format!("{name}: {problem}") }
    }

    pub(super) fn unknown(kind: &str, name: &str, suggestion: Option<&str>) -> Self {
        let hint = match suggestion {
            Some(suggestion) => format!("did you mean `{suggestion}`?"),
            None => "`origin --help` lists those there are".to_owned(),
        };
        Self { name: name.to_owned(), sentence: format!("unknown {kind} `{name}`; {hint}") }
    }
}

impl fmt::Display for SettingMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// All mistakes of a configuration: first unknown keys, then wrong values, then contradictions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mistakes(pub Vec<SettingMistake>);

impl Mistakes {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<SettingMistake> for Mistakes {
    fn from(mistake: SettingMistake) -> Self {
        Self(vec![mistake])
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, mistake) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { "\n" };
            write!(f, "{separator}{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

impl Config {
    /// Parts of the budget are only compared if they are set (`is_given`): the budget cuts off a default that exceeds
    /// it.
    pub(super) fn contradictions(&self, is_given: impl Fn(&str) -> bool) -> Vec<SettingMistake> {
        let mut mistakes = Vec::new();
        for (name, part) in
            [("connect_timeout_ms", self.connect_timeout), ("dns_timeout_ms", self.dns_timeout)]
        {
            if part > self.budget && is_given(name) {
                let (part, whole) = (part.as_millis(), self.budget.as_millis());
                let problem = format!("{part} is longer than budget_ms, which is {whole}");
                mistakes.push(SettingMistake::new(name, &problem));
            }
        }
        for (name, address) in
            [("admin_listen", self.admin_listen), ("neighbour_listen", self.neighbour_listen)]
        {
            // Each listener on port 0 gets a port of its own.
            if address == Some(self.listen) && self.listen.port() != 0 {
                mistakes.push(SettingMistake::new(name, "the same as listen"));
            }
        }
        if self.neighbour_listen.is_some() && self.contact.is_empty() && self.mail_from.is_empty() {
            let problem =
                "missing; neighbour_listen needs an address to write to, and mail_from is <>";
            mistakes.push(SettingMistake::new("contact", problem));
        }
        for server in &self.port_check {
            let host = server.host.to_ascii_lowercase();
            let is_address = |ip| self.opt_outs.include_address(ip);
            if self.opt_outs.include_host(&host)
                || self.opt_outs.include_domain(&host)
                || host.parse().is_ok_and(is_address)
            {
                let problem = format!("{host} is one of opt_outs");
                mistakes.push(SettingMistake::new("port_check", &problem));
            }
        }
        if !self.source_addresses.is_empty()
            && self.source_addresses.iter().all(|source| source.is_for_free)
        {
            let problem = "all are free:, and none is left for paying accounts";
            mistakes.push(SettingMistake::new("source_addresses", problem));
        }
        let identities = HeloIdentity::all(&self.helo_name, &self.source_addresses, self.families);
        if identities.len() > 1 && self.source_key.0.is_empty() {
            let problem =
                "missing; it assigns domains to the source_addresses, 16 characters or more";
            mistakes.push(SettingMistake::new("source_key", problem));
        }
        for source in &self.source_addresses {
            if !self.dialled_families().include(source.ip) {
                let problem = format!("leaves out {} of source_addresses", source.ip);
                mistakes.push(SettingMistake::new("families", &problem));
            }
        }
        mistakes
    }
}

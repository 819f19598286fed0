//! The table of operators, with their mail hosts and limits: `data/operators.toml` and the configured `operators_file`.

mod parse;

use std::{collections::HashMap, sync::Arc, time::Duration};

pub use crate::question::OperatorId;

const BUILT_IN: &str = include_str!("../../data/operators.toml");

pub const OTHER: &str = "other";

/// An operator. A limit of `None` means the configured default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Operator {
    pub name: Arc<str>,
    /// Suffixes of mail hosts in whole labels; `*` matches one label.
    mx: Vec<String>,
    consumer: Vec<String>,
    /// True if the operator's replies at RCPT reveal whether the mailbox exists; `None` if unknown.
    pub informative: Option<bool>,
    pub sessions: Option<usize>,
    pub session_interval: Option<Duration>,
    pub recipients_per_minute: Option<usize>,
    pub refused_per_hour: Option<usize>,
    /// Recipients asked about in one session.
    pub session_recipients: Option<usize>,
}

#[derive(Debug, Clone)]
pub struct Operators {
    rows: Vec<Operator>,
    by_suffix: HashMap<String, OperatorId>,
    by_pattern: Vec<(Pattern, OperatorId)>,
    by_consumer_domain: HashMap<String, OperatorId>,
}

#[derive(Debug, Clone)]
struct Pattern {
    end: String,
    labels: Vec<String>,
}

impl Pattern {
    fn of(text: &str) -> Self {
        let end = text.rsplit('*').next().unwrap_or_default().to_owned();
        Self { end, labels: text.rsplit('.').map(ToOwned::to_owned).collect() }
    }

    fn fits(&self, host: &str) -> bool {
        let mut labels = host.rsplit('.');
        let is_label =
            |wanted: &String| labels.next().is_some_and(|label| wanted == "*" || wanted == label);
        // Compares the end first: most hosts differ there, and needn't be split.
        host.ends_with(&self.end) && self.labels.iter().all(is_label)
    }
}

impl Operators {
    /// The built-in rows together with those of an operators file. The errors are a sentence for each mistake, with the
    /// operator concerned.
    pub fn with(text: &str) -> Result<Self, Vec<String>> {
        let mut rows = parse::rows(BUILT_IN)?;
        for row in parse::rows(text)? {
            match rows.iter_mut().find(|known| known.name == row.name) {
                Some(known) => known.extend(row),
                None => rows.push(row),
            }
        }
        Self::index(rows)
    }

    /// The same table with rows numbered as in `before`: the pool stores records about an operator under that number.
    /// Rows only in `before` are unreachable.
    #[must_use]
    pub fn numbered_as(self, before: &Self) -> Self {
        let mut rows = self.rows.clone();
        let mut numbered: Vec<_> = before
            .rows
            .iter()
            .map(|known| match rows.iter().position(|row| row.name == known.name) {
                Some(position) => rows.remove(position),
                None => Operator { name: known.name.clone(), ..Operator::default() },
            })
            .collect();
        numbered.extend(rows);
        // Renumbering rows can't introduce duplicates, so this doesn't fail.
        Self::index(numbered).unwrap_or(self)
    }

    fn index(rows: Vec<Operator>) -> Result<Self, Vec<String>> {
        let mut table = Self {
            rows: Vec::new(),
            by_suffix: HashMap::new(),
            by_pattern: Vec::new(),
            by_consumer_domain: HashMap::new(),
        };
        let mut mistakes = Vec::new();
        for (id, row) in rows.iter().enumerate() {
            let mut claimed = |index: &mut HashMap<String, OperatorId>, name: &String| {
                let other = index.insert(name.clone(), id).filter(|other| *other != id);
                if let Some(other) = other.and_then(|other| rows.get(other)) {
                    let problem = format!("{name} belongs to {} already", other.name);
                    mistakes.push(parse::mistake(&row.name, &problem));
                }
            };
            for pattern in &row.mx {
                if pattern.split('.').any(|label| label == "*") {
                    table.by_pattern.push((Pattern::of(pattern), id));
                } else {
                    claimed(&mut table.by_suffix, pattern);
                }
            }
            row.consumer.iter().for_each(|name| claimed(&mut table.by_consumer_domain, name));
        }
        table.rows = rows;
        if mistakes.is_empty() { Ok(table) } else { Err(mistakes) }
    }

    pub fn rows(&self) -> &[Operator] {
        &self.rows
    }

    pub fn get(&self, id: OperatorId) -> Option<&Operator> {
        self.rows.get(id)
    }

    /// `host` is in lower case. The longest matching suffix decides; suffixes with `*` are tried last.
    pub fn of_host(&self, host: &str) -> Option<OperatorId> {
        let mut suffix = host;
        loop {
            if let Some(id) = self.by_suffix.get(suffix) {
                return Some(*id);
            }
            match suffix.split_once('.') {
                Some((_, rest)) => suffix = rest,
                None => break,
            }
        }
        self.by_pattern.iter().find(|(pattern, _)| pattern.fits(host)).map(|(_, id)| *id)
    }

    pub fn label(&self, host: &str) -> Arc<str> {
        let row = self.of_host(host).and_then(|id| self.get(id));
        row.map_or_else(|| Arc::from(OTHER), |row| row.name.clone())
    }

    /// True if anybody can get a mailbox at the domain: then a reply about one recipient isn't under the domain owner's
    /// control.
    pub fn is_consumer_domain(&self, domain: &str) -> bool {
        self.by_consumer_domain.contains_key(domain)
    }
}

impl Operator {
    fn extend(&mut self, more: Self) {
        self.mx.extend(more.mx);
        self.consumer.extend(more.consumer);
        self.informative = more.informative.or(self.informative);
        self.sessions = more.sessions.or(self.sessions);
        self.session_interval = more.session_interval.or(self.session_interval);
        self.recipients_per_minute = more.recipients_per_minute.or(self.recipients_per_minute);
        self.refused_per_hour = more.refused_per_hour.or(self.refused_per_hour);
        self.session_recipients = more.session_recipients.or(self.session_recipients);
    }
}

#[cfg(test)]
mod tests;

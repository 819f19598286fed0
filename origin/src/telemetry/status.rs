//! `origin status`: prints the running service's `GET /operators` as a table.

use std::{io, net::SocketAddr, time::Duration};

use rcpt_pool::{SiteStatus, Status};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::surroundings::unix_now;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginStatus {
    #[serde(flatten)]
    pub pool: Status,
    #[serde(default)]
    pub sources: Vec<SourceStatus>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AddressFinding {
    pub check: &'static str,
    pub about: String,
    pub advice: String,
    pub since: u64,
    #[serde(skip)]
    pub source: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceStatus {
    pub source: String,
    pub class: String,
    /// `in_use`, `new`, `blocklisted`, `unwelcome` or `resting`.
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Fails when the service isn't running there, or its response is invalid.
pub async fn fetch(address: SocketAddr) -> io::Result<String> {
    let asking = async {
        let mut stream = TcpStream::connect(address).await?;
        // In HTTP/1.0 the body ends with the connection.
        stream.write_all(b"GET /operators HTTP/1.0\r\n\r\n").await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        io::Result::Ok(text)
    };
    let text = timeout(REQUEST_TIMEOUT, asking).await.map_err(|_| io::ErrorKind::TimedOut)??;
    let (_, body) = text.split_once("\r\n\r\n").ok_or(io::ErrorKind::InvalidData)?;
    let status: OriginStatus = serde_json::from_str(body).map_err(io::Error::other)?;
    Ok(table(&status, unix_now()))
}

pub fn table(status: &OriginStatus, now: u64) -> String {
    let operators = operator_table(&status.pool, now);
    let sources = source_table(&status.sources, now);
    format!("{operators}\n{sources}")
}

fn source_table(sources: &[SourceStatus], now: u64) -> String {
    let row = |source: &str, class: &str, state: &str, since: &str, why: &str| {
        format!("{source:<40} {class:<6} {state:<12} {since:<14}  {why}\n")
    };
    let mut table = row("source", "class", "state", "since", "why");
    for it in sources {
        let since = it.since.map_or_else(|| "-".to_owned(), |since| ago(since, now));
        let why = it.why.as_deref().unwrap_or("-");
        table.push_str(&row(&it.source, &it.class, &it.state, &since, why));
    }
    table
}

fn ago(since: u64, now: u64) -> String {
    match now.saturating_sub(since) / 60 {
        minutes @ 0..120 => format!("{minutes} min ago"),
        minutes @ 120..2_880 => format!("{} h ago", minutes / 60),
        minutes => format!("{} days ago", minutes / 1_440),
    }
}

fn operator_table(status: &Status, now: u64) -> String {
    let mut table = format!(
        "{:<16} {:<24} {:>8} {:>5} {:>8} {:>12} {:>12} {:>10}  {}\n",
        "operator",
        "source",
        "sessions",
        "idle",
        "waiting",
        "interval",
        "refused/h",
        "recipients",
        "lowered since"
    );
    for site in &status.operators {
        table.push_str(&row(site, now));
    }
    table
}

fn row(site: &SiteStatus, now: u64) -> String {
    let lowered = match (site.lowered_since, &site.words) {
        (Some(since), words) => {
            format!("{}: {}", ago(since, now), words.as_deref().unwrap_or_default())
        }
        (None, _) => "-".to_owned(),
    };
    format!(
        "{:<16} {:<24} {:>8} {:>5} {:>8} {:>9} ms {:>12} {:>10}  {lowered}\n",
        site.operator,
        site.source,
        site.sessions,
        site.idle,
        site.waiting,
        site.interval_ms,
        format!("{}/{}", site.refused_last_hour, site.refused_per_hour),
        site.totals.recipients,
    )
}

#[cfg(test)]
mod tests {
    use super::{OriginStatus, SiteStatus, SourceStatus, Status, table};

    #[test]
    fn the_table_says_which_address_is_refused_since_when_and_with_which_words() {
        let site = SiteStatus {
            operator: "microsoft".to_owned(),
            source: "192.0.2.1".to_owned(),
            interval_ms: 5_000,
            lowered_since: Some(1_000),
            words: Some("blocked using a list".to_owned()),
            ..SiteStatus::default()
        };
        let source = |state: &str, since, why: Option<&str>| SourceStatus {
            source: "192.0.2.1".to_owned(),
            class: "known".to_owned(),
            state: state.to_owned(),
            since,
            why: why.map(str::to_owned),
        };
        let pool = Status { operators: vec![site, SiteStatus::default()], ..Status::default() };
        let sources = vec![
            source("blocklisted", Some(1_300), Some("192.0.2.1 is on bl.example")),
            source("in_use", None, None),
        ];
        let status = OriginStatus { pool, sources };
        let text = table(&status, 1_600);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[1].starts_with("microsoft        192.0.2.1 "), "{text}");
        assert!(lines[1].ends_with("10 min ago: blocked using a list"), "{text}");
        assert!(lines[2].ends_with(" -"), "{text}");
        assert!(lines[5].contains(" known  blocklisted  5 min ago "), "{text}");
        assert!(lines[5].ends_with("192.0.2.1 is on bl.example"), "{text}");
        assert!(lines[6].contains(" in_use ") && lines[6].ends_with(" -"), "{text}");
    }

    #[test]
    fn what_an_older_release_answers_is_read() {
        let status: OriginStatus = serde_json::from_str(r#"{"operators": []}"#).unwrap();
        assert_eq!(status, OriginStatus::default());
    }
}

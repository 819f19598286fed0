//! `origin status`: the running service's `GET /operators`, as a table.

use std::{io, net::SocketAddr, time::Duration};

use rcpt_pool::{SiteStatus, Status};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::clock::unix_now;

const PATIENCE: Duration = Duration::from_secs(5);

/// Asks the service at `address` and returns the table.
///
/// # Errors
/// [`io::Error`] when it does not run there, or answers something else.
pub async fn fetch(address: SocketAddr) -> io::Result<String> {
    let asking = async {
        let mut stream = TcpStream::connect(address).await?;
        // HTTP/1.0: the body is what comes until the end.
        stream.write_all(b"GET /operators HTTP/1.0\r\n\r\n").await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        io::Result::Ok(text)
    };
    let text = timeout(PATIENCE, asking).await.map_err(|_| io::ErrorKind::TimedOut)??;
    let (_, body) = text.split_once("\r\n\r\n").ok_or(io::ErrorKind::InvalidData)?;
    let status: Status = serde_json::from_str(body).map_err(io::Error::other)?;
    Ok(table(&status, unix_now()))
}

/// One line for each operator and source address, and what was said where a rate is lowered.
pub fn table(status: &Status, now: u64) -> String {
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
            let minutes = now.saturating_sub(since) / 60;
            format!("{minutes} min ago: {}", words.as_deref().unwrap_or_default())
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
        site.recipients_total,
    )
}

#[cfg(test)]
mod tests {
    use super::{SiteStatus, Status, table};

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
        let text = table(
            &Status { operators: vec![site, SiteStatus::default()], ..Status::default() },
            1_600,
        );
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].starts_with("microsoft        192.0.2.1 "), "{text}");
        assert!(lines[1].ends_with("10 min ago: blocked using a list"), "{text}");
        assert!(lines[2].ends_with(" -"), "{text}");
    }
}

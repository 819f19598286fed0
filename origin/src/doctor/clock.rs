//! The clock: tickets live for a minute, so a wrong clock makes them invalid.

use rsntp::AsyncSntpClient;

use super::Finding;
use crate::config::Server;

/// Greatest tolerated offset of the clock in seconds: the edge's tickets live for sixty.
const OFFSET_MAX_S: f64 = 5.0;

pub(super) async fn clock(server: Option<&Server>) -> Finding {
    let Some(Server { host, port }) = server else {
        let advice = "Set `time_server`, or make sure the system keeps its clock (timedatectl).";
        return Finding::unknown("clock", "the clock: not checked", advice);
    };
    let client = AsyncSntpClient::new();
    match client.synchronize(format!("{host}:{port}")).await {
        Ok(measured) => judge(measured.clock_offset().as_secs_f64()),
        Err(error) => {
            let about = format!("{host}:{port}: {error}");
            Finding::unknown("clock", about, "Check `time_server`, and UDP port 123 outward.")
        }
    }
}

fn judge(offset: f64) -> Finding {
    if offset.abs() <= OFFSET_MAX_S {
        return Finding::fine("clock", format!("the clock is right to {:.1} s", offset.abs()));
    }
    let advice = "Tickets live for sixty seconds: have the system keep its clock (chrony, \
                  systemd-timesyncd).";
    Finding::wrong("clock", format!("the clock is off by {offset:.1} s"), advice)
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::judge;

    #[test]
    fn a_clock_is_wrong_when_it_is_off_by_more_than_five_seconds() {
        for (offset, health) in [(0.2, Health::Fine), (-4.9, Health::Fine), (90.0, Health::Wrong)] {
            assert_eq!(judge(offset).health, health, "{offset}");
        }
        assert!(judge(-61.0).about.contains("-61.0 s"));
    }
}

//! Delay before a message is redelivered after a failure, such as of a database, the queue or the
//! configuration.

use super::{LIFETIME, message::ScanMessage};

/// In seconds. A short failure delays a message only a little; the queue drops a message after 100
/// attempts, which take more than twelve hours (docs/trust.md, B11).
const LEAST: u64 = 30;
const MOST: u64 = 900;
/// The delay is the message's age divided by this.
const SHARE: u64 = 8;

/// Returns the seconds until a message sent at `sent_at` (Unix seconds) is redelivered: at the
/// latest at the end of its scan, when it is dropped.
pub fn delay(text: Option<&str>, sent_at: u64, now: u64) -> u32 {
    let since = text.and_then(ScanMessage::parse).map(|message| message.place.since);
    let time_left = since.map_or(u64::MAX, |since| (since + LIFETIME).saturating_sub(now));
    let delay = (now.saturating_sub(sent_at) / SHARE).clamp(LEAST, MOST).min(time_left);
    u32::try_from(delay).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use rcpt_shared::KeyRing;

    use super::{LEAST, MOST, delay};
    use crate::{
        account::AccountId,
        background::scans::{
            LIFETIME,
            message::{MessagePlace, ScanMessage},
        },
    };

    const SENT: u64 = 1_790_000_000;

    #[test]
    fn a_hundred_attempts_take_longer_than_twelve_hours_and_the_first_ones_are_soon() {
        for first_delivery in [0, 300, 4 * 60 * 60] {
            let (mut now, mut attempts) = (SENT + first_delivery, 1);
            while now < SENT + first_delivery + 12 * 60 * 60 {
                let wait = u64::from(delay(None, SENT, now));
                assert!((LEAST..=MOST).contains(&wait), "{wait}");
                (now, attempts) = (now + wait, attempts + 1);
            }
            println!("{attempts} attempts in twelve hours, from {first_delivery} s on");
            assert!(attempts <= 90, "{attempts}");
        }
        assert_eq!(u64::from(delay(None, SENT, SENT + 2)), LEAST);
    }

    #[test]
    fn no_message_waits_longer_than_its_scan_may_take() {
        let keys = KeyRing::parse(&format!("k:{}", "w".repeat(43))).unwrap();
        let (account, scan) = (AccountId::from_u64(7), "scan_1".to_owned());
        let place = MessagePlace { account, scan, part: 0, slot: 0, round: 0, since: SENT };
        let text = ScanMessage::seal(&keys, place, 0, &[]).unwrap().outgoing(0).unwrap().text;
        let end = SENT + LIFETIME;
        let waits = [end - 1000, end - 20, end, end + 9].map(|now| delay(Some(&text), SENT, now));
        assert_eq!(waits, [900, 20, 0, 0]);
    }
}

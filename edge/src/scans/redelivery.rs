//! Delay before a message is redelivered after a failure, such as of a database, the queue or the
//! configuration.

use super::{LIFETIME_S, message::ScanMessage};

/// Least and greatest delay in seconds: a short failure delays a message only a little. The queue
/// drops a message after 100 attempts, which take more than twelve hours (docs/security.md, B11).
const DELAY_MIN_S: u64 = 30;
const DELAY_MAX_S: u64 = 900;
const AGE_DIVISOR: u64 = 8;

/// Seconds until a message sent at `sent_at` (Unix seconds) is redelivered. The delay ends no later than the scan's
/// lifetime, after which the message is dropped.
pub fn delay(text: Option<&str>, sent_at: u64, now: u64) -> u32 {
    let since = text.and_then(ScanMessage::parse).map(|message| message.position.since);
    let time_left = since.map_or(u64::MAX, |since| (since + LIFETIME_S).saturating_sub(now));
    let delay =
        (now.saturating_sub(sent_at) / AGE_DIVISOR).clamp(DELAY_MIN_S, DELAY_MAX_S).min(time_left);
    u32::try_from(delay).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use rcpt_shared::KeyRing;

    use super::{DELAY_MAX_S, DELAY_MIN_S, delay};
    use crate::{
        account::AccountId,
        scans::{
            LIFETIME_S,
            message::{MessagePosition, ScanMessage},
        },
    };

    const SENT_AT: u64 = 1_790_000_000;

    #[test]
    fn a_hundred_attempts_take_longer_than_twelve_hours_and_the_first_ones_are_soon() {
        for first_delivery in [0, 300, 4 * 60 * 60] {
            let (mut now, mut attempts) = (SENT_AT + first_delivery, 1);
            while now < SENT_AT + first_delivery + 12 * 60 * 60 {
                let wait = u64::from(delay(None, SENT_AT, now));
                assert!((DELAY_MIN_S..=DELAY_MAX_S).contains(&wait), "{wait}");
                (now, attempts) = (now + wait, attempts + 1);
            }
            println!("{attempts} attempts in twelve hours, from {first_delivery} s on");
            assert!(attempts <= 90, "{attempts}");
        }
        assert_eq!(u64::from(delay(None, SENT_AT, SENT_AT + 2)), DELAY_MIN_S);
    }

    #[test]
    fn no_message_waits_longer_than_its_scan_may_take() {
        let keys = KeyRing::parse(&"w".repeat(43)).unwrap();
        let (account, scan) = (AccountId::from_u64(7), "scan_1".to_owned());
        let position =
            MessagePosition { account, scan, part: 0, slot: 0, round: 0, since: SENT_AT };
        let text = ScanMessage::seal(&keys, position, 0, &[]).unwrap().outgoing(0).unwrap().text;
        let end = SENT_AT + LIFETIME_S;
        let waits =
            [end - 1000, end - 20, end, end + 9].map(|now| delay(Some(&text), SENT_AT, now));
        assert_eq!(waits, [900, 20, 0, 0]);
    }
}

//! Rings of secrets. Each value is a secret of the platform of its own: `SESSION_SECRET_20261128T0130_4e13baf98a` is
//! named after its ring, the minute of its making (UTC) and its id, which is computed from the value.

use chrono::NaiveDate;
use rcpt_shared::KeyRing;

use super::reader::Reader;

impl Reader<'_> {
    /// Reads a ring that must have a value; `None` after a mistake.
    pub fn ring(&mut self, ring: &str) -> Option<KeyRing> {
        let mistakes = self.mistakes.len();
        let read = self.optional_ring(ring);
        if read.is_none() && self.mistakes.len() == mistakes {
            self.mistakes.push(format!("{ring}: missing"));
        }
        read
    }

    /// Reads a ring; `None` if it has no value, and after a mistake. A value that can't be read is left out with a
    /// warning, unless it is the only one.
    pub fn optional_ring(&mut self, ring: &str) -> Option<KeyRing> {
        let (mut values, mut wrong) = (Vec::new(), Vec::new());
        // Sorted, so that of two values made in one minute every isolate takes the same one for the youngest.
        let mut names: Vec<_> = self.names.iter().collect();
        names.sort_unstable();
        for name in names {
            let rest = name.strip_prefix(ring).and_then(|rest| rest.strip_prefix('_'));
            let (Some(rest), Some(value)) = (rest, self.optional(name)) else { continue };
            match made(rest, &value) {
                Ok(made) => values.push((made, value)),
                Err(mistake) => wrong.push(format!("{name}: {mistake}")),
            }
        }
        if values.is_empty() {
            self.mistakes.extend(wrong);
            return None;
        }
        self.warnings.extend(wrong);
        KeyRing::new(values.iter().map(|(made, value)| (*made, value.as_str()))).ok()
    }
}

/// The minute of a value's making in Unix seconds, from the rest of its name.
fn made(rest: &str, value: &str) -> Result<u64, &'static str> {
    let (minute, id) = rest.split_once('_').unwrap_or_default();
    let made = unix_seconds(minute).ok_or("expected a name that tools/admin secret has made")?;
    let ring = KeyRing::parse(value).map_err(|_| "expected base64url of at least 32 bytes")?;
    if ring.ids().eq([id]) { Ok(made) } else { Err("the value isn't the one that was named") }
}

/// `20261128T0130`.
fn unix_seconds(minute: &str) -> Option<u64> {
    let (day, time) = minute.split_once('T').filter(|_| minute.len() == 13 && minute.is_ascii())?;
    let (year, day) = day.split_at_checked(4)?;
    let (month, day) = day.split_at_checked(2)?;
    let (hour, minute) = time.split_at_checked(2)?;
    let date = NaiveDate::from_ymd_opt(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    let time = date?.and_hms_opt(hour.parse().ok()?, minute.parse().ok()?, 0)?;
    u64::try_from(time.and_utc().timestamp()).ok()
}

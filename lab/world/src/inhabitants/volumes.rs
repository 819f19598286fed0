//! Volume of a source address that is new to an operator. A volume far above that of earlier days is suspicious.
//!
//! Documented: Google's sender guidelines (<https://support.google.com/a/answer/81126>) ask for a slow increase, and
//! say that suddenly doubling the volume can lead to rate limits. No page has the limit of the first day: our limit is
//! a guess, and is varied.

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    time::Duration,
};

use crate::clock::{DAY, HOUR};

/// Factor by which an hour's volume may exceed the largest hourly volume of earlier days.
const GROWTH: usize = 2;

/// Recipients per hour of one source address.
#[derive(Default)]
struct Volume {
    hour: u64,
    this_hour: usize,
    day: u64,
    most_today: usize,
    most_before: usize,
}

/// The new source addresses, and their volumes.
pub struct Volumes {
    new: HashSet<IpAddr>,
    /// Recipients per hour that every new source may have.
    first_max: usize,
    volumes: HashMap<IpAddr, Volume>,
}

impl Volumes {
    pub fn new(new: HashSet<IpAddr>, first_max: usize) -> Self {
        Self { new, first_max, volumes: HashMap::new() }
    }

    /// True if a recipient is more than the operator expects from a new source. If not, the recipient is counted;
    /// recipients of other sources are neither refused nor counted.
    pub fn is_sudden(&mut self, source: IpAddr, now: Duration) -> bool {
        if !self.new.contains(&source) {
            return false;
        }
        let (hour, day) = (now.as_secs() / HOUR.as_secs(), now.as_secs() / DAY.as_secs());
        let volume = self.volumes.entry(source).or_default();
        if volume.day != day {
            volume.most_before = volume.most_before.max(volume.most_today);
            (volume.day, volume.most_today) = (day, 0);
        }
        if volume.hour != hour {
            (volume.hour, volume.this_hour) = (hour, 0);
        }
        // Refused recipients aren't counted: the operator doesn't get used to them.
        if volume.this_hour >= self.first_max.max(GROWTH * volume.most_before) {
            return true;
        }
        volume.this_hour += 1;
        volume.most_today = volume.most_today.max(volume.this_hour);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recipients accepted in an hour, of 10,000.
    fn accepted_count(volumes: &mut Volumes, day: u32, hour: u32) -> usize {
        let (source, now) = (IpAddr::from([192, 0, 2, 1]), DAY * day + HOUR * hour);
        (0..10_000).filter(|_| !volumes.is_sudden(source, now)).count()
    }

    #[test]
    fn an_hour_has_twice_the_most_of_a_former_day_and_a_known_source_all_it_wants() {
        let source = IpAddr::from([192, 0, 2, 1]);
        let mut volumes = Volumes::new(HashSet::from([source]), 200);
        assert_eq!([0, 1].map(|hour| accepted_count(&mut volumes, 0, hour)), [200, 200]);
        assert_eq!([1, 2, 9].map(|day| accepted_count(&mut volumes, day, 5)), [400, 800, 1_600]);
        let mut known = Volumes::new(HashSet::new(), 200);
        assert_eq!(accepted_count(&mut known, 0, 0), 10_000);
    }
}

//! Counts of an hour, in slices of five minutes.

use std::time::Duration;

pub(crate) const SLICE: Duration = Duration::from_secs(300);
const SLICES: u32 = 12;
/// Number of the first slice: no slice of the hour before it has a number below zero.
pub(crate) const FIRST_SLICE: u64 = SLICES as u64;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hour {
    last: u64,
    counts: [u32; SLICES as usize],
}

impl Hour {
    pub(crate) fn count(&mut self, slice: u64) {
        self.advance(slice);
        if let Some(count) = self.counts.get_mut(index(slice)) {
            *count += 1;
        }
    }

    fn advance(&mut self, slice: u64) {
        let passed = slice.saturating_sub(self.last).min(u64::from(SLICES));
        for n in 0..passed {
            if let Some(count) = self.counts.get_mut(index(slice - n)) {
                *count = 0;
            }
        }
        self.last = self.last.max(slice);
    }

    pub(crate) fn sum(mut self, slice: u64) -> usize {
        self.advance(slice);
        self.counts.iter().map(|count| *count as usize).sum()
    }

    pub(crate) fn lightens(mut self, slice: u64) -> u64 {
        self.advance(slice);
        let first = (slice + 1).saturating_sub(u64::from(SLICES));
        let oldest = (first..=slice).find(|it| self.counts.get(index(*it)) != Some(&0));
        oldest.unwrap_or(slice) + u64::from(SLICES)
    }
}

fn index(slice: u64) -> usize {
    usize::try_from(slice % u64::from(SLICES)).unwrap_or_default()
}

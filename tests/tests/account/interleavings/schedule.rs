//! The order in which parties act: every one, depth first, or a random one.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

/// A schedule: at each point one of the possible next trips.
pub(super) struct Schedule {
    /// Of each decision so far, the choice and the number of possible ones.
    taken: Vec<(usize, usize)>,
    at: usize,
    random: Option<StdRng>,
}

impl Schedule {
    /// Of every schedule, or of so many random ones.
    pub(super) fn first(random: Option<u64>) -> Self {
        Self { taken: Vec::new(), at: 0, random: random.map(StdRng::seed_from_u64) }
    }

    /// Of `options`, the first `uncut` cut nothing off. A random schedule mostly takes one of these: otherwise nearly every
    /// cut would be in the first two trips.
    pub(super) fn choose(&mut self, options: usize, uncut: usize) -> usize {
        // What runs after a response comes a little earlier or later, so a repeated beginning may differ.
        if let Some((choice, before)) = self.taken.get(self.at).copied()
            && before != options
        {
            self.taken.truncate(self.at);
            self.taken.push((choice.min(options - 1), options));
        }
        if self.at == self.taken.len() {
            let choice = self.random.as_mut().map_or(0, |random| {
                let end = if random.random_ratio(1, 6) { options } else { uncut };
                random.random_range(0..end)
            });
            self.taken.push((choice, options));
        }
        self.at += 1;
        self.taken[self.at - 1].0
    }

    /// Continues with the next schedule, depth first; `false` after the last one.
    pub(super) fn next(&mut self) -> bool {
        self.at = 0;
        if self.random.is_some() {
            self.taken.clear();
            return true;
        }
        while let Some((choice, options)) = self.taken.pop() {
            if choice + 1 < options {
                self.taken.push((choice + 1, options));
                return true;
            }
        }
        false
    }
}

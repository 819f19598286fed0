//! Long proofs have a short form: `make test` runs the short form, `make proof` the long form.

use std::env;

use crate::service::clock;

pub fn is_long() -> bool {
    env::var_os("PROOF").is_some()
}

/// The number of repetitions: `long` in `make proof`, which sets `PROOF`, otherwise
/// `short`.
pub fn count(short: usize, long: usize) -> usize {
    if is_long() { long } else { short }
}

/// The seed of a random test: `SEED` if it is set, and otherwise a new number in each long proof. In `make
/// test`, the seed is constant, so that results don't vary. Prints the seed.
pub fn seed() -> u64 {
    let seed = match env::var("SEED") {
        Ok(seed) => seed.parse().unwrap_or_else(|_| panic!("SEED={seed}")),
        Err(_) if is_long() => clock::now(),
        Err(_) => 1,
    };
    println!("SEED={seed}");
    seed
}

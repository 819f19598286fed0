//! Long proofs have a short form: `make test` runs the short one, `make proof` the long one.

use std::env;

use crate::service::clock;

fn is_long() -> bool {
    env::var_os("PROOF").is_some()
}

/// How often something is tried: `long` in `make proof`, which sets `PROOF`, and `short` otherwise.
pub fn count(short: usize, long: usize) -> usize {
    if is_long() { long } else { short }
}

/// What a test that draws at random starts from: `SEED` if it is set, another number each time in a long proof, and
/// the same one always in `make test`, which no draw may turn red. It is printed.
///
/// # Panics
///
/// If `SEED` is no number.
pub fn seed() -> u64 {
    let seed = match env::var("SEED") {
        Ok(seed) => seed.parse().unwrap_or_else(|_| panic!("SEED={seed}")),
        Err(_) if is_long() => clock::now(),
        Err(_) => 1,
    };
    println!("SEED={seed}");
    seed
}

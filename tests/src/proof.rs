//! Long proofs have a short form: `make test` runs the short one, `make proof` the long one.

use std::env;

/// How often something is tried: `long` in `make proof`, which sets `PROOF`, and `short` otherwise.
pub fn count(short: usize, long: usize) -> usize {
    if env::var_os("PROOF").is_some() { long } else { short }
}

//! Wilson's score interval of a share.

/// Quantile of the normal distribution for a 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// Returns Wilson's score interval for `part` of `whole` at 95 %. If `whole` is zero, the interval
/// is 0 to 1.
#[must_use]
pub fn wilson(part: usize, whole: usize) -> [f64; 2] {
    if whole == 0 {
        return [0.0, 1.0];
    }
    let (n, share) = (whole as f64, part as f64 / whole as f64);
    let weight = 1.0 + Z * Z / n;
    let middle = (share + Z * Z / (2.0 * n)) / weight;
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt() / weight;
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::wilson;

    /// Values from Brown, Cai and DasGupta, Interval Estimation for a Binomial Proportion (2001),
    /// and computed by hand.
    #[test]
    fn the_interval_is_that_of_the_formula() {
        for (part, whole, due) in [
            (0, 10, [0.0, 0.277_5]),
            (10, 10, [0.722_5, 1.0]),
            (5, 10, [0.236_6, 0.763_4]),
            (111, 124, [0.829_0, 0.937_7]),
            (0, 340, [0.0, 0.011_2]),
        ] {
            let interval = wilson(part, whole);
            for (bound, due) in interval.into_iter().zip(due) {
                assert!((bound - due).abs() < 5e-4, "{part} of {whole}: {interval:?}");
            }
        }
        assert!(wilson(0, 0).into_iter().eq([0.0, 1.0]));
    }
}

//! Logistic regression with AdaGrad in a fixed order. Only additions, multiplications, divisions and roots are used,
//! which IEEE 754 rounds alike everywhere: the same rows give the same bytes on every processor.

use rcpt_verdict::reader::{BUCKETS, Features, Model, chance};

use crate::corpus::Row;

/// All settings on which the weights depend, apart from the rows; must be changed together with the
/// constants below.
pub const SETTINGS: &str = "adagrad epochs=60 rate=0.5 decay=2e-5 words=3";

const EPOCHS: usize = 60;
const RATE: f64 = 0.5;
/// Share by which each step reduces a weight.
const DECAY: f64 = 2e-5;
/// Minimum number of known words in a reply.
pub const WORDS_MIN: u8 = 3;

/// A text in the trainer's form.
struct Example {
    /// Buckets without duplicates, each with its count divided by the norm.
    values: Vec<(usize, f64)>,
    target: f64,
}

impl Example {
    fn of(features: &Features, is_dead: bool) -> Self {
        let mut buckets: Vec<_> =
            features.buckets.iter().map(|bucket| usize::from(*bucket)).collect();
        buckets.sort_unstable();
        let norm = features.norm();
        let mut values: Vec<(usize, f64)> = Vec::new();
        for bucket in buckets {
            match values.last_mut() {
                Some((last, value)) if *last == bucket => *value += 1.0 / norm,
                _ => values.push((bucket, 1.0 / norm)),
            }
        }
        Self { values, target: f64::from(u8::from(is_dead)) }
    }
}

/// Trains a model on `rows` in their given order. The threshold stays at 100.
#[must_use]
pub fn train<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Model {
    let rows: Vec<_> = rows.into_iter().collect();
    let examples: Vec<_> =
        rows.iter().map(|row| Example::of(&row.features, row.is_dead())).collect();
    let mut weights = vec![0.0; BUCKETS];
    let mut squares = vec![1e-6; BUCKETS];
    let (mut bias, mut bias_square) = (0.0, 1e-6);
    for _ in 0..EPOCHS {
        for example in &examples {
            let logit: f64 =
                bias + example.values.iter().map(|(at, value)| weights[*at] * value).sum::<f64>();
            let error = chance(logit) - example.target;
            bias_square += error * error;
            bias -= RATE * error / f64::sqrt(bias_square);
            for (at, value) in &example.values {
                let slope = error * value;
                squares[*at] += slope * slope;
                weights[*at] -= RATE * slope / f64::sqrt(squares[*at]) + DECAY * weights[*at];
            }
        }
    }
    quantized(&rows, &weights, bias)
}

fn quantized(rows: &[&Row], weights: &[f64], bias: f64) -> Model {
    let largest = weights.iter().fold(f64::MIN_POSITIVE, |most, weight| most.max(weight.abs()));
    let step = (largest / 127.0) as f32;
    let mut word_bits = vec![0; BUCKETS / 8];
    for bucket in rows.iter().flat_map(|row| &row.features.words) {
        word_bits[usize::from(*bucket >> 3)] |= 1 << (bucket & 7);
    }
    let octet = |weight: &f64| (weight / f64::from(step)).round().clamp(-127.0, 127.0) as i8;
    Model {
        step,
        bias: bias as f32,
        words_min: WORDS_MIN,
        threshold: 100,
        inputs: [0; 32],
        word_bits,
        weights: weights.iter().map(octet).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::train;
    use crate::corpus;

    #[test]
    fn the_same_rows_give_the_same_octets_and_others_don_t() {
        let rows = corpus::rows().unwrap();
        let some = rows.iter().take(40);
        let octets = train(some.clone()).write();
        assert_eq!(train(some).write(), octets);
        assert_ne!(train(rows.iter().take(41)).write(), octets);
    }
}

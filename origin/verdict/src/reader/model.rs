//! The weights: one byte per bucket, and a bit for each word bucket seen in training.

use super::features::{BUCKETS, Features};

const MAGIC: &[u8; 4] = b"RDR1";
const HEADER_BYTES: usize = 48;
const KNOWN_BYTES: usize = BUCKETS / 8;

/// The weights of the reader.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Contribution of a weight of 1 to the logit of a text with one feature.
    pub step: f32,
    pub bias: f32,
    /// Minimum number of known words in a text.
    pub words_min: u8,
    /// Percentage from which a reply would count as a refusal of the recipient.
    pub threshold: u8,
    /// SHA-256 of the training inputs.
    pub inputs: [u8; 32],
    /// A bit for each bucket, set if a word in training hashed to it.
    pub word_bits: Vec<u8>,
    pub weights: Vec<i8>,
}

impl Model {
    /// Creates a model without any known word, which always abstains.
    #[must_use]
    pub fn silent() -> Self {
        Self {
            step: 0.0,
            bias: 0.0,
            words_min: 1,
            threshold: 100,
            inputs: [0; 32],
            word_bits: vec![0; KNOWN_BYTES],
            weights: vec![0; BUCKETS],
        }
    }

    /// Parses the output of [`Model::write`].
    #[must_use]
    pub fn read(octets: &[u8]) -> Option<Self> {
        let (header, rest) = octets.split_at_checked(HEADER_BYTES)?;
        let (word_bits, weights) = rest.split_at_checked(KNOWN_BYTES)?;
        let number = |at: usize| Some(f32::from_le_bytes(header.get(at..at + 4)?.try_into().ok()?));
        let is_whole = header.starts_with(MAGIC) && weights.len() == BUCKETS;
        Some(Self {
            step: number(4)?,
            bias: number(8)?,
            words_min: *header.get(12)?,
            threshold: *header.get(13)?,
            inputs: header.get(16..HEADER_BYTES)?.try_into().ok()?,
            word_bits: word_bits.to_vec(),
            weights: weights.iter().map(|weight| weight.cast_signed()).collect(),
        })
        .filter(|_| is_whole)
    }

    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(HEADER_BYTES + KNOWN_BYTES + BUCKETS);
        octets.extend_from_slice(MAGIC);
        octets.extend_from_slice(&self.step.to_le_bytes());
        octets.extend_from_slice(&self.bias.to_le_bytes());
        octets.extend_from_slice(&[self.words_min, self.threshold, 0, 0]);
        octets.extend_from_slice(&self.inputs);
        octets.extend_from_slice(&self.word_bits);
        octets.extend(self.weights.iter().map(|weight| weight.cast_unsigned()));
        octets
    }

    /// Returns the number of words in a text that were seen in training.
    #[must_use]
    pub fn known_words(&self, features: &Features) -> usize {
        let is_known = |bucket: &&u16| {
            let octet = self.word_bits.get(usize::from(**bucket >> 3)).copied().unwrap_or_default();
            octet & (1 << (**bucket & 7)) != 0
        };
        features.words.iter().filter(is_known).count()
    }

    /// Returns the contribution of one occurrence to the logit of a text with this norm.
    pub(super) fn part(&self, bucket: u16, norm: f64) -> f64 {
        f64::from(self.weight(bucket)) * f64::from(self.step) / norm
    }

    pub(super) fn bias(&self) -> f64 {
        f64::from(self.bias)
    }

    /// Returns the probability in percent that the text reports a dead mailbox.
    #[must_use]
    pub fn percent(&self, features: &Features) -> u8 {
        let sum: i32 = features.buckets.iter().map(|bucket| i32::from(self.weight(*bucket))).sum();
        let logit = self.bias() + f64::from(sum) * f64::from(self.step) / features.norm();
        (chance(logit) * 100.0) as u8
    }

    fn weight(&self, bucket: u16) -> i8 {
        self.weights.get(usize::from(bucket)).copied().unwrap_or_default()
    }
}

/// Computes `1 / (1 + e^-logit)` with additions, multiplications and one division only: library
/// functions differ in the last digit.
#[must_use]
pub fn chance(logit: f64) -> f64 {
    // e^x = (e^(x/1024))^1024; for such small values nine terms of the series are exact.
    let x = -logit.clamp(-30.0, 30.0) / 1024.0;
    let mut power = 1.0;
    for term in (1..=9).rev() {
        power = 1.0 + power * x / f64::from(term);
    }
    for _ in 0..10 {
        power *= power;
    }
    1.0 / (1.0 + power)
}

#[cfg(test)]
mod tests {
    use super::{Model, chance};
    use crate::reader::{Features, MODEL};

    #[test]
    fn the_logistic_function_is_that_of_the_library_to_ten_digits() {
        for tenth in -300..=300 {
            let x = f64::from(tenth) / 10.0;
            let due = 1.0 / (1.0 + (-x).exp());
            assert!((chance(x) - due).abs() < 1e-10, "{x}: {} and {due}", chance(x));
        }
        assert!(chance(f64::MAX) <= 1.0 && chance(f64::MIN) >= 0.0);
    }

    #[test]
    fn a_model_reads_back_as_written_and_a_part_of_one_is_none() {
        let octets = MODEL.write();
        assert_eq!(Model::read(&octets).as_ref(), Some(&*MODEL));
        assert!(octets.len() <= 256 * 1_024, "{} octets", octets.len());
        for length in [0, 47, 48, octets.len() - 1] {
            assert_eq!(Model::read(octets.get(..length).unwrap()), None);
        }
    }

    #[test]
    fn a_silent_model_knows_no_word() {
        let features = Features::of("no such user here");
        assert_eq!(Model::silent().known_words(&features), 0);
        assert_eq!(MODEL.known_words(&features), 4);
    }
}

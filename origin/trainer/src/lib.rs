//! Trains and evaluates the second reader (`rcpt_verdict::reader`): a corpus in folds by source,
//! logistic regression in a fixed order, and intervals.

pub mod corpus;
pub mod folds;
pub mod interval;
pub mod measure;
pub mod regression;

/// Returns the SHA-256 of the training inputs: labels and features, so that a change in folding letters also changes
/// the hash.
#[must_use]
pub fn inputs(rows: &[corpus::Row]) -> [u8; 32] {
    use sha2::{Digest as _, Sha256};
    let mut hash = Sha256::new();
    for row in rows {
        hash.update([u8::from(row.is_dead())]);
        for bucket in &row.features.buckets {
            hash.update(bucket.to_le_bytes());
        }
        hash.update(u64::MAX.to_le_bytes());
    }
    hash.update(regression::SETTINGS.as_bytes());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use rcpt_verdict::reader::MODEL;

    use super::{corpus, inputs, regression};

    #[test]
    fn the_weights_were_trained_with_this_corpus_and_this_reading_of_words() {
        let now = hex::encode(inputs(&corpus::rows().unwrap()));
        assert_eq!(hex::encode(MODEL.inputs), now, "run `make reader`");
        assert_eq!(MODEL.words_min, regression::WORDS_MIN);
    }
}

//! What happens without a request or after its answer: notices, confirmation links that an operator has asked for,
//! and what the directory is told of deletions.

pub mod deletions;
pub mod notices;
pub mod requested;

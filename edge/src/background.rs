//! What happens without a request: notices are mailed, and what is under an older secret is moved.

pub mod notices;
pub mod rotation;

//! What the scheduled handler emails: notices, and confirmation links that an operator has asked for.

pub mod notices;
pub mod requested;

//! What happens without a request: the emails of the scheduled handler (notices, and confirmation links that an
//! operator has asked for), and the scans.

pub mod notices;
pub mod requested;
pub mod scans;

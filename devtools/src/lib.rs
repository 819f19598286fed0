//! Programs for developers besides tests: `make dev`, the log scan after `make test`, and `serve` for the portal's
//! tests.

pub mod dev;
pub mod log_scan;
pub mod serve;

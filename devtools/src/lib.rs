//! Programs for developers besides tests: the local environment of `make dev`, the log scan after `make test`, and
//! `serve`, through which the portal's tests use the harness.

pub mod dev;
pub mod log_scan;
pub mod serve;

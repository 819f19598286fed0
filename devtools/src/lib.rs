//! Programs for developers that are no tests: the local world of `make dev`, `make bench`, `make load`,
//! the log scan at the end of `make test`, and `serve`, through which the portal's tests drive the harness.

pub mod bench;
pub mod dev;
pub mod drill;
pub(crate) mod drive;
pub mod load;
pub mod log_scan;
pub mod serve;

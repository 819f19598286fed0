//! Programs for developers besides tests: the local environment of `make dev`, `make bench`, `make
//! load`, the log scan after `make test`, and `serve`. The portal's tests use the harness through
//! `serve`.

pub mod bench;
pub mod dev;
pub mod drill;
pub(crate) mod drive;
pub mod load;
pub mod log_scan;
pub mod serve;

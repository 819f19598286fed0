//! The programs for developers and operators, such as `make dev` and `make deploy`, and `serve` for the portal's tests.

mod deploy;
mod deployable;
mod dev;
mod serve;

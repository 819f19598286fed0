//! The programs that people start: `make dev` for developers, `serve` for the portal's tests.

mod deploy;
mod deployable;
mod dev;
mod drill;
mod remote_admin;
mod serve;

//! The harness's own promises.

mod circles;
mod process;

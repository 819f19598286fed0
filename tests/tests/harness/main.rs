//! The harness's own promises.

mod process;

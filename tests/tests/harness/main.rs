//! The harness's own promises.

mod circles;
mod process;
mod type_names;

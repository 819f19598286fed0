//! Tests of the harness itself.

mod circles;
mod process;
mod type_names;

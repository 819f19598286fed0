//! Tests of the harness, and of rules for the source code: no import cycles, and one meaning per type name.

mod circles;
mod parts;
mod process;
mod type_names;

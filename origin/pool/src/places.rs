//! Where a check goes: operators of mail hosts, and our source addresses.

pub(crate) mod behind;
pub mod operators;
pub(crate) mod sources;

//! Checks of addresses and domains.

pub mod guard_sql;

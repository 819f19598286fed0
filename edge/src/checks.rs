//! Checks: of an address, of a list, of a domain, and the sign-up guard. docs/architecture.md describes how a check
//! travels.
//!
//! `call` reads what was asked, `units` admits the caller and charges, `check` finds the answers for the addresses of a
//! `list`, and `result` shows them.

mod allowance_sql;
mod call;
mod check;
mod details;
mod domain_facts;
pub mod domains;
pub mod guard;
pub mod guard_sql;
mod list;
pub mod result;
mod units;
pub mod validate_email;
pub mod validate_emails;

//! The quota ledger end to end: what is leased, charged and reported, at once, at midnight, and when
//! storage fails.

mod cost;
mod faults;
mod histories;
mod leases;
mod quota;
mod repeats;

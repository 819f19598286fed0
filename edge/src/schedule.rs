//! Work every five minutes, without a request.

pub mod housekeeping_sql;
pub mod maintenance;
pub mod rekeying_sql;

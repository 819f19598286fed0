//! API keys: making, listing, replacing and ending them.

pub mod ended_sql;
pub mod expired_sql;
pub mod key_list;
pub mod key_terms;
pub mod keys_sql;
pub mod own_key;

//! Customers: sign-up forms, list owners, an attacker, owners of slow domains; and the operator of the service.

pub mod attacker;
pub mod forms;
pub mod lists;
pub mod operator;
pub mod slow;

use rcpt_pool::Asker;

/// An account that pays, counted as itself.
pub fn paying(name: &str) -> Asker {
    Asker { account: Some(name.into()), fairness_group: Some(name.into()) }
}

/// An account that doesn't pay: all of these are counted as one.
pub fn free(name: &str) -> Asker {
    Asker { account: Some(name.into()), fairness_group: Some("free".into()) }
}

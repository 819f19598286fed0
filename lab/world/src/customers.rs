//! Customers: sign-up forms, list owners, an attacker, owners of slow domains; and the operator of the service.

pub mod attacker;
pub mod forms;
pub mod lists;
pub mod operator;
pub mod slow;

use rcpt_pool::Asker;

/// A paying account, which is counted separately.
pub fn paying(name: &str) -> Asker {
    Asker { account: Some(name.into()), fairness_group: Some(name.into()) }
}

/// A free account; all free accounts share one fairness group.
pub fn free(name: &str) -> Asker {
    Asker { account: Some(name.into()), fairness_group: Some("free".into()) }
}

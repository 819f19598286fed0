//! A running service: state shared by its handlers, reload of the configuration, and messages to the service manager.

pub mod fair_shares;
pub mod reload;
pub mod state;
pub mod supervisor;

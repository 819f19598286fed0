//! Observability: the log, the metrics, the status, and the check of port 25.

pub mod exposition;
pub mod log;
pub mod metrics;
pub mod port_check;
pub mod refused_tickets;
pub mod status;

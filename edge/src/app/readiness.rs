//! Whether the service works, as everybody may know: numbers without names.

use serde::Serialize;
use utoipa::ToSchema;

/// Response of `GET /health/ready`: 200 when everything is up, 503 otherwise.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Readiness {
    pub status: Condition,
    // Up while all databases are up.
    pub database: Condition,
    /// Up while at least one origin works: it accepts our tickets, resolves names, and connects to mail servers.
    pub origins: Condition,
    /// Number of origins that work, and number of all.
    pub origins_up: usize,
    pub origins_total: usize,
    /// Down if the last scheduled run was more than 15 minutes ago.
    pub schedule: Condition,
    /// Emails and scans that wait for more than 15 minutes, as of the last scheduled run.
    pub emails_waiting: u32,
    pub scans_waiting: u32,
    /// Settings that are missing or wrong, and without which the service runs. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<Warning>,
}

/// A setting that the operator should add.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// Customers have nobody to ask.
    NoContact,
    /// Settings that can't be read or don't exist. The log names them.
    Settings,
}

/// State of a part of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    Up,
    Down,
}

impl Condition {
    pub const fn of(up: bool) -> Self {
        if up { Self::Up } else { Self::Down }
    }
}

//! Contract between edge and origin: addresses, statuses and reasons, the probe's messages, and the
//! signed ticket that authorises the edge.
//!
//! The crate does no I/O and uses neither clock nor random numbers, so it compiles for the Worker (wasm32)
//! and for the VM.

pub mod address;
pub mod bearer;
pub mod jwt;
pub mod key_ring;
mod malformed;
mod name_address;
mod names;
pub mod probe;
pub mod reading;
pub mod reason;
pub mod role;
pub mod sandbox;
pub mod status;
mod suggestion;
pub mod ticket;
mod typo;

pub use address::{Address, FormatError};
pub use bearer::bearer_token;
pub use key_ring::KeyRing;
pub use probe::{
    AWAITED_HEADER, BatchAnswer, BatchEnd, BatchLine, BatchRequest, CacheTimes, CatchAll,
    Confidence, Deliverability, Details, DomainEvidence, DomainFacts, DomainKind, DomainReport,
    DomainRequest, EvidenceSource, MAX_BATCH, NotAsked, ProbeRequest, REMEMBER_HEADER, Stage,
    Traits, Verdict, WITHIN_HEADER,
};
pub use reading::{Malformed, read, read_bare, read_domain};
pub use reason::Reason;
pub use role::is_role;
pub use status::Status;
pub use ticket::{FREE, Tenant, Ticket};
pub use typo::closest_domain;

/// Version of the messages between edge and origin (CHANGELOG.md): each side also supports the previous one.
pub const WIRE_FORMAT: u32 = 1;

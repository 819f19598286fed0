//! The next check: the order of waiting checks, and the sessions that slow parties leave to others.

#[expect(clippy::module_inception, reason = "the room's main file")]
pub(crate) mod queue;
pub(crate) mod reserve;
mod shares;

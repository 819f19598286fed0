//! Child processes and their resources: ports, folders, a runtime.

mod child;
pub mod folder;
mod log;
pub mod nested_build;
pub mod port;
pub mod rss;
pub mod runtime;
mod stat;
mod turn;

pub use child::Process;
pub(crate) use child::wait_at_most;
pub(crate) use log::Log;
pub(crate) use stat::Stat;
pub use turn::turn;

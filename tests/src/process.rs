//! Child processes, and what they need of the machine: ports, folders, a runtime.

mod child;
pub mod folder;
pub mod nested_build;
pub mod port;
pub mod rss;
pub mod runtime;

pub use child::Process;

//! The service itself: edge and origin as they are shipped, alone or connected, with their accounts, emails, secrets
//! and storage open to a test.

mod accounts;
pub mod clock;
pub mod edge;
pub mod forgery;
mod mailbox;
pub mod origin;
pub mod secret;
pub mod shim;
pub mod stack;
mod wasm;
mod workerd;

pub use edge::Edge;
pub use mailbox::{Mail, Mailbox};
pub use origin::Origin;
pub use stack::Stack;
pub use wasm::wasm_bytes;
pub use workerd::Workerd;

//! Extractors: they turn a request into checked, loaded objects for handlers.

pub mod caller;
pub mod client_network;
pub mod continent;
pub mod device;
pub mod json_body;
pub mod member;
pub mod password_proof;
pub mod request;
pub mod second_factor;

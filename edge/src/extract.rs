//! Extractors: they turn a request into checked, loaded objects for handlers.

pub mod caller;
pub mod client_network;
pub mod continent;
pub mod device;
pub mod json_body;
pub mod member;
pub mod request;
pub mod reset_factor;
pub mod rights;
pub mod scan_call;
pub mod second_factor;

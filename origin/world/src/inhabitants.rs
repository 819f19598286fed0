//! Kinds of mail servers, each with its parameters and where they are documented. They are our reading of public pages,
//! and not the operators themselves.

pub mod broken;
pub mod gateway;
pub mod google;
pub mod microsoft;
pub mod postscreen;
pub mod shared_hosting;
pub mod small;
pub mod volumes;
pub mod window;
pub mod yahoo;

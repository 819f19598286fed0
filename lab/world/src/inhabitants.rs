//! Kinds of mail servers, each with its parameters and their sources. The parameters follow public pages; the real
//! operators may differ.

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

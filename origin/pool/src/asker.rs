//! The asker: the past of an account over all servers, and its costs at one site.

pub(crate) mod costs;
pub(crate) mod pasts;

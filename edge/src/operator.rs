//! Signed calls of operators (`tools/admin`) and of the program that sells plans. They aren't part of the customers' API,
//! and without secrets for them their paths don't exist.

mod accounts;
mod call;
mod deed;
mod directory;
mod exceptions;
mod overview;
mod payments;
mod plans;
mod records;

use std::sync::Arc;

use axum::{Router, routing::post};

use crate::{app::App, config::Config};

/// The routes for which there are secrets.
pub fn routes(config: &Config) -> Router<Arc<App>> {
    let mut router = Router::new();
    if !config.admin_keys.is_empty() {
        router = router.route(call::PATH, post(call::receive));
    }
    if config.operator_secrets.is_some() {
        router = router.route(payments::PATH, post(payments::set_plan));
    }
    router
}

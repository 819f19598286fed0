//! The whole route table. Everything else about a route follows from its row.

use std::sync::{Arc, OnceLock};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    handler::Handler,
    http::Method,
    routing::{MethodFilter, MethodRouter, on},
};

use crate::{app::App, body, error::Error};

pub mod auth;
pub mod health;
pub mod me;
pub mod password;
pub mod profile;
pub mod two_factor;
pub mod validate_email;

/// One operation of the API.
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    handler: MethodRouter<Arc<App>>,
}

/// Whose credentials an operation takes (interface §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Anyone,
    KeyOrSession,
    Session,
}

/// Every operation served under `/v1`.
#[must_use]
pub fn table() -> Vec<Route> {
    use Access::{Anyone, KeyOrSession, Session};
    vec![
        post("/v1/validate_email", KeyOrSession, validate_email::check),
        post("/v1/auth/register", Anyone, auth::register),
        post("/v1/auth/verify-email", Anyone, auth::verify_email),
        post("/v1/auth/login", Anyone, auth::login),
        post("/v1/auth/forgot-password", Anyone, password::forgot),
        post("/v1/auth/reset-password", Anyone, password::reset),
        put("/v1/auth/password", Session, password::change),
        post("/v1/auth/totp/setup", Session, two_factor::set_up),
        post("/v1/auth/totp/enable", Session, two_factor::enable),
        post("/v1/auth/totp/disable", Session, two_factor::disable),
        post("/v1/auth/totp/recovery-codes", Session, two_factor::recovery_codes),
        post("/v1/auth/rotate-api-key", Session, profile::rotate_api_key),
        put("/v1/auth/settings", Session, profile::settings),
        post("/v1/auth/sign-out-everywhere", Session, profile::sign_out_everywhere),
        get("/v1/me", Session, me::show),
        delete("/v1/me", Session, me::delete),
        get("/v1/me/quota", KeyOrSession, me::quota),
        get("/v1/health", Anyone, health::live),
        get("/v1/health/ready", Anyone, health::ready),
        get("/v1/openapi.json", Anyone, health::openapi),
    ]
}

/// The router over the table.
pub fn router(app: Arc<App>) -> Router {
    table()
        .into_iter()
        .fold(Router::new(), |router, route| router.route(route.path, route.handler))
        .fallback(async || Error::not_found())
        .method_not_allowed_fallback(async || Error::method_not_allowed())
        .layer(DefaultBodyLimit::max(body::LIMIT))
        .with_state(app)
}

/// The path of a route, or a placeholder: for logs, where a path that a client made up has no place.
#[must_use]
pub fn known_path(path: &str) -> &'static str {
    PATHS
        .get_or_init(|| table().iter().map(|route| route.path).collect())
        .iter()
        .find(|known| **known == path)
        .copied()
        .unwrap_or("(unknown)")
}

static PATHS: OnceLock<Vec<&'static str>> = OnceLock::new();

fn get<T: 'static>(
    path: &'static str,
    access: Access,
    handler: impl Handler<T, Arc<App>>,
) -> Route {
    Route { method: Method::GET, path, access, handler: on(MethodFilter::GET, handler) }
}

fn post<T: 'static>(
    path: &'static str,
    access: Access,
    handler: impl Handler<T, Arc<App>>,
) -> Route {
    Route { method: Method::POST, path, access, handler: on(MethodFilter::POST, handler) }
}

fn put<T: 'static>(
    path: &'static str,
    access: Access,
    handler: impl Handler<T, Arc<App>>,
) -> Route {
    Route { method: Method::PUT, path, access, handler: on(MethodFilter::PUT, handler) }
}

fn delete<T: 'static>(
    path: &'static str,
    access: Access,
    handler: impl Handler<T, Arc<App>>,
) -> Route {
    Route { method: Method::DELETE, path, access, handler: on(MethodFilter::DELETE, handler) }
}

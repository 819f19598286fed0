//! The whole route table. A path and its method are named once, in the handler's own description.

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{MethodFilter, on},
};
use utoipa::{Path, openapi::HttpMethod};

use crate::{app::App, error::Error, extract::json_body};

mod account;
mod api_key;
mod health;
mod notifications;
#[cfg(test)]
mod openapi;
mod passwords;
mod profile;
mod quota;
mod registration;
mod scan_parts;
mod scan_results;
mod scans;
mod session_list;
mod sessions;
mod two_factor;
mod usage;
mod validate_email;

/// Makes the router of all handlers and, for tests, the list of their descriptions. The second is not in
/// the Worker: `edge/openapi.json` is written by a test and served as a file.
macro_rules! operations {
    ($($resource:ident::$handler:ident,)+) => { pastey::paste! {
        fn operations() -> Router<Arc<App>> {
            Router::new()$(.route(
                &$resource::[<__path_ $handler>]::path(),
                on(method::<$resource::[<__path_ $handler>]>(), $resource::$handler),
            ))+
        }

        #[cfg(test)]
        fn descriptions() -> Vec<openapi::Description> {
            vec![$(openapi::Description::of::<$resource::[<__path_ $handler>]>()),+]
        }
    }};
}

operations! {
    validate_email::check,
    registration::register,
    registration::verify_email,
    sessions::login,
    sessions::sign_out,
    sessions::sign_out_everywhere,
    session_list::list,
    session_list::end,
    passwords::forgot,
    passwords::reset,
    passwords::change,
    two_factor::set_up,
    two_factor::enable,
    two_factor::disable,
    two_factor::recovery_codes,
    api_key::rotate,
    profile::update,
    account::show,
    account::delete,
    quota::report,
    usage::report,
    scans::create,
    scans::list,
    scans::show,
    scans::cancel,
    scans::delete,
    scan_parts::put,
    scan_results::read,
    notifications::show,
    notifications::update,
    notifications::rotate_secret,
    notifications::test,
    health::live,
    health::ready,
    health::openapi,
}

/// The router over the table.
pub fn router(app: Arc<App>) -> Router {
    operations()
        .fallback(async || Error::not_found())
        .method_not_allowed_fallback(async || Error::method_not_allowed())
        .layer(DefaultBodyLimit::max(json_body::LIMIT))
        .with_state(app)
}

/// Each operation has one method.
fn method<P: Path>() -> MethodFilter {
    match P::methods().first() {
        Some(HttpMethod::Get) => MethodFilter::GET,
        Some(HttpMethod::Put) => MethodFilter::PUT,
        Some(HttpMethod::Delete) => MethodFilter::DELETE,
        _ => MethodFilter::POST,
    }
}

//! The whole route table. A path and its method are named once, in the handler's own description.

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{MethodFilter, MethodRouter, on},
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
pub mod validate_email;

/// Makes the router of all handlers and, for tests, the list of their descriptions. The second is not in
/// the Worker: `edge/openapi.json` is written by a test and served as a file.
macro_rules! operations {
    ($($resource:ident::$handler:ident,)+) => { pastey::paste! {
        fn operations() -> Router<Arc<App>> {
            let mut router = Router::new();
            $(router = add::<$resource::[<__path_ $handler>]>(router, |method| on(method, $resource::$handler));)+
            router
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

fn add<P: Path>(router: Router<Arc<App>>, handler: Handler) -> Router<Arc<App>> {
    add_at(router, &P::path(), &P::methods(), handler)
}

type Handler = fn(MethodFilter) -> MethodRouter<Arc<App>>;

/// Each operation has one method. Not inlined, since there are many operations, and the Worker's size is limited.
#[inline(never)]
fn add_at(
    router: Router<Arc<App>>,
    path: &str,
    methods: &[HttpMethod],
    handler: Handler,
) -> Router<Arc<App>> {
    let method = match methods.first() {
        Some(HttpMethod::Get) => MethodFilter::GET,
        Some(HttpMethod::Put) => MethodFilter::PUT,
        Some(HttpMethod::Delete) => MethodFilter::DELETE,
        _ => MethodFilter::POST,
    };
    router.route(path, handler(method))
}

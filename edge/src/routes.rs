//! The complete route table. Each path and method occurs only once, in the handler's attribute.

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, RawPathParams, Request, rejection::RawPathParamsRejection},
    http::Uri,
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse as _, Response},
    routing::{MethodFilter, MethodRouter, on},
};
use utoipa::{Path, openapi::HttpMethod};

use crate::{
    accounts::{
        account, changes, email_change, passkey_registration, passkey_sign_in, passkeys, passwords,
        plan, profile, quota, registration, security_event_list, session_list, sessions,
        two_factor, usage,
    },
    app::App,
    checks::{domains, guard, validate_email, validate_emails},
    error::Error,
    extract::{caller::follow_up, json_body},
    keys::{key_list, own_key},
    operator,
    scans::{events, scan_list, scan_parts, scan_results},
    webhooks::notifications,
};

mod export;
mod health;
#[cfg(test)]
mod openapi;
mod site;

/// Builds the router of all handlers and, for tests, the list of their OpenAPI descriptions. The Worker
/// doesn't contain these: a test writes the descriptions, which are served as files.
macro_rules! operations {
    ($($resource:ident::$handler:ident,)+) => { pastey::paste! {
        fn operations() -> Router<Arc<App>> {
            let mut router = Router::new();
            $(router = add::<$resource::[<__path_ $handler>]>(router, |method| on(method, $resource::$handler));)+
            router
        }

        fn paths() -> Vec<String> {
            vec![$(<$resource::[<__path_ $handler>] as Path>::path()),+]
        }

        #[cfg(test)]
        fn descriptions() -> Vec<openapi::Description> {
            vec![$(openapi::Description::of::<$resource::[<__path_ $handler>]>()),+]
        }
    }};
}

operations! {
    validate_email::check,
    validate_emails::check,
    domains::check,
    registration::register,
    registration::verify_email,
    registration::stop_emails,
    sessions::login,
    sessions::sign_out,
    sessions::sign_out_everywhere,
    session_list::list,
    session_list::end,
    passwords::forgot,
    passwords::show_reset,
    passwords::reset,
    passwords::change,
    two_factor::set_up,
    two_factor::enable,
    two_factor::disable,
    two_factor::recovery_codes,
    passkey_registration::options,
    passkey_registration::add,
    passkeys::list,
    passkeys::remove,
    passkey_sign_in::options,
    passkey_sign_in::sign_in,
    email_change::change,
    email_change::confirm,
    changes::stop,
    changes::stop_in_session,
    own_key::rotate,
    own_key::show,
    key_list::make,
    key_list::list,
    key_list::end,
    key_list::replace,
    key_list::replace_all,
    key_list::self_revoke,
    profile::update,
    account::show,
    account::delete,
    security_event_list::list,
    export::export,
    plan::show,
    quota::report,
    usage::report,
    scan_list::create,
    scan_list::list,
    scan_list::show,
    scan_list::cancel,
    scan_list::delete,
    scan_parts::put,
    scan_parts::compare,
    scan_results::read,
    events::list,
    guard::show,
    guard::update,
    guard::rotate_secret,
    guard::decide,
    guard::supabase,
    notifications::show,
    notifications::update,
    notifications::rotate_secret,
    notifications::test,
    health::live,
    health::ready,
    health::openapi,
    health::openapi_account,
    site::site,
}

pub fn router(app: Arc<App>) -> Router {
    operations()
        .merge(operator::routes(&app.config))
        .fallback(async |uri: Uri| not_found(uri.path()))
        .method_not_allowed_fallback(async || Error::method_not_allowed())
        .layer(DefaultBodyLimit::max(json_body::BODY_BYTES_MAX))
        .layer(from_fn(readable_path))
        .layer(from_fn_with_state(Arc::clone(&app), follow_up))
        .with_state(app)
}

/// A parameter of the path that isn't UTF-8 gets a 404: nothing has such a name.
async fn readable_path(
    parameters: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    match parameters {
        Err(RawPathParamsRejection::InvalidUtf8InPathParam(_)) => {
            Error::not_found().into_response()
        }
        _ => next.run(request).await,
    }
}

const PREFIX: &str = "/v1";

fn not_found(path: &str) -> Error {
    let is_api = path.split('/').nth(1) == PREFIX.split('/').nth(1);
    let path = path.strip_suffix('/').unwrap_or(path);
    let intended_path = if is_api { path.to_owned() } else { format!("{PREFIX}{path}") };
    let detail = if paths().iter().any(|template| matches_template(template, &intended_path)) {
        format!("There is nothing at this path. Did you mean {intended_path}?")
    } else if is_api {
        return Error::not_found();
    } else {
        format!("There is nothing at this path. Paths of the API begin with {PREFIX}/.")
    };
    Error::no_such_path(detail)
}

/// A template is a path such as `/v1/scans/{id}`.
fn matches_template(template: &str, path: &str) -> bool {
    template.split('/').count() == path.split('/').count()
        && template.split('/').zip(path.split('/')).all(|(part, given)| {
            if part.starts_with('{') { !given.is_empty() } else { part == given }
        })
}

fn add<P: Path>(router: Router<Arc<App>>, handler: Handler) -> Router<Arc<App>> {
    add_at(router, &P::path(), &P::methods(), handler)
}

type Handler = fn(MethodFilter) -> MethodRouter<Arc<App>>;

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

#[cfg(test)]
mod tests {
    use super::matches_template;

    #[test]
    fn a_parameter_stands_for_any_one_segment() {
        for (template, path, expected) in [
            ("/v1/scans/{id}", "/v1/scans/scan_1", true),
            ("/v1/scans/{id}", "/v1/scans/scan_1/", false),
            ("/v1/scans/{id}", "/v1/scans", false),
            ("/v1/scans/{id}", "/v1/scans//", false),
            ("/v1/scans/{id}", "/v1/scans/1/results", false),
            ("/v1/me", "/v1/me", true),
            ("/v1/me", "/v1/you", false),
        ] {
            assert_eq!(matches_template(template, path), expected, "{template} {path}");
        }
    }
}

//! The request that comes all day, a check by API key, on a way of its own past the router. V8 compiles well only
//! what runs often, and the router with its layers is a hundred small functions: they cost a cached check more
//! than all of its own work. What is decided is the same, and what is answered looks the same.

use std::sync::Arc;

use axum::{
    http::{HeaderMap, HeaderValue, header},
    response::IntoResponse as _,
};
use worker::{
    Context, Env,
    js_sys::{Object, Reflect},
    wasm_bindgen::JsValue,
    web_sys::{Request, Response},
};

use super::{answer, http, isolate};
use crate::{
    cf::{
        deferred::Deferred,
        glue,
        meter::{Meter, metered},
    },
    credentials::random,
    error::{Error, rate_limit::RateLimit},
    extract::{device::Device, json_body::LIMIT, request::RequestContext},
    routes::validate_email::{self, ValidationResult},
};

const METHOD: &str = "POST";
const ROUTE: &str = "/v1/validate_email";

/// The API key of such a request; `None` for one that needs the router.
pub fn key_of(request: &Request) -> Option<String> {
    glue::key_of(request, LIMIT)
}

/// Serves one check: gives it an id, answers it without the router, and writes its log line.
///
/// # Errors
/// The runtime's, when the client leaves before its body is here.
pub async fn serve(
    request: &Request,
    key: &str,
    env: &Env,
    context: Context,
) -> worker::Result<Response> {
    let body = http::bytes(request).await?;
    let id = random::identifier().unwrap_or_default();
    let deferred = Deferred::new(context);
    let context = RequestContext {
        id: id.clone(),
        deferred,
        device: Device::default(),
        idempotency_key: None,
    };
    let meter = Arc::new(Meter::default());
    let checked = match isolate::of(env) {
        Ok(isolate) => {
            let check = validate_email::by_key(&isolate.app, context, key, &body);
            metered(&meter, check).await
        }
        Err(mistakes) => Err(isolate::misconfigured(mistakes)),
    };
    match checked {
        Ok(result) => verdict(&result, &id, &meter),
        Err(error) => refusal(error, &id, &meter).await,
    }
}

fn verdict(result: &ValidationResult, id: &str, meter: &Meter) -> worker::Result<Response> {
    thread_local! {
        static HEADERS: JsValue = headers();
    }
    let body = serde_json::to_string(result)?;
    let (policy, limit) = result.rate_limit.as_ref().map_or(("", ""), RateLimit::values);
    let answer = HEADERS.with(|headers| glue::answer(&body, id, policy, limit, headers))?;
    isolate::log_line(id, METHOD, ROUTE, (200, Some(result.status.as_str()), None), meter);
    Ok(answer)
}

/// The headers of a verdict but for its id, as an object.
fn headers() -> JsValue {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer::complete(&mut headers, "");
    answer::complete_without_origin(&mut headers);
    let object = Object::new();
    for (name, value) in &headers {
        let value = value.to_str().unwrap_or_default();
        // An object of our own takes any property.
        let _ = Reflect::set(&object, &name.as_str().into(), &value.into());
    }
    object.into()
}

async fn refusal(error: Error, id: &str, meter: &Meter) -> worker::Result<Response> {
    let mut response = error.into_response();
    answer::complete(response.headers_mut(), id);
    answer::complete_without_origin(response.headers_mut());
    isolate::log_answer(id, METHOD, ROUTE, &response, meter);
    http::response(response).await
}

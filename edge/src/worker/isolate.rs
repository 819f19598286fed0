//! State shared by all requests of an isolate, and the handling of a request.

use std::sync::{Arc, OnceLock};

use axum::{
    Router,
    body::Body,
    extract::MatchedPath,
    http::{Method, Request, header},
    middleware::map_response,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use tower_service::Service as _;
use worker::{Context, Env, js_sys::Object, wasm_bindgen::JsCast as _};

use super::http;
use crate::{
    app::{App, policies::Policies, recent::Recent, refusal_counts::RefusalCounts},
    cf::{
        assets::Assets, clock, database::Database, deferred::Deferred, glue::Limiter, log,
        mailer::Mailer, queue::ScanQueue, verdict_cache::VerdictCache,
    },
    config::{self, Config},
    credentials::random,
    error::{self, Error},
    extract::{device::Device, request::RequestContext},
    isolate::Map,
    ledger::databases::Databases,
    limits::{hashing::HashingTurns, pace::Pace, refusals::Refusals, shield::Shield},
    meter::{Expenses, Meter, Party, metered},
    outbound::{in_flight::InFlight, origins::Origins},
    routes,
};

/// About 50 bytes each. When there are more, all are forgotten: recording a use twice costs a statement that writes
/// nothing.
const USED_SESSIONS_MAX: usize = 10_000;

pub struct Isolate {
    pub app: Arc<App>,
    router: Router,
}

/// An account's requests that pass without waiting: enough for the portal in several tabs.
const BURST_REQUESTS: u64 = 20;

static ISOLATE: OnceLock<Result<Isolate, Vec<String>>> = OnceLock::new();

/// The isolate, built by the first request without an await: a future started by one request mustn't be awaited by
/// another.
///
/// # Errors
/// The configuration's mistakes. A mistake lasts until the next deployment replaces the isolate.
pub fn of(env: &Env) -> Result<&'static Isolate, &'static [String]> {
    let isolate = ISOLATE.get_or_init(|| build(env)).as_ref().map_err(Vec::as_slice)?;
    isolate.app.config.turn_rings(clock::now());
    Ok(isolate)
}

#[derive(Serialize)]
struct Warnings<'a> {
    event: &'static str,
    warnings: &'a [String],
}

fn build(env: &Env) -> Result<Isolate, Vec<String>> {
    let missing = |error: worker::Error| vec![error.to_string()];
    let bindings = Object::keys(env.unchecked_ref::<Object>()).into_iter();
    let bindings: Vec<String> = bindings.filter_map(|name| name.as_string()).collect();
    let databases = databases(env, &bindings);
    let count = databases.as_ref().map_or(DATABASES_MAX, Vec::len);
    let value = |name: &str| env.var(name).ok().map(|value| value.to_string());
    let config = Config::read(value, &bindings, count);
    let (databases, config) = both(databases, config)?;
    if !config.warnings.is_empty() {
        log::line(&Warnings { event: "configuration", warnings: &config.warnings });
    }
    let mut databases = databases.into_iter();
    let first = databases.next().ok_or_else(|| vec!["DB: not bound".to_owned()])?;
    let app = Arc::new(App {
        assets: Assets::new(env).map_err(missing)?,
        databases: Databases::new(first, databases.collect()),
        verdicts: VerdictCache::new(env, &config.portal_url).map_err(missing)?,
        in_flight: InFlight::new(config.upstream_budget_ms),
        hashing: HashingTurns::new(config.throttle.hashes_per_minute),
        pace: Pace::new(1_000 / config.throttle.account_requests_per_second, BURST_REQUESTS),
        refusals: Refusals::default(),
        used_sessions: Map::new(USED_SESSIONS_MAX),
        origins: Origins::new(&config.origins, &config.ticket_secrets, config.cache),
        scan_queue: ScanQueue::new(env).map_err(missing)?,
        mailer: Mailer::new(env, &config.mail_from).map_err(missing)?,
        shield: Shield::new(|binding| Limiter::new(env, binding)).map_err(missing)?,
        policies: Policies::default(),
        refusal_counts: RefusalCounts::default(),
        readiness: Recent::default(),
        plans: Recent::default(),
        config,
    });
    let router = routes::router(Arc::clone(&app)).layer(map_response(name_route));
    Ok(Isolate { app, router })
}

/// Assumed number of databases while it is unknown, so that no reference to a database is rejected.
const DATABASES_MAX: usize = 256;

fn databases(env: &Env, bindings: &[String]) -> Result<Vec<Database>, Vec<String>> {
    let count = config::count_databases(bindings)?;
    let bound = (0..=u8::MAX).zip(0..count).map(|(number, index)| {
        let name = config::binding(index);
        let is_closed = bindings.contains(&[config::CLOSED, &name].concat());
        env.d1(&name).map(|database| Database::new(database, number, is_closed))
    });
    bound.collect::<Result<_, _>>().map_err(|error| vec![error.to_string()])
}

fn both<A, B>(a: Result<A, Vec<String>>, b: Result<B, Vec<String>>) -> Result<(A, B), Vec<String>> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (a, b) => Err(a.err().into_iter().chain(b.err()).flatten().collect()),
    }
}

/// The line has no address, key or body.
#[derive(Debug, Serialize)]
struct LogLine<'a> {
    request_id: &'a str,
    method: &'a str,
    /// The route's path, or a placeholder for unknown paths, which clients can choose freely.
    route: &'a str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(flatten)]
    party: Party,
    #[serde(flatten)]
    expenses: Expenses,
    wasm_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
}

const UNKNOWN: &str = "(unknown)";

async fn name_route(path: Option<MatchedPath>, mut response: Response) -> Response {
    if let Some(path) = path {
        response.extensions_mut().insert(path);
    }
    response
}

pub async fn serve(mut request: Request<Body>, env: &Env, context: Context) -> Response {
    let request_id = random::identifier().unwrap_or_default();
    let deferred = Deferred::new(context);
    request.extensions_mut().insert(RequestContext {
        id: request_id.clone(),
        deferred,
        device: Device::default(),
        idempotency_key: None,
        used_session: Arc::default(),
    });
    let method = request.method().clone();
    let origin = request.headers().get(header::ORIGIN).cloned();
    let meter = Arc::new(Meter::default());
    let (mut response, portal_url) = match of(env) {
        Ok(isolate) => {
            let is_preflight = method == Method::OPTIONS;
            let mut response = match is_preflight {
                true => Response::default(),
                false => {
                    let Ok(response) = metered(&meter, isolate.router.clone().call(request)).await;
                    response
                }
            };
            let portal_url = isolate.app.config.portal_url.as_str();
            http::share(response.headers_mut(), portal_url, origin, is_preflight);
            (response, Some(portal_url))
        }
        Err(mistakes) => (misconfigured(mistakes).into_response(), None),
    };
    if method != Method::HEAD {
        error::write_body(&mut response, portal_url);
    }
    http::complete(response.headers_mut(), &request_id);
    let route = response.extensions().get::<MatchedPath>().map_or(UNKNOWN, MatchedPath::as_str);
    log::line(&LogLine {
        request_id: &request_id,
        method: method.as_str(),
        route,
        status: response.status().as_u16(),
        outcome: error::outcome(&response),
        party: meter.party(),
        expenses: meter.expenses(),
        wasm_bytes: memory_bytes(),
        cause: error::cause(&response),
    });
    response
}

fn misconfigured(mistakes: &[String]) -> Error {
    Error::unavailable(format!("configuration: {}", mistakes.join("; ")))
}

#[cfg(target_arch = "wasm32")]
fn memory_bytes() -> usize {
    // Memory is measured in pages of 64 KiB.
    core::arch::wasm32::memory_size::<0>() * 65_536
}

#[cfg(not(target_arch = "wasm32"))]
const fn memory_bytes() -> usize {
    0
}

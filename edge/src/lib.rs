//! The edge: a Cloudflare Worker that authenticates, counts, caches and asks an origin.
//!
//! This file only wires the runtime's events to the rooms beside it.

mod account;
mod address_hash;
mod answer;
mod api_key;
mod app;
mod body;
mod caller;
mod cf;
mod config;
mod confirmation;
mod error;
mod mail;
#[cfg(not(target_arch = "wasm32"))]
pub mod openapi;
mod origins;
mod password;
mod quota;
mod random;
pub mod routes;
mod session;
mod store;

use axum::{body::Body, response::Response};
use worker::{Context, Env, HttpRequest, ScheduleContext, ScheduledEvent, event};

use crate::cf::{clock, isolate, log};

#[event(fetch)]
async fn fetch(request: HttpRequest, env: Env, context: Context) -> worker::Result<Response> {
    Ok(isolate::serve(request.map(Body::new), &env, context).await)
}

/// Cron: removes what has expired. An error here would vanish, so it is logged.
#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    if let Ok(isolate) = isolate::of(&env)
        && let Err(error) = store::housekeeping::run(&isolate.app.database, clock::now()).await
    {
        log::line(&serde_json::json!({ "event": "housekeeping", "error": format!("{error:?}") }));
    }
}

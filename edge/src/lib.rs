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
mod client;
mod common_passwords;
mod config;
mod error;
mod mail;
mod mailed_token;
mod member;
#[cfg(not(target_arch = "wasm32"))]
pub mod openapi;
mod origins;
mod password;
mod quota;
mod random;
mod recovery_code;
pub mod routes;
mod second_factor;
mod session;
mod store;
mod throttle;
mod totp;

use worker::{
    Context, Env, ScheduleContext, ScheduledEvent, event,
    web_sys::{Request, Response},
};

use crate::cf::{clock, http, isolate, log, start};

#[event(start)]
fn on_start() {
    start::run();
}

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> worker::Result<Response> {
    let request = http::request(request).await?;
    http::response(isolate::serve(request, &env, context).await).await
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

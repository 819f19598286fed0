//! The roof: the runtime's events in, responses out. Builds what an isolate shares and wires the rooms.

mod answer;
mod http;
mod isolate;

use worker::{
    Context, Env, ScheduleContext, ScheduledEvent, event,
    web_sys::{Request, Response},
};

use crate::{
    background::{notices, rotation},
    cf::{clock, log},
    store,
};

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> worker::Result<Response> {
    let request = http::request(request).await?;
    http::response(isolate::serve(request, &env, context).await).await
}

/// Every five minutes: mails the notices that are due, moves what is under an older secret and
/// removes what has expired. The runtime drops an
/// error from here, so it is logged.
#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    let Ok(isolate) = isolate::of(&env) else { return };
    if let Err(error) = notices::send(&isolate.app, None).await {
        log::failure("notices", &error);
    }
    if let Err(error) = rotation::run(&isolate.app).await {
        log::failure("rotation", &error);
    }
    for (table, error) in store::housekeeping::run(&isolate.app.database, clock::now()).await {
        log::failure(&format!("housekeeping of {table}"), &error);
    }
}

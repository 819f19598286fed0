//! The roof: the runtime's events in, responses out. Builds what an isolate shares and wires the rooms.

mod answer;
mod http;
mod isolate;

use worker::{
    Context, Env, ScheduleContext, ScheduledEvent, event,
    web_sys::{Request, Response},
};

use crate::{
    app::App,
    background::{notices, requested},
    cf::{clock, log},
    store,
};

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> worker::Result<Response> {
    let request = http::request(request).await?;
    http::response(isolate::serve(request, &env, context).await).await
}

/// Every five minutes: mails the notices and confirmations that are due, removes what has expired, and puts
/// what a replaced secret has made under its successor. The runtime drops an error from here, so all of
/// it logs its own.
#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    let Ok(isolate) = isolate::of(&env) else { return };
    if let Err(error) = notices::send(&isolate.app, None).await {
        log::failure("notices", &error);
    }
    if let Err(error) = requested::send(&isolate.app).await {
        log::failure("requested confirmations", &error);
    }
    for (table, error) in store::housekeeping::run(&isolate.app.database, clock::now()).await {
        log::failure(&format!("housekeeping of {table}"), &error);
    }
    let App { database, config, .. } = &*isolate.app;
    let failures = store::rekeying::run(database, &config.address_secrets, &config.totp_secrets);
    for (column, error) in failures.await {
        log::failure(&format!("rekeying of {column}"), &error);
    }
}

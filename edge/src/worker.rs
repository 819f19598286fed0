//! The roof: the runtime's events in, responses out. Builds what an isolate shares and wires the rooms.

mod answer;
mod http;
mod isolate;

use worker::{
    Context, Env, MessageBatch, MessageExt as _, QueueRetryOptionsBuilder, ScheduleContext,
    ScheduledEvent, event,
    web_sys::{Request, Response},
};

use crate::{
    app::App,
    background::{
        notices, requested,
        scans::{
            closing,
            consumer::{Done, consume},
        },
    },
    cf::{at_once::join_all, clock, log},
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
    if let Err(error) = closing::run(&isolate.app).await {
        log::failure("closing of scans", &error);
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

/// Works on the messages of a batch, all at the same time: most of that is waiting for mail servers. An error
/// from here would deliver the whole batch again.
#[event(queue)]
async fn queue(batch: MessageBatch<String>, env: Env, _context: Context) -> worker::Result<()> {
    let Ok(isolate) = isolate::of(&env) else {
        batch.retry_all();
        return Ok(());
    };
    let messages = batch.raw_iter().map(async |message| {
        let text = message.body().as_string();
        match consume(&isolate.app, text.as_deref()).await {
            Done::Acknowledge => message.ack(),
            Done::Retry(after) => {
                let options = QueueRetryOptionsBuilder::new().with_delay_seconds(after).build();
                message.retry_with_options(&options);
            }
        }
    });
    join_all(messages).await;
    Ok(())
}

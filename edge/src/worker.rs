//! The roof: the runtime's events in, responses out. Builds what an isolate shares and wires the rooms.

mod answer;
mod http;
mod isolate;

use futures_util::future::join_all;
use worker::{
    Context, Env, MessageBatch, MessageExt as _, QueueRetryOptionsBuilder, ScheduleContext,
    ScheduledEvent, event,
    web_sys::{Request, Response},
};

use crate::{
    background::{
        deletions, notices, requested, reset_links,
        scans::{
            closing,
            consumer::{Done, consume},
            redelivery,
        },
        webhooks,
    },
    cf::{clock, log},
    config::Config,
    error::Error,
    store,
};

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> worker::Result<Response> {
    let request = http::request(request).await?;
    http::response(isolate::serve(request, &env, context).await).await
}

/// Every five minutes, one database after another, each time another one first: mails the notices and
/// confirmations that are due, goes on with deletions, closes scans whose time is over, removes what
/// has expired, puts what a replaced secret has made under its successor, and delivers to webhooks. What fails is logged, since the runtime drops an error from here,
/// and keeps nothing else from being done.
#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    let Ok(isolate) = isolate::of(&env) else { return };
    let app = &*isolate.app;
    let mut mails = notices::MOST_AT_ONCE;
    let turn = clock::now() / RUN;
    if let Err(error) = reset_links::send(app).await {
        log::failure("reset links", &error);
    }
    for (number, database) in app.databases.in_turn(turn) {
        let failed = |what: &str, error: Error| {
            log::failure(&format!("{what} in database {number}"), &error);
        };
        // First: the owners are told by the same run.
        if let Err(error) = store::plans::end(database, clock::now()).await {
            failed("ended plans", error);
        }
        match notices::send(app, database, None, mails).await {
            Ok(tried) => mails = mails.saturating_sub(tried),
            Err(error) => failed("notices", error),
        }
        if let Err(error) = requested::send(app, database).await {
            failed("requested confirmations", error);
        }
        if let Err(error) = deletions::finish(&app.databases, database).await {
            failed("deletions", error);
        }
        if let Err(error) = closing::run(database).await {
            failed("closing of scans", error);
        }
        for (table, error) in store::housekeeping::run(database, clock::now()).await {
            failed(&format!("housekeeping of {table}"), error);
        }
        let Config { address_secrets, totp_secrets, .. } = &app.config;
        let directory = app.databases.directory();
        let rekeying = store::rekeying::run(directory, database, address_secrets, totp_secrets);
        for (column, error) in rekeying.await {
            failed(&format!("rekeying of {column}"), error);
        }
    }
    let Config { address_secrets, .. } = &app.config;
    if let Err(error) = store::mailbox_hashes::fill(&app.databases, address_secrets).await {
        log::failure("hashes of mailboxes", &error);
    }
    // Last: it waits for servers of customers.
    webhooks::run(app, turn).await;
}

/// Seconds between two runs (wrangler.toml, `crons`).
const RUN: u64 = 5 * 60;

/// Works on the messages of a batch, all at the same time: most of that is waiting for mail servers. While the
/// configuration has a mistake, each message waits. An error from here would deliver the whole batch again.
#[event(queue)]
async fn queue(batch: MessageBatch<String>, env: Env, _context: Context) -> worker::Result<()> {
    let isolate = isolate::of(&env);
    let messages = batch.raw_iter().map(async |message| {
        let text = message.body().as_string();
        let done = match &isolate {
            Ok(isolate) => consume(&isolate.app, text.as_deref()).await,
            Err(_) => Done::Retry,
        };
        match done {
            Done::Acknowledge => message.ack(),
            Done::Retry => {
                let sent_at = message.timestamp().as_millis() / 1000;
                let after = redelivery::delay(text.as_deref(), sent_at, clock::now());
                let options = QueueRetryOptionsBuilder::new().with_delay_seconds(after).build();
                message.retry_with_options(&options);
            }
        }
    });
    join_all(messages).await;
    Ok(())
}

//! Receives the runtime's events and returns responses; builds the isolate's state.

mod http;
mod isolate;

use futures_util::future::join_all;
use worker::{
    Context, Env, MessageBatch, MessageExt as _, QueueRetryOptionsBuilder, ScheduleContext,
    ScheduledEvent, event,
    web_sys::{Request, Response},
};

use crate::{
    cf::clock,
    scans::{
        consumer::{Disposition, consume},
        redelivery,
    },
    schedule::maintenance,
};

#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> worker::Result<Response> {
    let request = http::request(request).await?;
    http::response(isolate::serve(request, &env, context).await).await
}

/// Runs every five minutes, unless the configuration has a mistake. Failures of the run are logged, because the runtime
/// ignores a returned error.
#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    let Ok(isolate) = isolate::of(&env) else { return };
    maintenance::run(&isolate.app).await;
}

/// Processes the messages of a batch concurrently, since most of the time is spent waiting for mail
/// servers. While the configuration has a mistake, all messages are retried later. A returned error would redeliver the
/// whole batch.
#[event(queue)]
async fn queue(batch: MessageBatch<String>, env: Env, _context: Context) -> worker::Result<()> {
    let isolate = isolate::of(&env);
    let messages = batch.raw_iter().map(async |message| {
        let text = message.body().as_string();
        let done = match &isolate {
            Ok(isolate) => consume(&isolate.app, text.as_deref()).await,
            Err(_) => Disposition::Retry,
        };
        match done {
            Disposition::Acknowledge => message.ack(),
            Disposition::Retry => {
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

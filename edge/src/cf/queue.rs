//! The queue in which the addresses of scans wait, sealed.

use serde::Serialize;
use worker::{
    Env,
    js_sys::{JSON, futures::JsFuture},
    send::{IntoSendFuture as _, SendWrapper},
    wasm_bindgen::{JsCast as _, JsValue},
    worker_sys::types::Queue,
};

use super::clock::timed;
use crate::{error::Error, meter::Part};

const BINDING: &str = "SCANS";
/// Bytes per `sendBatch`: the platform accepts 256 KB, and its error doesn't name the limit.
const BATCH_BYTES_MAX: usize = 240_000;
/// Messages per `sendBatch`, the platform's limit.
const BATCH_MESSAGES_MAX: usize = 100;

/// A message to send: its text, and its delay in seconds.
#[derive(Debug)]
pub struct OutgoingMessage {
    pub text: String,
    pub delay: u32,
}

#[derive(Debug)]
pub struct ScanQueue(SendWrapper<Queue>);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuntimeMessage<'a> {
    body: &'a str,
    content_type: &'static str,
    delay_seconds: u32,
}

impl ScanQueue {
    pub const DELAY_MAX_S: u32 = 86_400;

    pub fn new(env: &Env) -> worker::Result<Self> {
        Ok(Self(SendWrapper(JsValue::from(env.queue(BINDING)?).unchecked_into())))
    }

    pub async fn send(&self, messages: Vec<OutgoingMessage>) -> Result<(), Error> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        for message in messages {
            let is_full =
                bytes + message.text.len() > BATCH_BYTES_MAX || batch.len() == BATCH_MESSAGES_MAX;
            if is_full && !batch.is_empty() {
                self.send_batch(std::mem::take(&mut batch)).await?;
                bytes = 0;
            }
            bytes += message.text.len();
            batch.push(message);
        }
        // The runtime rejects an empty batch.
        if batch.is_empty() { Ok(()) } else { self.send_batch(batch).await }
    }

    async fn send_batch(&self, messages: Vec<OutgoingMessage>) -> Result<(), Error> {
        let sending = async {
            let messages = messages.iter().map(|OutgoingMessage { text, delay }| RuntimeMessage {
                body: text,
                content_type: "text",
                delay_seconds: (*delay).min(Self::DELAY_MAX_S),
            });
            let messages: Vec<_> = messages.collect();
            // Passes all messages to JavaScript in one call.
            let batch = JSON::parse(&serde_json::to_string(&messages).ok()?).ok()?;
            let promise = self.0.send_batch(batch.unchecked_into(), JsValue::UNDEFINED).ok()?;
            JsFuture::from(promise).await.ok()
        };
        let outcome = timed(Part::Queue, sending.into_send()).await;
        // The runtime's error may quote the rejected content.
        outcome.map(drop).ok_or_else(|| Error::unavailable("queue: not taken"))
    }
}

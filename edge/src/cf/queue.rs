//! The queue in which the addresses of scans wait, sealed.

use worker::{
    BatchMessageBuilder, Env, Queue, QueueContentType, RawMessageBuilder,
    send::IntoSendFuture as _, wasm_bindgen::JsValue,
};

use super::meter::{Part, timed};
use crate::error::Error;

const BINDING: &str = "SCANS";
/// Bytes of the messages of one `sendBatch`: the platform takes 256 KB, and does not say what was too large.
const MOST_BYTES: usize = 240_000;
/// Messages of one `sendBatch`, as the platform has it.
const MOST_MESSAGES: usize = 100;

/// A message to send: its text, and after how many seconds it is to be delivered.
#[derive(Debug)]
pub struct Outgoing {
    pub text: String,
    pub delay: u32,
}

#[derive(Debug)]
pub struct ScanQueue(Queue);

impl ScanQueue {
    /// Seconds by which a message can be delayed.
    pub const MOST_DELAY: u32 = 86_400;

    /// # Errors
    /// The runtime's, when the binding is missing.
    pub fn new(env: &Env) -> worker::Result<Self> {
        env.queue(BINDING).map(Self)
    }

    /// Sends the messages, in as few calls as they fit into.
    ///
    /// # Errors
    /// [`Error::unavailable`] when one call fails; earlier ones may have been taken.
    pub async fn send(&self, messages: Vec<Outgoing>) -> Result<(), Error> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        for message in messages {
            let is_full = bytes + message.text.len() > MOST_BYTES || batch.len() == MOST_MESSAGES;
            if is_full && !batch.is_empty() {
                self.send_batch(std::mem::take(&mut batch)).await?;
                bytes = 0;
            }
            bytes += message.text.len();
            batch.push(message);
        }
        // The runtime refuses an empty one.
        if batch.is_empty() { Ok(()) } else { self.send_batch(batch).await }
    }

    async fn send_batch(&self, messages: Vec<Outgoing>) -> Result<(), Error> {
        let sending = async move {
            let messages = messages.into_iter().map(|Outgoing { text, delay }| {
                RawMessageBuilder::new(JsValue::from_str(&text))
                    .delay_seconds(delay.min(Self::MOST_DELAY))
                    .build_with_content_type(QueueContentType::Text)
            });
            let batch = BatchMessageBuilder::new().messages(messages).build();
            self.0.send_raw_batch(batch).await
        };
        timed(Part::Queue, sending.into_send())
            .await
            // The runtime's text may quote what it refused.
            .map_err(|_| Error::unavailable("queue: not taken"))
    }
}

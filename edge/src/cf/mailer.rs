use worker::{
    Env, SendEmail,
    email::SendEmailBuilder,
    js_sys::{JsString, Object, Reflect},
    send::IntoSendFuture as _,
};

use crate::{
    error::Error,
    mail::{LANGUAGE, Mail},
};

const BINDING: &str = "MAIL";

/// The `send_email` binding.
#[derive(Debug)]
pub struct Mailer {
    binding: SendEmail,
    from: String,
}

impl Mailer {
    /// # Errors
    /// The runtime's, when the binding is missing.
    pub fn new(env: &Env, from: &str) -> worker::Result<Self> {
        Ok(Self { binding: env.get_binding(BINDING)?, from: from.to_owned() })
    }

    /// Hands one mail over.
    ///
    /// # Errors
    /// [`Error::unavailable`] when it cannot be handed over.
    pub async fn send(&self, to: &str, mail: &Mail) -> Result<(), Error> {
        let message = SendEmailBuilder::builder(&self.from, to, mail.subject)
            .text(&mail.to_text())
            .html(&mail.to_html())
            .headers(&headers())
            .build();
        // The result is not looked at: locally it has no message id, and asking for one panics.
        async move { self.binding.send_with_builder(&message).await.map(drop) }
            .into_send()
            .await
            // The runtime's text may quote the recipient, so it stays out of the log.
            .map_err(|_| Error::unavailable("mail: not handed over"))
    }
}

/// RFC 3282.
fn headers() -> Object<JsString> {
    let headers = Object::new_typed();
    // Setting a property of a plain object does not fail.
    let _ = Reflect::set(&headers, &"Content-Language".into(), &LANGUAGE.into());
    headers
}

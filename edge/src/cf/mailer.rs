//! The `send_email` binding.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use worker::{
    Env, SendEmail,
    email::{EmailAddress, SendEmailBuilder},
    js_sys::{JsString, Object, Reflect},
    send::IntoSendFuture as _,
};

use super::clock;
use crate::{
    error::Error,
    meter::{self, Meter},
};

const BINDING: &str = "MAIL";

/// The platform stops work 30 s after the response; the other 10 s are for undoing the action that needed the email, or
/// recording that the email is due.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);

const SENDER: &str = "rcpt";

pub struct EmailMessage<'a> {
    pub to: &'a str,
    pub subject: &'a str,
    /// Same content as `text/plain` and `text/html`.
    pub text: String,
    pub html: String,
    pub language: &'a str,
    pub opt_out_link: Option<&'a str>,
}

#[derive(Debug)]
pub struct Mailer {
    binding: SendEmail,
    from: String,
}

impl Mailer {
    pub fn new(env: &Env, from: &str) -> worker::Result<Self> {
        Ok(Self { binding: env.get_binding(BINDING)?, from: from.to_owned() })
    }

    pub async fn send(&self, message: EmailMessage<'_>) -> Result<(), Error> {
        let meter = meter::current();
        let run = meter.as_deref().and_then(Meter::run);
        if run.is_some_and(|run| run.mail_hung.load(Relaxed)) {
            return Err(Error::unavailable("mail: it hung earlier in this run"));
        }
        let from = EmailAddress::new(SENDER, &self.from);
        let to = message.to;
        let built =
            SendEmailBuilder::builder_with_email_address_and_str(&from, to, message.subject)
                .text(&message.text)
                .html(&message.html)
                .headers(&headers(&message))
                .build();
        // Ignores the result: in local runs it has no message id, and reading one panics.
        let sending = async move { self.binding.send_with_builder(&built).await.map(drop) };
        let Some(sent) = clock::within(SEND_TIMEOUT, sending.into_send()).await else {
            if let Some(run) = run {
                run.mail_hung.store(true, Relaxed);
            }
            return Err(Error::unavailable("mail: not handed over in time"));
        };
        // The runtime's error may quote the recipient, so it isn't logged.
        sent.map_err(|_| Error::unavailable("mail: not handed over"))
    }
}

fn headers(message: &EmailMessage<'_>) -> Object<JsString> {
    let headers = Object::new_typed();
    // Setting a property of a plain object can't fail.
    let set = |name: &str, value: &str| {
        let _ = Reflect::set(&headers, &name.into(), &value.into());
    };
    set("Content-Language", message.language);
    if let Some(link) = message.opt_out_link {
        set("List-Unsubscribe", &format!("<{link}>"));
    }
    headers
}

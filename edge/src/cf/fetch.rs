//! Outgoing requests, made with the runtime's own objects: the `worker` crate's types add 20 KB to the Worker.

use worker::{
    js_sys::{self, Promise, Reflect, Uint8Array, futures::JsFuture},
    send::{IntoSendFuture as _, SendWrapper},
    wasm_bindgen::{JsCast as _, JsValue},
    web_sys::{
        AbortSignal, Headers, ReadableStreamDefaultReader, RequestInit, RequestRedirect, Response,
        WorkerGlobalScope,
    },
};

/// A request: POST if it has a body, otherwise GET.
#[derive(Debug)]
pub struct OutgoingRequest<'a> {
    pub url: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
    pub body: Option<&'a str>,
    /// The time until the response has ended.
    pub timeout_ms: u32,
}

impl OutgoingRequest<'_> {
    pub async fn send(self) -> Option<Reply> {
        self.exchange().into_send().await
    }

    async fn exchange(self) -> Option<Reply> {
        let headers = Headers::new().ok()?;
        for (name, value) in self.headers {
            headers.set(name, value).ok()?;
        }
        let init = RequestInit::new();
        init.set_headers(&headers);
        // Redirects aren't followed: a server mustn't choose our next destination.
        init.set_redirect(RequestRedirect::Manual);
        init.set_signal(Some(&AbortSignal::timeout_with_u32(self.timeout_ms)));
        if let Some(body) = self.body {
            init.set_method("POST");
            init.set_body(&JsValue::from_str(body));
        }
        let global: WorkerGlobalScope = js_sys::global().unchecked_into();
        Reply::of(global.fetch_with_str_and_init(self.url, &init)).await
    }
}

#[derive(Debug)]
pub struct Reply(SendWrapper<Response>);

impl Reply {
    pub(super) async fn of(promise: Promise) -> Option<Self> {
        JsFuture::from(promise)
            .await
            .ok()?
            .dyn_into()
            .map(|response| Self(SendWrapper(response)))
            .ok()
    }

    pub fn status(&self) -> u16 {
        self.0.status()
    }

    pub fn header(&self, name: &str) -> Option<String> {
        self.0.headers().get(name).ok().flatten()
    }

    pub async fn text(self) -> Option<String> {
        JsFuture::from(self.0.text().ok()?).into_send().await.ok()?.as_string()
    }

    pub async fn bytes(self) -> Option<Vec<u8>> {
        let body = JsFuture::from(self.0.array_buffer().ok()?).into_send().await.ok()?;
        Some(Uint8Array::new(&body).to_vec())
    }

    /// The body in chunks, as it arrives; `None` without a body.
    pub fn chunks(self) -> Option<Chunks> {
        self.0.body().map(|body| Chunks(SendWrapper(body.get_reader().unchecked_into())))
    }
}

#[derive(Debug)]
pub struct Chunks(SendWrapper<ReadableStreamDefaultReader>);

impl Chunks {
    /// The next chunk; `None` at the end or if the body is cut off.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        let chunk = JsFuture::from(self.0.read()).into_send().await.ok()?;
        // The value is undefined at the end.
        let bytes = Reflect::get(&chunk, &JsValue::from_str("value")).ok()?;
        Some(bytes.dyn_into::<Uint8Array>().ok()?.to_vec())
    }
}

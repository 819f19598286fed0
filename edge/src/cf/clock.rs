//! The Worker's clock, timers and time limits.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use worker::{Delay, js_sys, send::IntoSendFuture as _};

use crate::meter::{self, Part};

/// Unix milliseconds. The clock advances only during I/O.
pub fn now_ms() -> u64 {
    // A whole number below 2^53.
    js_sys::Date::now() as u64
}

pub fn now() -> u64 {
    now_ms() / 1000
}

pub async fn within<T>(duration: Duration, work: impl Future<Output = T>) -> Option<T> {
    before(sleep(duration), work).await
}

pub async fn before<T>(end: impl Future<Output = ()>, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut end = pin!(end);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => end.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// Waits on a timer of the current request; dropping the future clears the timer.
pub async fn sleep(duration: Duration) {
    Delay::from(duration).into_send().await;
}

/// Counts `work` in the current meter: one call to `part`, and its duration. Without a meter, or if
/// the future is dropped early, nothing is counted.
pub async fn timed<T>(part: Part, work: impl Future<Output = T>) -> T {
    let Some(meter) = meter::current() else { return work.await };
    let started = now_ms();
    let done = work.await;
    meter.add(part, now_ms().saturating_sub(started));
    done
}

//! Several futures at the same time.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

/// What all of them come to, in their order. Each is polled whenever one of them may go on, which for a handful
/// is cheaper than telling them apart.
pub async fn join_all<T>(futures: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut open: Vec<Option<Pin<Box<_>>>> =
        futures.into_iter().map(|future| Some(Box::pin(future))).collect();
    let mut done: Vec<Option<T>> = open.iter().map(|_| None).collect();
    poll_fn(move |context| {
        for (future, done) in open.iter_mut().zip(&mut done) {
            let Some(pending) = future else { continue };
            if let Poll::Ready(value) = pending.as_mut().poll(context) {
                *done = Some(value);
                *future = None;
            }
        }
        if open.iter().all(Option::is_none) {
            Poll::Ready(std::mem::take(&mut done).into_iter().flatten().collect())
        } else {
            Poll::Pending
        }
    })
    .await
}

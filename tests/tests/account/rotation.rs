//! A replaced key is rejected from the next request on (docs/security.md, A6).
//!
//! - 50 requests a second, ten replacements: no request with an old key is accepted after the answer, and none gets a
//!   5xx.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use rcpt_tests::{Anonymous, Edge, people::send_again, process::turn};
use reqwest::Method;
use tokio::{
    sync::Semaphore,
    time::{Instant, interval},
};

/// 50 requests a second, with at most 50 in flight: on a busy machine, more would wait until workerd closes their
/// connections unread.
const PACE: Duration = Duration::from_millis(20);
const IN_FLIGHT: usize = 50;
const ROTATIONS: usize = 10;
/// Requests between two rotations.
const BETWEEN: usize = 15;

/// A request of the load: its times, its API key, and the status of the response.
struct Shot {
    sent_at: Instant,
    answered_at: Instant,
    key: String,
    status: u16,
}

#[tokio::test]
async fn after_the_answer_of_a_rotation_the_old_key_is_answered_401_and_nothing_fails() {
    let _turn = turn().await;
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let anonymous = Anonymous::on_kept_connections(&edge.url);
    let key = Arc::new(parking_lot::Mutex::new(account.api_key.clone()));
    let over = Arc::new(AtomicBool::new(false));
    let [count, good] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let load = {
        let (key, over) = (Arc::clone(&key), Arc::clone(&over));
        let (count, good) = (Arc::clone(&count), Arc::clone(&good));
        tokio::spawn(async move {
            let mut pace = interval(PACE);
            let (mut tasks, mut old) = (Vec::new(), String::new());
            let permits = Arc::new(Semaphore::new(IN_FLIGHT));
            while !over.load(Ordering::Relaxed) {
                pace.tick().await;
                let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
                let current = key.lock().clone();
                let nth = count.fetch_add(1, Ordering::Relaxed);
                // Alternates between the newest known key and the key before it.
                let used =
                    if nth % 2 == 0 || old.is_empty() { current.clone() } else { old.clone() };
                let request =
                    anonymous.request(Method::GET, "/me/quota").header("x-api-key", &used);
                let good = Arc::clone(&good);
                tasks.push(tokio::spawn(async move {
                    let sent_at = Instant::now();
                    let status = send_again(request).await.status;
                    drop(permit);
                    good.fetch_add(usize::from(status == 200), Ordering::Relaxed);
                    Shot { sent_at, answered_at: Instant::now(), key: used, status }
                }));
                old = current;
            }
            let mut shots = Vec::new();
            for task in tasks {
                shots.push(task.await.unwrap());
            }
            shots
        })
    };
    let mut replaced = Vec::new();
    for rotation in 1..=ROTATIONS {
        // Half of them have a key that is valid. On a busy machine, many of these are only read after the next rotation.
        // If none is accepted any more, the test ends and fails.
        while count.load(Ordering::Relaxed) < rotation * BETWEEN
            || (good.load(Ordering::Relaxed) < rotation * BETWEEN / 2
                && count.load(Ordering::Relaxed) < 20 * ROTATIONS * BETWEEN)
        {
            tokio::time::sleep(PACE / 4).await;
        }
        let begun_at = Instant::now();
        let reply = account.rotate_api_key().await;
        let at = Instant::now();
        assert_eq!(reply.status, 200, "{}", reply.body);
        // The load continues with the old key for a while before it gets the new key.
        let count_before = count.load(Ordering::Relaxed);
        while count.load(Ordering::Relaxed) < count_before + 5 {
            tokio::time::sleep(PACE / 4).await;
        }
        let old = std::mem::replace(&mut *key.lock(), reply.text("api_key").to_owned());
        replaced.push((old, begun_at, at));
    }
    over.store(true, Ordering::Relaxed);
    let shots = load.await.unwrap();
    let late: Vec<_> = shots
        .iter()
        .filter(|shot| replaced.iter().any(|(key, _, at)| *key == shot.key && shot.sent_at > *at))
        .collect();
    let accepted = late.iter().filter(|shot| shot.status != 401).count();
    let good = shots.iter().filter(|shot| shot.status == 200).count();
    println!(
        "{ROTATIONS} rotations under 50 requests/s: {} requests, {good} answered 200, {} sent with an \
         old key after the rotation's reply, {accepted} of them accepted",
        shots.len(),
        late.len()
    );
    assert!(late.len() >= ROTATIONS * 5, "{}", late.len());
    assert_eq!(accepted, 0);
    assert!(good >= ROTATIONS * BETWEEN / 2, "{good} of {}", shots.len());
    let is_refused_too_early = |shot: &Shot| {
        let replacement = replaced.iter().find(|(key, ..)| *key == shot.key);
        shot.status != 200
            && replacement.is_none_or(|(_, begun_at, _)| shot.answered_at < *begun_at)
    };
    assert!(!shots.iter().any(is_refused_too_early), "a key was refused before its replacement");
    assert!(shots.iter().all(|shot| [200, 401].contains(&shot.status)), "a failure of ours");
}

//! Changed limits for a running pool.

use super::*;

#[tokio::test(start_paused = true)]
async fn more_sessions_reach_those_who_wait_and_what_was_counted_stays() {
    let pool = pool();
    let permits = [google("a.org").permit(&pool).await, google("b.org").permit(&pool).await];
    for permit in &permits {
        permit.note(Signal::Answered { refused: true });
    }
    let refused = |pool: &Arc<Pool<u32>>| pool.status().operators[0].refused_last_hour;
    let counted = refused(&pool);
    let waiting = tokio::spawn({
        let pool = pool.clone();
        async move { google("c.org").ask(&pool).await.is_ok() }
    });
    sleep(Duration::from_secs(5)).await;
    assert!(!waiting.is_finished());
    let text = OPERATORS.replace("sessions = 2", "sessions = 3");
    let operators = Operators::with(&text).unwrap().numbered_as(&pool.settings().operators);
    pool.set_settings(Settings { operators: Arc::new(operators), ..(*pool.settings()).clone() });
    assert!(waiting.await.unwrap());
    assert_eq!(refused(&pool), counted);
    assert_eq!(pool.status().operators[0].operator, "google");
}

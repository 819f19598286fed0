//! Refused recipients when many are checked concurrently: waiting recipients must also count.

use super::*;
use crate::Cause;

/// The number of recipients that were asked about.
async fn dead_list(pool: &Arc<Pool<u32>>, want: &Wanted, count: usize) -> usize {
    let mut all = JoinSet::new();
    for _ in 0..count {
        let (pool, want) = (pool.clone(), want.clone());
        all.spawn(async move {
            match want.ask(&pool).await {
                Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) => {
                    sleep(Duration::from_millis(5)).await;
                    permit.note(Signal::Answered { refused: true });
                    permit.keep(0);
                    true
                }
                Err(refused) => {
                    // Requests that find the queue too full fail with `Crowded`.
                    assert!(matches!(refused.cause, Cause::Refusals | Cause::Crowded));
                    false
                }
            }
        });
    }
    all.join_all().await.into_iter().filter(|is_asked| *is_asked).count()
}

/// The number of control recipients that the pool permitted.
pub(super) async fn refused_controls(
    pool: &Arc<Pool<u32>>,
    wants: impl Iterator<Item = Wanted>,
) -> usize {
    let mut count = 0;
    for want in wants {
        let permit = want.permit(pool).await;
        permit.note(ANSWERED);
        if permit.spares_refusal() {
            permit.count_recipient();
            permit.note(Signal::Answered { refused: true });
            count += 1;
        }
        permit.keep(0);
    }
    count
}

fn of(account: String, class: Class) -> Wanted {
    let account: &'static str = account.leak();
    Wanted { tenant: Some(account), account: Some(account), class, ..google("gmail.com") }
}

#[tokio::test(start_paused = true)]
async fn a_dead_list_that_is_asked_about_at_once_has_no_more_than_its_share() {
    for class in [Class::Interactive, Class::Batch] {
        let pool = pool();
        let asked_count = dead_list(&pool, &of("lister".to_owned(), class), 400).await;
        // Recipients in flight when the last one is counted may also be refused.
        assert!((50..50 + LIMITS.sessions).contains(&asked_count), "{class:?}: {asked_count}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_dead_lists_at_once_have_less_than_twice_the_hours_number() {
    for accounts in [2, 5, 20] {
        let (pool, mut all) = (pool(), JoinSet::new());
        for n in 0..accounts {
            let pool = pool.clone();
            let want = of(format!("lister{n}"), Class::Interactive);
            all.spawn(async move { dead_list(&pool, &want, 100).await });
        }
        let request_count: usize = all.join_all().await.into_iter().sum();
        assert!(
            (50..200 + LIMITS.sessions).contains(&request_count),
            "{accounts}: {request_count}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn control_recipients_leave_half_of_the_hour_and_are_nobodys_guesses() {
    let pool = pool();
    let forms = (0..200).map(|n| of(format!("form{}", n % 2), Class::Interactive));
    assert_eq!(refused_controls(&pool, forms).await, 50);
    let recipient_count = dead_list(&pool, &of("form0".to_owned(), Class::Batch), 400).await;
    assert!(
        (25..25 + LIMITS.sessions).contains(&recipient_count),
        "half of the rest: {recipient_count}"
    );
}

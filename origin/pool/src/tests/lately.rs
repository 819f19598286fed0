//! A machine with hundreds of domains that bans after twenty unknown recipients in ten minutes.

use std::collections::BTreeMap;

use super::{refused::refused_controls, *};
use crate::Cause;

const MINUTE: Duration = Duration::from_secs(60);
const SPAN: Duration = Duration::from_secs(600);
/// Number of unknown recipients after which the machine bans.
const BAN: usize = 20;

/// Returns a pool without limits on recipients, so that only refused ones count.
fn pool() -> Arc<Pool<u32>> {
    let limits = Limits { refused_per_hour: 300, interval: Duration::ZERO, ..LIMITS };
    let settings = Settings { machine: limits, ..settings(1, Vec::new()) };
    Pool::new(settings, drop, || NOW, HashKey::default())
}

fn of(tenant: &str, account: &str, class: Class) -> Wanted {
    let leaked = |name: &str| -> &'static str { name.to_owned().leak() };
    Wanted {
        domain: format!("{account}.example"),
        tenant: Some(leaked(tenant)),
        account: Some(leaked(account)),
        class,
        ..at("mx.hoster.example", "198.51.100.7")
    }
}

fn single(account: &str) -> Wanted {
    of(account, account, Class::Interactive)
}

fn batch(account: &str) -> Wanted {
    of(account, account, Class::Batch)
}

/// Runs one check if the pool permits it. Returns whether it did.
async fn asks(pool: &Arc<Pool<u32>>, want: &Wanted, refused: bool) -> bool {
    match want.ask(pool).await {
        Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) => {
            permit.note(Signal::Answered { refused });
            permit.keep(0);
            true
        }
        Err(refused) => {
            assert_eq!(refused.cause, Cause::Refusals);
            assert!(refused.after <= SPAN, "{:?}", refused.after);
            false
        }
    }
}

/// Checks dead recipients until it must wait. Returns their number.
async fn guesses(pool: &Arc<Pool<u32>>, want: &Wanted) -> usize {
    let mut count = 0;
    while asks(pool, want, true).await {
        count += 1;
        assert!(count < 1_000, "nothing stops it");
    }
    count
}

/// Gives the account a history at another server.
async fn history(pool: &Arc<Pool<u32>>, account: &str, refused: bool) {
    for _ in 0..10 {
        let want = Wanted { host: GOOGLE.to_owned(), ..single(account) };
        assert!(asks(pool, &want, refused).await);
    }
}

#[tokio::test(start_paused = true)]
async fn an_account_that_guesses_stops_at_half_and_the_others_go_on() {
    let pool = pool();
    history(&pool, "dictionary", true).await;
    history(&pool, "form", false).await;
    let of_dictionary = guesses(&pool, &single("dictionary")).await;
    assert!(!asks(&pool, &batch("dictionary"), true).await, "nor by a list");
    let of_owner = guesses(&pool, &batch("owner")).await;
    assert!(asks(&pool, &single("newcomer"), false).await);
    let of_form = guesses(&pool, &single("form")).await;
    assert_eq!((of_dictionary, of_owner, of_form), (8, 7, 3));
    assert!(of_dictionary + of_owner + of_form + LIMITS.sessions <= BAN);
    sleep(SPAN).await;
    assert!(asks(&pool, &single("dictionary"), true).await, "ten minutes later");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_accounts_that_are_new_do_not_reach_the_number_that_bans() {
    for tenant in [Some("free"), None] {
        let pool = pool();
        history(&pool, "form", false).await;
        let mut checks = Vec::new();
        for n in 0..1_000 {
            let account = format!("account{n}");
            let want = of(tenant.unwrap_or(&account), &account, Class::Interactive);
            let started = Instant::now();
            if asks(&pool, &want, true).await {
                checks.push(started);
            }
            sleep(5 * Duration::from_secs(1)).await;
            assert!(asks(&pool, &single("form"), false).await, "{n}");
            let lately = checks.iter().filter(|at| at.elapsed() < SPAN).count();
            assert!(lately + LIMITS.sessions < BAN, "{lately}");
            if tenant.is_some() {
                assert!(lately <= 7, "free accounts are one tenant: {lately}");
            }
        }
        assert!(checks.len() > 40, "{}", checks.len());
    }
}

#[tokio::test(start_paused = true)]
async fn lists_have_fifteen_in_any_ten_minutes_and_learn_the_time_of_the_next_one() {
    let (pool, mut sent) = (pool(), Vec::new());
    let want = batch("owner");
    while sent.len() < 100 {
        match want.ask(&pool).await {
            Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) => {
                permit.note(Signal::Answered { refused: true });
                permit.keep(0);
                sent.push(Instant::now());
                let first = sent.len().checked_sub(16).and_then(|index| sent.get(index));
                assert!(first.is_none_or(|at| at.elapsed() >= SPAN));
                // The checks are spread over the window.
                sleep(Duration::from_secs(sent.len() as u64 % 30)).await;
            }
            Err(refused) => {
                let early = refused.after - Duration::from_millis(1);
                sleep(early).await;
                assert!(want.ask(&pool).await.is_err(), "a moment before");
                sleep(Duration::from_millis(1)).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_control_recipient_is_no_guess_and_gives_way_at_half() {
    let pool = pool();
    assert_eq!(refused_controls(&pool, (0..30).map(|_| single("form"))).await, 8);
    assert_eq!(pool.status().entries.histories, 1);
    // Its history stays good until a fifth of its recipients are refused.
    assert_eq!(guesses(&pool, &single("form")).await, 8);
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_at_once_stays_below_the_number_that_bans() {
    let (pool, mut all) = (pool(), JoinSet::new());
    for n in 0..200 {
        let pool = pool.clone();
        all.spawn(async move {
            let want = single(&format!("account{n}"));
            let outcome = want.ask(&pool).await;
            let Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) = outcome else { return 0 };
            sleep(Duration::from_millis(200)).await;
            permit.note(Signal::Answered { refused: true });
            permit.keep(0);
            1
        });
    }
    let recipient_count: usize = all.join_all().await.into_iter().sum();
    assert!((16..=BAN).contains(&recipient_count), "{recipient_count}");
}

/// DNS servers rotate the addresses of a host. A session with one of its machines counts there, whichever comes first.
#[tokio::test(start_paused = true)]
async fn the_machines_of_one_host_have_a_number_each_in_whichever_order_they_come() {
    let (pool, mut refused) = (pool(), BTreeMap::new());
    for n in 0..200 {
        let mut want = batch(&format!("owner{n}"));
        want.addresses.push(SocketAddr::new([198, 51, 100, 8].into(), 25));
        want.addresses.rotate_left(n % 2);
        match want.ask(&pool).await {
            Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) => {
                *refused.entry(permit.address()).or_insert(0) += 1;
                permit.note(Signal::Answered { refused: true });
                permit.keep(0);
            }
            Err(refused) => assert_eq!(refused.cause, Cause::Refusals),
        }
    }
    assert_eq!(refused.into_values().collect::<Vec<_>>(), [15, 15]);
}

#[tokio::test(start_paused = true)]
async fn a_number_of_one_lets_one_pass_in_ten_minutes_and_operators_have_no_such_number() {
    let pace = Pace { machine_refused_lately: 1, ..Pace::default() };
    let settings = Settings { pace, ..settings(1, Vec::new()) };
    let pool = Pool::new(settings, drop, || NOW, HashKey::default());
    assert_eq!(guesses(&pool, &batch("owner")).await, 1);
    sleep(SPAN - MINUTE).await;
    assert!(!asks(&pool, &batch("owner"), true).await);
    sleep(MINUTE).await;
    assert!(asks(&pool, &batch("owner"), true).await);
    for _ in 0..30 {
        assert!(asks(&pool, &google("gmail.com"), true).await);
    }
}

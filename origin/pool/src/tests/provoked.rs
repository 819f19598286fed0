//! States that replies set: provoked by one account, seen by another.

use super::{
    attacks::{paying, text},
    *,
};
use crate::{Cause, pool::sites::MAX_SITES};

/// Words at RCPT about our rate.
const SLOW_DOWN: Signal<'_> = Signal::Refused(Refusal {
    before_rcpt: false,
    closing: false,
    about_our_address: false,
    about_our_rate: true,
    is_trouble: false,
    hint: Some(Duration::from_secs(3_600)),
    words: "",
});

/// A closed list's refusal of everybody from outside.
const CLOSED_LIST: Signal<'_> = Signal::Refused(Refusal {
    before_rcpt: false,
    closing: false,
    about_our_address: false,
    about_our_rate: false,
    is_trouble: false,
    hint: Some(Duration::from_secs(3_600)),
    words: "",
});

fn hoster() -> Wanted {
    at("mx.hoster.example", "198.51.100.7")
}

/// The account asks as often as the pool lets it.
async fn provoke(pool: &Arc<Pool<u32>>, want: &Wanted, signal: Signal<'_>, times: usize) {
    for _ in 0..times {
        if let Ok(Ok(Acquired::New(permit) | Acquired::Idle(_, permit))) =
            timeout(Duration::from_secs(2), want.ask(pool)).await
        {
            permit.note(signal);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_one_account_is_told_at_rcpt_no_other_account_waits_for_it() {
    let unread = Signal::Answered { refused: true };
    for place in [google(""), hoster()] {
        for signal in [CLOSED_LIST, CLOSED, SLOW_DOWN, banned(false), Signal::Unread, unread] {
            for class in [Class::Interactive, Class::Batch] {
                let (pool, domain) = (pool(), "victim.example".to_owned());
                let all = Wanted { domain, ..place.clone() };
                provoke(&pool, &paying("attacker", all.clone()), signal, 30).await;
                for n in 0..12 {
                    let domain = format!("own{n}.example");
                    let own = paying("attacker", Wanted { domain, ..place.clone() });
                    provoke(&pool, &own, signal, 2).await;
                }
                let other = paying("other", Wanted { class, ..all });
                let granted = timeout(Duration::from_secs(2), other.ask(&pool)).await;
                let (place, granted) = (&place.host, granted.map(|it| it.err()));
                assert_eq!(granted, Ok(None), "{place} {signal:?} {class:?}");
            }
        }
    }
}

/// Each domain answers that we are too fast. Nobody else's host may become slow by that; the account does.
#[tokio::test(start_paused = true)]
async fn words_about_our_rate_slow_the_account_that_hears_them() {
    let pool = pool();
    let mut refused = Vec::new();
    for n in 0..12 {
        let want = google_of("listener", format!("d{n}.example"));
        match want.ask(&pool).await {
            Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) => permit.note(SLOW_DOWN),
            Err(not) => refused.push(not.cause),
        }
    }
    assert!(refused.len() >= 4 && refused.contains(&Cause::Slow), "{refused:?}");
}

/// An operator tells the domains of twenty accounts that we are too fast; or those of one account; or those of twenty
/// while another account has answers.
#[tokio::test(start_paused = true)]
async fn words_about_our_rate_make_new_sessions_rarer_for_all_who_hear_them_and_for_nobody_else() {
    const TENANTS: [&str; 5] = ["a", "b", "c", "d", "e"];
    for (tenants, answered, lowered) in [(5, false, true), (1, false, false), (5, true, false)] {
        let pool = pool();
        for n in 0..24 {
            if answered {
                let other = google_of("other", format!("good{n}.example"));
                provoke(&pool, &other, Signal::Answered { refused: false }, 1).await;
            }
            let want = google_of(TENANTS[n % tenants], format!("d{n}.example"));
            provoke(&pool, &want, SLOW_DOWN, 1).await;
            sleep(Duration::from_secs(5)).await;
        }
        let start = Instant::now();
        for n in 0..4 {
            let third = google_of("third", format!("third{n}.example"));
            third.received(&pool, Signal::Unread).await;
        }
        let took = start.elapsed();
        assert_eq!(took > Duration::from_secs(10), lowered, "{tenants} {answered} {took:?}");
    }
}

/// Twenty accounts whose domains say "slow down" end a session each time. They don't get more turns for it.
#[tokio::test(start_paused = true)]
async fn whoever_ends_sessions_at_an_operator_has_fewer_turns_than_others() {
    let (pool, answers) = (pool(), Arc::new(AtomicUsize::new(0)));
    let mut all = JoinSet::new();
    for n in 0..26_usize {
        let (pool, answers) = (Arc::clone(&pool), Arc::clone(&answers));
        let account: &'static str = Box::leak(format!("account{n}").into_boxed_str());
        all.spawn(async move {
            let (start, mut own) = (Instant::now(), 0);
            while start.elapsed() < Duration::from_secs(60) {
                own += 1;
                let want = google_of(account, format!("d{own}.of-{account}.example"));
                let Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) = want.ask(&pool).await
                else {
                    sleep(Duration::from_secs(1)).await;
                    continue;
                };
                sleep(Duration::from_millis(100)).await;
                if n < 6 {
                    permit.note(Signal::Answered { refused: false });
                    permit.keep(0);
                    answers.fetch_add(1, Ordering::Relaxed);
                } else {
                    permit.note(SLOW_DOWN);
                }
            }
        });
    }
    while all.join_next().await.is_some() {}
    let answers = answers.load(Ordering::Relaxed);
    assert!(answers > 100, "{answers}");
}

fn google_of(account: &'static str, domain: String) -> Wanted {
    paying(account, google(&domain))
}

fn hoster_of(account: &'static str, domain: String) -> Wanted {
    paying(account, Wanted { domain, ..hoster() })
}

#[tokio::test(start_paused = true)]
async fn a_refusal_before_rcpt_and_two_accounts_of_different_groups_narrow_a_domains_gate_for_all()
{
    let closed_before = Signal::Refused(Refusal {
        before_rcpt: true,
        closing: false,
        about_our_address: false,
        about_our_rate: false,
        is_trouble: false,
        hint: None,
        words: "",
    });
    let of = |account| paying(account, google("d.example"));
    let is_narrow = async |pool: &Arc<Pool<u32>>| {
        of("third").ask(pool).await.err().map(|refused| refused.cause) == Some(Cause::Domain)
    };
    let pools = [pool(), pool(), pool()];
    of("first").received(&pools[0], closed_before).await;
    of("first").received(&pools[1], CLOSED).await;
    for account in ["first", "second"] {
        of(account).received(&pools[2], CLOSED).await;
    }
    let mut narrow = Vec::new();
    for pool in &pools {
        narrow.push(is_narrow(pool).await);
    }
    assert_eq!(narrow, [true, false, true]);
}

/// Thirty lists of one account at one machine, and another account's.
#[tokio::test(start_paused = true)]
async fn a_list_leaves_half_of_a_machines_refused_recipients_to_others() {
    let pool = pool();
    let settings = Settings {
        pace: Pace { machine_refused_lately: 15, ..Pace::default() },
        ..(*pool.settings()).clone()
    };
    pool.set_settings(settings);
    let list =
        |account| Wanted { class: Class::Batch, ..hoster_of(account, "d.example".to_owned()) };
    for _ in 0..40 {
        if let Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) =
            list("lister").ask(&pool).await
        {
            permit.note(Signal::Answered { refused: true });
            permit.keep(0);
        }
    }
    for _ in 0..20 {
        list("other").received(&pool, ANSWERED).await;
    }
}

/// An acceptance by a domain that accepts every name says nothing about an account's recipients.
#[tokio::test(start_paused = true)]
async fn acceptances_by_a_catch_all_make_no_good_past() {
    let pool = pool();
    for _ in 0..20 {
        paying("account", google("all.example")).received(&pool, Signal::AcceptedLikeAny).await;
    }
    assert_eq!(pool.status().entries.pasts, 0);
}

/// A machine with refused recipients, one in use, and an operator, among more networks than the pool remembers.
#[tokio::test(start_paused = true)]
async fn nobody_makes_the_pool_forget_what_a_machine_has_counted() {
    let pool = pool();
    let refused = Signal::Answered { refused: true };
    let guess = |n| hoster_of(text(format!("account{n}")), "d.example".to_owned());
    for n in 0..6 {
        google("d.example").received(&pool, refused).await;
        guess(n).received(&pool, refused).await;
    }
    let in_use = at("mx", "203.0.113.1").permit(&pool).await;
    for n in 0..MAX_SITES + 2_000 {
        let address = format!("10.{}.{}.1", n / 256, n % 256);
        permit_refused(&pool, &address).await;
    }
    for n in 0..300 {
        permit_refused(&pool, &format!("2001:db8:1:{n:x}::1")).await;
    }
    sleep(Duration::from_secs(40)).await;
    let status = pool.status();
    assert!(status.entries.sites <= MAX_SITES + 3, "{}", status.entries.sites);
    assert_eq!(status.operators[0].refused_last_hour, 6, "the operator");
    drop(in_use);
    let mut more = 0;
    while let Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) =
        guess(100 + more).ask(&pool).await
    {
        permit.note(refused);
        permit.keep(0);
        more += 1;
    }
    assert_eq!(more, 3, "a single check's nine, of which six were counted");
    let of_48 = networks_in(&pool, "2001:db8:1:");
    assert!(of_48 <= 256, "the networks of one customer go first: {of_48}");
}

fn networks_in(pool: &Pool<u32>, prefix: &str) -> usize {
    let state = pool.lock();
    state.sites.all.keys().filter(|key| format!("{key:?}").contains(prefix)).count()
}

#[tokio::test(start_paused = true)]
async fn one_customers_networks_go_first_though_they_have_counted_most() {
    let pool = pool();
    permit_refused(&pool, "2001:db8:2::1").await;
    for n in 0..2 * (MAX_SITES + 2_000) {
        permit_refused(&pool, &format!("2001:db8:1:{:x}::1", n / 2)).await;
    }
    sleep(Duration::from_secs(40)).await;
    let sites = pool.status().entries.sites;
    assert!(sites <= MAX_SITES, "{sites}");
    assert_eq!(networks_in(&pool, "2001:db8:2:"), 1);
}

async fn permit_refused(pool: &Arc<Pool<u32>>, address: &str) {
    let permit = at("mx", address).permit(pool).await;
    permit.note(Signal::Answered { refused: true });
}

#[tokio::test(start_paused = true)]
async fn recipients_a_minute_are_limited_and_counted() {
    let limits = Limits { recipients_per_minute: 60, ..LIMITS };
    let rows = OPERATORS.replace("1000000", "60");
    let operators = Arc::new(Operators::with(&rows).unwrap());
    let settings = Settings { operators, operator: limits, machine: limits, ..settings(1, vec![]) };
    let pool = Pool::new(settings, drop, || NOW, HashKey::default());
    for want in [google("d"), hoster()] {
        let started = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..12 {
            let permit = want.permit(&pool).await;
            permit.note(ANSWERED);
            permit.keep(0);
            waits.push(started.elapsed().as_secs());
        }
        assert_eq!((waits[10], waits[11]), (0, 1), "the twelfth waits: {waits:?}");
    }
    assert_eq!(pool.status().operators[0].totals.recipients, 12);
}

#[tokio::test(start_paused = true)]
async fn each_number_of_new_settings_holds() {
    let pool = pool();
    google("d").received(&pool, Signal::Answered { refused: true }).await;
    let text = OPERATORS.replace("refused_per_hour = 100", "refused_per_hour = 1");
    let operators = Operators::with(&text).unwrap().numbered_as(&pool.settings().operators);
    pool.set_settings(Settings { operators: Arc::new(operators), ..(*pool.settings()).clone() });
    let refused = google("d").ask(&pool).await.err().map(|refused| refused.cause);
    assert_eq!(refused, Some(Cause::Refusals), "refused recipients an hour");
    hoster().received(&pool, Signal::Answered { refused: true }).await;
    let pace = Pace { machine_refused_lately: 1, ..Pace::default() };
    pool.set_settings(Settings { pace, ..(*pool.settings()).clone() });
    let batch = Wanted { class: Class::Batch, ..hoster() };
    paying("other", hoster()).received(&pool, Signal::Answered { refused: true }).await;
    let refused = batch.ask(&pool).await.err().map(|refused| refused.cause);
    assert_eq!(refused, Some(Cause::Refusals), "refused recipients in ten minutes");
    let machine = Limits { interval: Duration::from_secs(30), ..LIMITS };
    pool.set_settings(Settings { machine, ..(*pool.settings()).clone() });
    let quiet = at("quiet", "203.0.113.1");
    let _both = [quiet.permit(&pool).await, quiet.permit(&pool).await];
    assert!(timeout(Duration::from_secs(9), quiet.ask(&pool)).await.is_err(), "sessions");
}

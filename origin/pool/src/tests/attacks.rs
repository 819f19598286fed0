//! Parties that hold sessions for long, in virtual time, and the effect on others.
//!
//! Opening a session takes a tenth of a second, and a probe ends after its budget.

use tokio::time::timeout_at;

use super::*;
use crate::Cause;

pub(super) const MS: Duration = Duration::from_millis(1);
pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const OPENING: Duration = Duration::from_millis(100);
/// Longer than any budget.
pub(super) const NEVER: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Answered,
    Refused(Cause),
    Cut,
    TimedOut,
}

/// `rcpt` is the server's time to reply to RCPT.
pub(super) async fn check(pool: &Arc<Pool<u32>>, want: &Wanted, rcpt: Duration) -> (Duration, End) {
    let started = Instant::now();
    let dialogue = async {
        let (opening, permit) = match want.ask(pool).await {
            Ok(Acquired::New(permit)) => (OPENING, permit),
            Ok(Acquired::Idle(_, permit)) => (Duration::ZERO, permit),
            Err(refused) => return End::Refused(refused.cause),
        };
        let cut = permit.cut();
        tokio::select! {
            () = sleep(opening + rcpt) => {}
            () = cut => return End::Cut,
        }
        permit.note(ANSWERED);
        permit.keep(0);
        End::Answered
    };
    let end = timeout_at(started + BUDGET, dialogue).await.unwrap_or(End::TimedOut);
    (started.elapsed(), end)
}

pub(super) fn text(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// Beyond the first `sessions` sessions, one new session opens per `interval`.
pub(super) fn site_of(sessions: usize, interval: Duration) -> Arc<Pool<u32>> {
    let limits = Limits { sessions, interval, ..LIMITS };
    let rows = OPERATORS
        .replace("sessions = 2", &format!("sessions = {sessions}"))
        .replace("1000\n    recipients", &format!("{}\n    recipients", interval.as_millis()));
    let operators = Arc::new(Operators::with(&rows).unwrap());
    let settings = Settings { operators, operator: limits, machine: limits, ..settings(1, vec![]) };
    Pool::new(settings, drop, || NOW, HashKey::default())
}

pub(super) fn paying(name: &'static str, want: Wanted) -> Wanted {
    Wanted { tenant: Some(name), account: Some(name), ..want }
}

fn free(name: &'static str, want: Wanted) -> Wanted {
    Wanted { tenant: Some("free"), account: Some(name), ..want }
}

pub(super) fn insist(
    pool: &Arc<Pool<u32>>,
    want: Wanted,
    rcpt: Duration,
) -> tokio::task::JoinHandle<()> {
    let pool = pool.clone();
    tokio::spawn(async move {
        loop {
            if let (_, End::Refused(_)) = check(&pool, &want, rcpt).await {
                sleep(100 * MS).await;
            }
        }
    })
}

/// Results of checks by accounts that don't attack. [`Self::by`] starts one check a second, [`Self::every`] one per
/// interval.
pub(super) struct Noticed {
    times: Vec<Duration>,
    ends: Vec<End>,
}

impl Noticed {
    pub(super) async fn by(
        pool: &Arc<Pool<u32>>,
        count: usize,
        rcpt: Duration,
        want: impl Fn(usize) -> Wanted,
    ) -> Self {
        Self::every(SECOND, pool, count, rcpt, want).await
    }

    pub(super) async fn every(
        interval: Duration,
        pool: &Arc<Pool<u32>>,
        count: usize,
        rcpt: Duration,
        want: impl Fn(usize) -> Wanted,
    ) -> Self {
        let mut all = JoinSet::new();
        for n in 0..count {
            let (pool, want) = (pool.clone(), want(n));
            all.spawn(async move { check(&pool, &want, rcpt).await });
            sleep(interval).await;
        }
        let (mut times, ends): (Vec<_>, _) = all.join_all().await.into_iter().unzip();
        times.sort_unstable();
        Self { times, ends }
    }

    fn median(&self) -> Duration {
        self.times[self.times.len() / 2]
    }

    pub(super) fn longest(&self) -> Duration {
        *self.times.last().unwrap()
    }

    fn unanswered(&self) -> usize {
        self.ends.iter().filter(|end| **end != End::Answered).count()
    }

    pub(super) fn assert_good(&self, alone: Duration, attack: &str) {
        println!("{attack}: median {:?}, longest {:?}", self.median(), self.longest());
        assert_eq!(self.unanswered(), 0, "{attack}: {:?}", self.ends);
        assert!(self.median() <= alone * 3 / 2, "{attack}: median {:?}", self.median());
    }
}

pub(super) fn victim(n: usize, want: Wanted) -> Wanted {
    let domain = format!("good{n}.org");
    paying(text(format!("victim{}", n % 10)), Wanted { domain, ..want })
}

fn machine() -> Wanted {
    at("mx.shared-hosting.net", "198.51.100.9")
}

/// A domain behind a gateway whose own server never replies.
#[tokio::test(start_paused = true)]
async fn a_slow_domain_takes_no_more_than_a_share_of_its_operators_and_machines_sessions() {
    for (sessions, in_flight, want) in
        [(2, 4, google("")), (10, 12, google("")), (2, 4, machine()), (3, 9, machine())]
    {
        for starts_first in [true, false] {
            let pool = site_of(sessions, 500 * MS);
            if !starts_first {
                check(&pool, &victim(0, want.clone()), 50 * MS).await;
            }
            for _ in 0..in_flight {
                let evil = Wanted { domain: "evil.org".to_owned(), ..want.clone() };
                insist(&pool, paying("attacker", evil), NEVER);
            }
            sleep(500 * MS).await;
            let noticed = Noticed::by(&pool, 30, 50 * MS, |n| victim(n, want.clone())).await;
            let attack = format!("{in_flight} at {sessions} sessions, first {starts_first}");
            noticed.assert_good(OPENING + 50 * MS, &attack);
            assert!(noticed.longest() <= 7 * SECOND, "one cut at most: {:?}", noticed.longest());
        }
    }
}

/// Several paying accounts with slow domains, while others' servers take 0.4 s.
#[tokio::test(start_paused = true)]
async fn several_accounts_with_slow_domains_take_no_more_either() {
    for accounts in 1..=5 {
        for domains in ["one", "many"] {
            let pool = site_of(2, 500 * MS);
            for n in 0..accounts * 4 {
                let account = text(format!("attacker{}", n % accounts));
                let domain = match domains {
                    "one" => "evil.org".to_owned(),
                    _ => format!("evil{n}.org"),
                };
                insist(&pool, paying(account, google(&domain)), NEVER);
                sleep(700 * MS).await;
            }
            let noticed = Noticed::by(&pool, 60, 400 * MS, |n| victim(n, google(""))).await;
            noticed.assert_good(OPENING + 400 * MS, &format!("{accounts} accounts, {domains}"));
        }
    }
}

/// Each check has a new domain, so that no domain is known to be slow.
#[tokio::test(start_paused = true)]
async fn ever_new_slow_domains_of_one_account_take_no_more() {
    let pool = site_of(2, 500 * MS);
    for n in 0..4 {
        let pool = pool.clone();
        tokio::spawn(async move {
            for round in 0.. {
                let want = paying("attacker", google(&format!("evil{n}-{round}.org")));
                if let (_, End::Refused(_)) = check(&pool, &want, NEVER).await {
                    sleep(100 * MS).await;
                }
            }
        });
    }
    sleep(SECOND).await;
    let noticed = Noticed::by(&pool, 60, 50 * MS, |n| victim(n, google(""))).await;
    noticed.assert_good(OPENING + 50 * MS, "new domains");
}

/// Accounts check unresponsive domains only, while others wait for the only session. There must be few cuts, and at
/// least half of the others' checks must be quick.
#[tokio::test(start_paused = true)]
async fn slow_domains_do_not_hold_the_only_session_for_ever() {
    for (accounts, domains) in [(1, "new"), (3, "new"), (5, "new"), (1, "one"), (3, "one")] {
        let pool = site_of(1, 100 * MS);
        let cuts = Arc::new(AtomicUsize::new(0));
        for n in 0..accounts * 4 {
            let (pool, cuts) = (pool.clone(), cuts.clone());
            let account = text(format!("attacker{}", n % accounts));
            tokio::spawn(async move {
                for round in 0.. {
                    let round = if domains == "new" { round } else { 0 };
                    let want = paying(account, google(&format!("evil{n}-{round}.org")));
                    match check(&pool, &want, NEVER).await.1 {
                        End::Cut => drop(cuts.fetch_add(1, Ordering::Relaxed)),
                        End::Refused(_) => sleep(100 * MS).await,
                        End::Answered | End::TimedOut => {}
                    }
                }
            });
        }
        sleep(SECOND).await;
        let noticed = Noticed::by(&pool, 600, 50 * MS, |n| victim(n, google(""))).await;
        let cuts = cuts.load(Ordering::Relaxed);
        let waits = noticed.times.iter().filter(|took| **took > SECOND).count();
        let unanswered = noticed.unanswered();
        println!(
            "{accounts} accounts, {domains}: {cuts} cuts, median {:?}, {waits} of 600 wait, {unanswered} unanswered",
            noticed.median(),
        );
        assert!(cuts <= 10 * accounts, "{cuts}");
        assert!(noticed.median() <= (OPENING + 50 * MS) * 3 / 2, "{:?}", noticed.median());
    }
}

#[tokio::test(start_paused = true)]
async fn quick_answers_in_between_do_not_help_a_slow_account() {
    let pool = site_of(2, 500 * MS);
    for n in 0..4 {
        let pool = pool.clone();
        tokio::spawn(async move {
            for round in 0.. {
                for _ in 0..5 {
                    check(&pool, &paying("attacker", google("quick.org")), 20 * MS).await;
                }
                let want = paying("attacker", google(&format!("evil{n}-{round}.org")));
                if let (_, End::Refused(_)) = check(&pool, &want, NEVER).await {
                    sleep(100 * MS).await;
                }
            }
        });
    }
    sleep(SECOND).await;
    let noticed = Noticed::by(&pool, 60, 50 * MS, |n| victim(n, google(""))).await;
    noticed.assert_good(OPENING + 50 * MS, "a liar");
}

/// Tarpits in the victim's /24.
#[tokio::test(start_paused = true)]
async fn tarpits_do_not_starve_another_machine_of_their_network() {
    for (tarpits, in_flight) in [(4, 8), (4, 16), (16, 32)] {
        let pool = site_of(2, 500 * MS);
        for n in 0..in_flight {
            let host = n % tarpits;
            let want = at(&format!("mx.evil{host}.org"), &format!("198.51.100.{}", 50 + host));
            insist(&pool, paying("attacker", want), NEVER);
        }
        sleep(1_500 * MS).await;
        let noticed = Noticed::by(&pool, 30, 5 * MS, |n| victim(n, machine())).await;
        noticed.assert_good(OPENING + 5 * MS, &format!("{tarpits} tarpits, {in_flight} checks"));
        assert!(noticed.longest() <= 7 * SECOND, "{:?}", noticed.longest());
    }
}

/// Free accounts are one group, whose sessions they share fairly.
#[tokio::test(start_paused = true)]
async fn free_accounts_with_slow_domains_hold_up_neither_paying_nor_other_free_accounts() {
    for pays in [true, false] {
        let pool = site_of(2, 500 * MS);
        for n in 0..6 {
            let account = text(format!("slow{n}"));
            insist(&pool, free(account, google(&format!("evil{n}.org"))), NEVER);
        }
        sleep(SECOND).await;
        let other = |n: usize| {
            let (account, want) =
                (text(format!("quick{}", n % 5)), google(&format!("good{n}.org")));
            if pays { paying(account, want) } else { free(account, want) }
        };
        let noticed = Noticed::by(&pool, 60, 50 * MS, other).await;
        noticed.assert_good(OPENING + 50 * MS, &format!("free beside slow free ones, pays {pays}"));
    }
}

async fn all_at_once(pool: &Arc<Pool<u32>>, account: &'static str, count: usize) -> Duration {
    let started = Instant::now();
    let mut all = JoinSet::new();
    for _ in 0..count {
        let (pool, want) = (pool.clone(), paying(account, google("d.org")));
        all.spawn(async move { check(&pool, &want, 50 * MS).await.1 });
    }
    let ends = all.join_all().await;
    assert!(ends.iter().all(|end| *end == End::Answered), "{ends:?}");
    started.elapsed()
}

#[tokio::test(start_paused = true)]
async fn one_account_alone_has_the_whole_site_also_when_it_is_cold() {
    for (sessions, at_most) in [(2, 2_700 * MS), (10, 900 * MS)] {
        let pool = site_of(sessions, 100 * MS);
        let took = all_at_once(&pool, "alone", 100).await;
        assert!(took <= at_most, "{sessions}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_quick_accounts_have_half_each() {
    let pool = site_of(2, 100 * MS);
    let both = tokio::join!(all_at_once(&pool, "one", 80), all_at_once(&pool, "two", 80));
    assert!(both.0.abs_diff(both.1) <= 300 * MS, "{both:?}");
    assert!(both.0.max(both.1) <= 4_300 * MS, "{both:?}");
}

/// Ten slow accounts hold or await a session; one account gets quick answers.
#[tokio::test(start_paused = true)]
async fn a_proven_account_keeps_one_session_of_two() {
    let pool = site_of(2, 500 * MS);
    let quick = paying("quick", google("good.org"));
    check(&pool, &quick, 50 * MS).await;
    for n in 0..10 {
        let account = text(format!("slow{n}"));
        insist(&pool, paying(account, google(&format!("evil{n}.org"))), NEVER);
    }
    let mut longest = Vec::new();
    for _ in 0..600 {
        longest.push(check(&pool, &quick, 50 * MS).await.0);
        sleep(200 * MS).await;
    }
    longest.sort_unstable();
    let waits = longest.iter().filter(|took| **took > SECOND).count();
    println!("of 600 checks {waits} wait for longer than a second, {:?} at most", longest[599]);
    assert!(longest[300] <= 150 * MS, "{:?}", longest[300]);
    assert!(waits <= 12, "each new account may have the other session once: {waits}");
}

/// A server that delays the refusal of an unknown recipient by five seconds isn't cut.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_is_delayed_by_five_seconds_is_waited_for() {
    let pool = site_of(2, 500 * MS);
    let mut all = JoinSet::new();
    for n in 0..2 {
        let (pool, want) = (pool.clone(), paying(["a", "b"][n], google("exchange.org")));
        all.spawn(async move { check(&pool, &want, 5 * SECOND).await.1 });
    }
    sleep(SECOND).await;
    let waited = check(&pool, &paying("c", google("good.org")), 50 * MS).await;
    assert_eq!(all.join_all().await, [End::Answered; 2]);
    assert_eq!(waited.1, End::Answered);
}

/// A repeat after a cut gets its full time, so that a slow domain gets its answer.
#[tokio::test(start_paused = true)]
async fn a_domain_is_cut_once() {
    let pool = site_of(2, 500 * MS);
    let slow = |n: usize| paying(["a", "b"][n % 2], google(&format!("slow{n}.org")));
    let mut all = JoinSet::new();
    for n in 0..2 {
        let (pool, want) = (pool.clone(), slow(n));
        all.spawn(async move { check(&pool, &want, 8 * SECOND).await.1 });
    }
    sleep(100 * MS).await;
    let quick = insist(&pool, paying("c", google("good.org")), 50 * MS);
    let ends = all.join_all().await;
    let cut = ends.iter().filter(|end| **end == End::Cut).count();
    assert_eq!(cut, 1, "one is enough: {ends:?}");
    let again = [slow(0), slow(1)][usize::from(ends[0] != End::Cut)].clone();
    quick.abort();
    assert_eq!(check(&pool, &again, 8 * SECOND).await.1, End::Answered);
}

/// A check with details waits together with its control recipient: both must be notified.
#[tokio::test(start_paused = true)]
async fn a_cut_is_heard_by_everybody_who_uses_the_session() {
    let pool = site_of(1, 100 * MS);
    let permit = paying("slow", google("slow.org")).permit(&pool).await;
    let (question, control) = (permit.cut(), permit.cut());
    insist(&pool, paying("quick", google("good.org")), 50 * MS);
    let both = async { tokio::join!(question, control) };
    assert!(timeout(7 * SECOND, both).await.is_ok(), "one of them goes on");
    assert!(timeout(MS, permit.cut()).await.is_ok(), "and who comes later");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_idle_sessions_of_one_account_leave_room_to_others() {
    let machine = Limits { sessions: 1_000, interval: Duration::ZERO, ..LIMITS };
    let all = Settings { machine, network_sessions: 1_000, ..settings(1, Vec::new()) };
    let pool = Pool::new(all, drop, || NOW, HashKey::default());
    for n in 0..1_100 {
        let address = format!("203.{}.{}.1", n / 250, n % 250);
        let want = paying("attacker", at(&format!("mx{n}.evil.example"), &address));
        want.received(&pool, ANSWERED).await;
    }
    assert!(pool.lock().idle <= 1_024);
    let started = Instant::now();
    for n in 0..20 {
        let want = paying("victim", google(&format!("v{n}.org")));
        want.received(&pool, ANSWERED).await;
    }
    assert!(started.elapsed() <= SECOND, "they share idle sessions: {:?}", started.elapsed());
}

/// The narrow gate of a domain, and one account with ten requests a second.
#[tokio::test(start_paused = true)]
async fn whoever_asks_more_often_passes_a_gate_no_more_often() {
    let pool = pool();
    let bank = |name| paying(name, google("bank.example"));
    bank("attacker").received(&pool, CLOSED).await;
    let attacking = pool.clone();
    tokio::spawn(async move {
        loop {
            let pool = attacking.clone();
            tokio::spawn(async move {
                if let Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) =
                    bank("attacker").ask(&pool).await
                {
                    permit.note(CLOSED);
                }
            });
            sleep(100 * MS).await;
        }
    });
    let mut passed = 0;
    for _ in 0..40 {
        if let Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) =
            bank("victim").ask(&pool).await
        {
            passed += 1;
            permit.note(CLOSED);
        }
        sleep(7_310 * MS).await;
    }
    println!("{passed} of 40 pass");
    assert!(passed >= 12, "{passed}: half of what there is");
}

/// A batch waits at the minimum rate. A single check that arrives meanwhile must not wait for the batch's timer.
#[tokio::test(start_paused = true)]
async fn a_single_check_does_not_wait_for_the_timer_of_a_batch() {
    let mut waits = Vec::new();
    for with_batch in [false, true] {
        let pool = pool();
        for n in 0..16 {
            google(&format!("d{n}")).received(&pool, banned(false)).await;
        }
        drop(google("x").permit(&pool).await);
        if with_batch {
            let batch = Wanted { class: Class::Batch, ..paying("lister", google("listed")) };
            let pool = pool.clone();
            tokio::spawn(async move { drop(batch.ask(&pool).await) });
        }
        sleep(500 * MS).await;
        let started = Instant::now();
        google("single").permit(&pool).await;
        waits.push(started.elapsed());
    }
    assert!(waits[1] <= waits[0] + 10 * MS, "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn many_accounts_together_have_less_than_twice_the_refused_recipients_of_an_hour() {
    for accounts in [1, 2, 5, 20] {
        let (pool, mut refused) = (pool(), 0);
        for n in 0..accounts {
            let want = paying(text(format!("t{n}")), google("gmail.com"));
            while let Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) = want.ask(&pool).await
            {
                refused += 1;
                permit.note(Signal::Answered { refused: true });
                permit.keep(0);
            }
        }
        assert!((50..200).contains(&refused), "{accounts}: {refused}");
    }
}

/// Addresses of one /64, all of which may belong to one machine.
#[tokio::test(start_paused = true)]
async fn the_addresses_of_one_network_have_few_meters() {
    let pool = pool();
    for n in 0..2_000_u32 {
        let mut want = at("mx.evil.example", &format!("2001:db8:1:2::{n:x}"));
        want.domain = format!("d{}.evil.example", n % 10);
        if let Ok(Ok(Acquired::New(permit) | Acquired::Idle(_, permit))) =
            timeout(SECOND, want.ask(&pool)).await
        {
            permit.note(Signal::Answered { refused: true });
        }
    }
    let state = pool.lock();
    let meters: usize = state.sites.all.values().map(|site| site.here.meters.len()).sum();
    assert!(meters <= 17, "{meters}");
}

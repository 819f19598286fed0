//! Random histories: many parties act for about half a minute, and the invariants are checked every
//! ten milliseconds.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use super::*;

const PARTIES: usize = 12;
const CHECKS: usize = 60;

/// Twelve seeds; `POOL_SEEDS=80` tries more.
fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("POOL_SEEDS").ok().and_then(|text| text.parse().ok());
    0..count.unwrap_or(12)
}

fn random_want(random: &mut StdRng, party: usize) -> Wanted {
    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
    let account = NAMES[party % NAMES.len()];
    let domain = format!("d{}.org", random.random_range(0..5));
    let machine = random.random_range(0..4);
    let mut want = match random.random_range(0..3) {
        0 => google(&domain),
        1 => at(&format!("mx{machine}"), &format!("198.51.100.{machine}")),
        _ => at(&format!("name{}", random.random_range(0..9)), "198.51.100.77"),
    };
    want.domain = domain;
    want.tenant = Some(if party < NAMES.len() { account } else { "free" });
    want.account = Some(account);
    want.class = if random.random_bool(0.2) { Class::Batch } else { Class::Interactive };
    want.afresh = random.random_bool(0.1);
    want
}

/// The probe may be abandoned at any moment.
async fn probe(pool: Arc<Pool<u32>>, want: Wanted, mut random: StdRng) {
    let patience = Duration::from_millis(random.random_range(1..10_000));
    let dialogue = async {
        let Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) = want.ask(&pool).await else {
            return;
        };
        let slow = random.random_bool(0.1);
        let took = Duration::from_millis(if slow { 9_000 } else { random.random_range(0..300) });
        let cut = permit.cut();
        tokio::select! {
            () = sleep(took) => {}
            () = cut => return,
        }
        match random.random_range(0..10) {
            0 => permit.note(CLOSED),
            1 => permit.note(banned(random.random_bool(0.5))),
            2 => permit.note(Signal::Answered { refused: true }),
            _ => permit.note(ANSWERED),
        }
        if random.random_bool(0.8) {
            permit.keep(0);
        }
    };
    let _ = timeout(patience, dialogue).await;
}

/// A check may wait despite room for the 10 ms by which a timer may be late.
fn look(pool: &Arc<Pool<u32>>, was_neglected: &mut bool) {
    let state = pool.lock();
    let now = Instant::now();
    let mut is_neglected = false;
    for (_, site) in state.sites.all.iter() {
        let [in_use, uses, of_meters] = site.here.counts();
        assert!(in_use == uses && in_use == of_meters, "{in_use} {uses} {of_meters}");
        is_neglected |= site.neglects_one(now);
    }
    assert!(!(is_neglected && *was_neglected), "one waits although there is room");
    *was_neglected = is_neglected;
}

#[tokio::test(start_paused = true)]
async fn whatever_happens_nobody_waits_for_nothing_and_all_counts_agree() {
    for seed in seeds() {
        let pool = pool();
        let mut random = StdRng::seed_from_u64(seed);
        let mut all = JoinSet::new();
        for party in 0..PARTIES {
            let (pool, mut own) = (pool.clone(), StdRng::seed_from_u64(random.random()));
            all.spawn(async move {
                let mut probes = JoinSet::new();
                for _ in 0..CHECKS {
                    let want = random_want(&mut own, party);
                    let random = StdRng::seed_from_u64(own.random());
                    probes.spawn(probe(pool.clone(), want, random));
                    sleep(Duration::from_millis(own.random_range(0..800))).await;
                }
                probes.join_all().await;
            });
        }
        let mut was_neglected = false;
        while !all.is_empty() {
            while all.try_join_next().is_some_and(|done| done.map(|()| true).unwrap()) {}
            look(&pool, &mut was_neglected);
            sleep(Duration::from_millis(10)).await;
        }
        // Abandoned checks are removed by the next sweep.
        sleep(Duration::from_secs(2)).await;
        let mut state = pool.lock();
        let idle: usize = state.sites.all.values().map(|site| site.here.idle.len()).sum();
        assert_eq!(idle, state.idle, "seed {seed}");
        for (_, site) in state.sites.all.iter_mut() {
            assert_eq!((site.here.counts(), site.waiting()), ([0; 3], 0), "seed {seed}");
        }
        drop(state);
        assert_eq!(pool.drain(), idle);
    }
}

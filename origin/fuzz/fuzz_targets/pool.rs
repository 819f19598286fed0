//! Histories of the pool's public interface: never more sessions than its limits, counts that agree
//! with the existing sessions, and no wait beyond the deadline.
#![no_main]

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use libfuzzer_sys::fuzz_target;
use rcpt_pool::{
    Acquired, Asker, HashKey, Limits, Pace, Pool, Question, Refusal, Settings, Signal, Source,
    SourceClass, Target, Wait, operators::Operators,
};
use rcpt_shared::Address;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

const LIMITS: Limits = Limits {
    sessions: 2,
    interval: Duration::from_millis(100),
    recipients_per_minute: 600,
    refused_per_hour: 100,
    refused_lately: usize::MAX,
};
const NETWORK_SESSIONS: usize = 5;
const BUDGET: Duration = Duration::from_secs(10);
/// Number of machines, all in one network.
const MACHINES: u8 = 4;
/// Number of sessions that exist.
static OPEN: AtomicUsize = AtomicUsize::new(0);

struct Session;

impl Session {
    fn open() -> Self {
        OPEN.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::SeqCst);
    }
}

fn settings() -> Settings {
    Settings {
        operators: Arc::new(Operators::with("").expect("the built-in rows")),
        operator: LIMITS,
        machine: LIMITS,
        network_sessions: NETWORK_SESSIONS,
        max_idle: Duration::from_secs(2),
        max_waiting: 50,
        tenant_share: 0.5,
        sources: vec![Source {
            label: Arc::from("source"),
            since: None,
            class: SourceClass::Known,
            is_in_use: true,
        }],
        pace: Pace::default(),
    }
}

/// Runs one probe described by four bytes: its account, its site, its duration, and its end.
async fn probe(pool: Arc<Pool<Session>>, [who, place, took, end]: [u8; 4]) {
    let now = Instant::now();
    let account: Arc<str> = format!("account{}", who % 5).into();
    let group = if who.is_multiple_of(2) { account.clone() } else { Arc::from("free") };
    let machine = place % MACHINES;
    let question = Question {
        address: Address::parse(&format!("u@d{}.org", place / 32)).expect("an address"),
        asker: Asker { account: Some(account), fairness_group: Some(group) },
        wait: if who > 200 { Wait::InBatch(now + BUDGET) } else { Wait::Interactive(now + BUDGET) },
    };
    let addresses = [SocketAddr::from(([198, 51, 100, machine], 25))];
    let host = format!("mx{machine}.example.org");
    let target = Target {
        host: &host,
        addresses: &addresses,
        identity: 0,
        is_route: false,
        admitted: false,
        afresh: end & 64 > 0,
    };
    let acquired = pool.session(&question, &target).await;
    assert!(now.elapsed() <= BUDGET + Duration::from_millis(20), "waited for {:?}", now.elapsed());
    let (session, permit) = match acquired {
        Ok(Acquired::Idle(session, permit)) => (session, permit),
        Ok(Acquired::New(permit)) => (Session::open(), permit),
        Err(_) => return,
    };
    let cut = permit.cut();
    tokio::select! {
        () = sleep(Duration::from_millis(u64::from(took) * 20)) => {}
        () = cut => {}
    }
    permit.note(match end % 4 {
        0 => Signal::Refused(Refusal {
            before_rcpt: end & 128 > 0,
            closing: end & 16 > 0,
            about_our_address: end & 8 > 0,
            about_our_rate: end & 32 > 0,
            is_trouble: false,
            hint: None,
            words: "",
        }),
        1 => Signal::Answered { refused: true },
        _ => Signal::Answered { refused: false },
    });
    if end & 4 > 0 {
        permit.keep(session);
    } else {
        // The connection ends before its permit is dropped.
        drop(session);
    }
}

fn look(pool: &Pool<Session>) {
    let status = pool.status();
    let shown: usize = status.operators.iter().map(|site| site.sessions + site.idle).sum();
    let open = OPEN.load(Ordering::SeqCst);
    assert!(open <= shown, "{open} sessions, {shown} shown");
    assert!(shown <= NETWORK_SESSIONS, "{shown} sessions in a network");
}

fuzz_target!(|input: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        OPEN.store(0, Ordering::SeqCst);
        let pool = Pool::new(settings(), drop, || 1_795_305_600, HashKey::default());
        let mut all = JoinSet::new();
        for step in input.as_chunks::<4>().0.iter().take(64) {
            let patience = Duration::from_millis(20 + u64::from(step[0] ^ step[3]) * 60);
            let (pool, step) = (pool.clone(), *step);
            all.spawn(async move {
                let _ = timeout(patience, probe(pool, step)).await;
            });
            sleep(Duration::from_millis(u64::from(step[2] % 16) * 10)).await;
        }
        while !all.is_empty() {
            while let Some(done) = all.try_join_next() {
                done.expect("no probe panics");
            }
            look(&pool);
            sleep(Duration::from_millis(10)).await;
        }
        look(&pool);
        let status = pool.status();
        let left: usize = status.operators.iter().map(|site| site.sessions + site.waiting).sum();
        assert_eq!(left, 0, "in use or waiting at the end");
        let idle: usize = status.operators.iter().map(|site| site.idle).sum();
        assert_eq!(pool.drain(), idle);
        assert_eq!(OPEN.load(Ordering::SeqCst), 0);
    });
});

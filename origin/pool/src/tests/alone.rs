//! Rules that other rules hide in the scenarios: each by itself.

use super::*;
use crate::{Cause, asker::Costs, question::Party, queue::Queue};

const SECOND: Duration = Duration::from_secs(1);

/// Three sessions in a network, two with a machine.
#[tokio::test(start_paused = true)]
async fn the_last_session_of_a_network_is_for_a_machine_without_one() {
    let settings = Settings { network_sessions: 3, ..settings(1, Vec::new()) };
    let pool: Arc<Pool<u32>> = Pool::new(settings, drop, || NOW, HashKey::default());
    let machine = |n: u8| at(&format!("mx{n}"), &format!("198.51.100.{n}"));
    let _held = [machine(1).permit(&pool).await, machine(2).permit(&pool).await];
    assert!(timeout(5 * SECOND, machine(1).ask(&pool)).await.is_err(), "its second");
    assert!(timeout(SECOND, machine(3).ask(&pool)).await.is_ok());
}

/// A machine closes new sessions, while another one is idle.
#[tokio::test(start_paused = true)]
async fn an_idle_session_needs_no_gate_of_the_address() {
    let pool = pool();
    let want = at("mx", "198.51.100.7");
    let of = |domain: &str, afresh| Wanted { domain: domain.to_owned(), afresh, ..want.clone() };
    want.received(&pool, ANSWERED).await;
    of("a.example", true).received(&pool, SHUT).await;
    let refused = of("b.example", true).ask(&pool).await.err().map(|refused| refused.cause);
    assert_eq!(refused, Some(Cause::Address));
    let asked = of("b.example", false).ask(&pool).now_or_never();
    assert!(matches!(asked, Some(Ok(Acquired::Idle(..)))));
}

/// Without another machine whose state keeps the sweep going.
#[tokio::test(start_paused = true)]
async fn a_gate_alone_is_swept_too() {
    let pool = pool();
    google("bank.example").received(&pool, CLOSED).await;
    assert_eq!(pool.status().entries.gates, 1);
    sleep(Duration::from_secs(2 * 3_600)).await;
    assert_eq!(pool.status().entries.gates, 0);
}

#[tokio::test(start_paused = true)]
async fn a_quick_answer_proves_an_account_for_ten_minutes_and_is_its_presence_for_one() {
    let (mut costs, start) = (Costs::default(), Instant::now());
    let party = |key| Party { group: key, account: key, domain: 9 };
    costs.hear_end(party(1), SECOND, (true, false), start);
    costs.hear_end(party(2), 3 * SECOND, (true, false), start);
    for (seconds, is_present, is_proven) in [
        (0, true, true),
        (59, true, true),
        (60, false, true),
        (599, false, true),
        (600, false, false),
    ] {
        let now = start + seconds * SECOND;
        let until = costs.other_is_present_until(2, now);
        assert_eq!(until, is_present.then_some(start + 60 * SECOND), "{seconds}");
        assert_eq!(costs.other_is_present_until(1, now), None, "itself");
        assert_eq!([1, 2].map(|it| costs.is_proven(it, now)), [is_proven, false], "{seconds}");
    }
}

/// Ten checks, or a second of session time.
#[tokio::test(start_paused = true)]
async fn a_domains_turn_lasts_for_ten_checks_and_begins_anew_at_the_next_domain() {
    for (used_ms, turn) in [(50, 10), (300, 4)] {
        let now = Instant::now();
        let mut queue = Queue::new(10, now);
        let party = |domain| (Party { group: 1, account: 1, domain }, Class::Interactive);
        for n in 0..40 {
            let domain = 100 + n % 2;
            assert_eq!(queue.push(party(domain), domain, (1_000, None), now), None);
        }
        let mut domains = Vec::new();
        while let Some(domain) = queue.next(|_| 0.0, |_| true) {
            queue.charge(party(domain), Duration::from_millis(used_ms), now);
            domains.push(domain);
        }
        let turns: Vec<_> = domains.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
        assert_eq!(turns[..2], [turn, turn], "{turns:?}");
    }
}

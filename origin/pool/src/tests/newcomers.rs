//! Sites where nobody has had an answer yet, and accounts that hold every session there, in virtual
//! time.

use super::{attacks::*, *};

/// Cases in which no new account takes the session that the first cut frees.
#[tokio::test(start_paused = true)]
async fn others_wait_for_one_cut_also_where_nobody_was_answered_before() {
    for (sessions, accounts, domains) in [
        (2, 1, 1),
        (2, 2, 1),
        (2, 3, 1),
        (2, 5, 1),
        (3, 3, 1),
        (10, 5, 1),
        (2, 1, 4),
        (2, 3, 3),
        (2, 3, 12),
        (3, 5, 20),
        (10, 12, 48),
    ] {
        let pool = site_of(sessions, 500 * MS);
        for n in 0..accounts * 4 {
            let account = text(format!("attacker{}", n % accounts));
            let domain = format!("evil{}.org", n % domains);
            insist(&pool, paying(account, google(&domain)), NEVER);
        }
        sleep(500 * MS).await;
        let noticed =
            Noticed::every(250 * MS, &pool, 160, 50 * MS, |n| victim(n, google(""))).await;
        let attack = format!("{accounts} accounts, {sessions} sessions, {domains} domains");
        noticed.assert_good(OPENING + 50 * MS, &attack);
        assert!(noticed.longest() <= 7 * SECOND, "{attack}: {:?}", noticed.longest());
    }
}

/// If the server is slow for everybody, no account is quicker than the others: a session reserved for a quicker account
/// would only idle. Of the 85 answers for which there is time, two accounts have 82 and four have 78. When sessions
/// were given to checks that had no time left for such a server, four accounts had 0 to 46.
#[tokio::test(start_paused = true)]
async fn a_server_that_is_slow_for_everybody_is_not_kept_idle_by_a_reserve() {
    for (accounts, least) in [(2, 70), (4, 60)] {
        let pool = site_of(2, 500 * MS);
        let answered = Arc::new(AtomicUsize::new(0));
        for n in 0..accounts * 2 {
            let (pool, answered) = (pool.clone(), answered.clone());
            let account = text(format!("account{}", n % accounts));
            tokio::spawn(async move {
                loop {
                    let want = paying(account, google(&format!("domain{n}.org")));
                    match check(&pool, &want, 7 * SECOND).await.1 {
                        End::Answered => drop(answered.fetch_add(1, Ordering::Relaxed)),
                        _ => sleep(100 * MS).await,
                    }
                }
            });
        }
        sleep(300 * SECOND).await;
        let answered = answered.load(Ordering::Relaxed);
        assert!(answered >= least, "{accounts} accounts: {answered} answered");
    }
}

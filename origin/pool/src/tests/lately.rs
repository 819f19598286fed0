//! A machine with hundreds of domains that bans after twenty unknown recipients in ten minutes.

use std::collections::BTreeMap;

use tokio::time::advance;

use super::{refused::refused_controls, *};
use crate::Cause;

const MINUTE: Duration = Duration::from_secs(60);
const WINDOW: Duration = Duration::from_secs(600);
const DAY: Duration = Duration::from_secs(24 * 3_600);
const RECIPIENTS_TO_BAN: usize = 20;

/// A pool without limits on recipients, so that only refused recipients count.
fn pool() -> Arc<Pool<u32>> {
    pool_of(LIMITS.sessions)
}

fn pool_of(sessions: usize) -> Arc<Pool<u32>> {
    let limits = Limits { sessions, refused_per_hour: 300, interval: Duration::ZERO, ..LIMITS };
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

/// True if the pool permits the check.
async fn asks(pool: &Arc<Pool<u32>>, want: &Wanted, refused: bool) -> bool {
    match want.ask(pool).await {
        Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) => {
            permit.note(Signal::Answered { refused });
            permit.keep(0);
            true
        }
        Err(refused) => {
            assert_eq!(refused.cause, Cause::Refusals);
            assert!(refused.after <= WINDOW, "{:?}", refused.after);
            false
        }
    }
}

/// Dead recipients that are checked until the account must wait.
async fn guesses(pool: &Arc<Pool<u32>>, want: &Wanted) -> usize {
    let mut count = 0;
    while asks(pool, want, true).await {
        count += 1;
        assert!(count < 1_000, "nothing stops it");
    }
    count
}

#[tokio::test(start_paused = true)]
async fn an_acceptance_takes_back_one_refusal_of_its_account_and_nobody_elses() {
    let pool = pool();
    let granted = async |account| match single(account).ask(&pool).await {
        Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) => permit,
        Err(refused) => panic!("{account}: {refused:?}"),
    };
    assert_eq!(guesses(&pool, &single("guesser")).await, 4);
    for _ in 0..3 {
        granted("customer").await.note(Signal::Unread);
        let again = granted("customer").await;
        again.note(ANSWERED);
        again.take_back_refusal();
        again.take_back_refusal();
    }
    assert!(!asks(&pool, &single("guesser"), true).await);
    assert_eq!(guesses(&pool, &single("customer")).await, 2, "half of what the guesser left");
}

/// The account gets its history at another server.
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
    assert_eq!((of_dictionary, of_owner, of_form), (4, 3, 2));
    assert!(of_dictionary + of_owner + of_form + LIMITS.sessions <= RECIPIENTS_TO_BAN);
    sleep(WINDOW).await;
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
            let lately = checks.iter().filter(|at| at.elapsed() < WINDOW).count();
            assert!(lately + LIMITS.sessions < RECIPIENTS_TO_BAN, "{lately}");
            if tenant.is_some() {
                assert!(lately <= 4, "free accounts are one tenant: {lately}");
            }
        }
        assert!(checks.len() > 30, "{}", checks.len());
    }
}

/// Two lists have the number to themselves, or accounts with a good past their single checks.
#[tokio::test(start_paused = true)]
async fn what_others_had_refused_keeps_no_list_of_existing_recipients_away() {
    for class in [Class::Batch, Class::Interactive] {
        let pool = pool();
        let mut refused = 0;
        for account in ["one", "two", "three"] {
            refused += guesses(&pool, &of(account, account, class)).await;
        }
        assert!((7..=9).contains(&refused), "{refused}");
        let goes_on = refused < 9;
        for _ in 0..20 {
            assert_eq!(asks(&pool, &batch("owner"), false).await, goes_on, "{class:?}");
        }
        assert_eq!(asks(&pool, &batch("owner"), true).await, goes_on, "its first dead one");
        assert!(!asks(&pool, &batch("owner"), true).await, "its second");
        let many = async |count| {
            let mut asked = 0;
            for n in 0..count {
                asked += usize::from(asks(&pool, &batch(&format!("more{n}")), true).await);
            }
            asked
        };
        let beyond = usize::from(refused == 7);
        assert_eq!(many(100).await, beyond, "however many lists there are");
    }
}

/// True if the pool permits the check of an existing recipient, with a control recipient where it allows one.
async fn exists(pool: &Arc<Pool<u32>>, want: &Wanted) -> bool {
    let Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) = want.ask(pool).await else {
        return false;
    };
    permit.note(ANSWERED);
    if permit.spares_refusal() {
        permit.count_recipient();
        permit.note(Signal::Answered { refused: true });
    }
    permit.keep(0);
    true
}

/// Others are there, and a newcomer has one dead address.
#[tokio::test(start_paused = true)]
async fn neither_a_list_nor_the_single_checks_of_two_accounts_close_a_machine_to_others() {
    let attacks: [(&str, &[Wanted]); 4] = [
        ("a list", &[batch("hog")]),
        ("two accounts", &[single("hog"), single("hog2")]),
        ("one account", &[single("hog")]),
        ("a free account", &[of("free", "guesser", Class::Interactive)]),
    ];
    for (attack, wants) in attacks {
        let pool = pool();
        for (account, refused) in
            [("hog", false), ("hog2", false), ("guesser", true), ("good", false)]
        {
            let times = if refused { 1 } else { 6 };
            for _ in 0..times {
                history(&pool, account, refused).await;
            }
        }
        exists(&pool, &single("good")).await;
        let mut by_attack = Vec::new();
        for want in wants {
            by_attack.push(guesses(&pool, want).await);
        }
        let good = exists(&pool, &single("good")).await;
        let new = exists(&pool, &single("new")).await;
        asks(&pool, &single("new"), true).await;
        let another = exists(&pool, &single("another")).await;
        let mut list = 0;
        for _ in 0..20 {
            list += usize::from(exists(&pool, &batch("list")).await);
        }
        let open = (good, new, another, list);
        println!("{attack}: {by_attack:?} {open:?}");
        assert_eq!(open, (true, true, true, 20), "{attack}");
    }
}

/// Control recipients are beside them. When one dead address shut an account out, 24 of these checks had no answer.
#[tokio::test(start_paused = true)]
async fn of_eight_accounts_with_a_dead_address_each_none_is_shut_out() {
    let pool = pool();
    for n in 0..100 {
        let account = single(&format!("account{}", n % 8));
        let want = Wanted { domain: format!("d{}.example", n % 20), ..account };
        let is_asked =
            if n % 15 == 14 { asks(&pool, &want, true).await } else { exists(&pool, &want).await };
        assert!(is_asked, "{n}");
        sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_free_account_leaves_a_machine_to_the_others() {
    let pool = pool();
    let free = |account| of("free", account, Class::Interactive);
    assert_eq!(guesses(&pool, &free("hog")).await, 2);
    for account in ["one", "two"] {
        assert!(asks(&pool, &free(account), false).await);
        assert!(asks(&pool, &free(account), true).await, "{account}: its first dead one");
    }
}

#[tokio::test(start_paused = true)]
async fn lists_have_eight_in_any_ten_minutes_and_learn_the_time_of_the_next_one() {
    let (pool, mut sent) = (pool(), Vec::new());
    let want = batch("owner");
    while sent.len() < 100 {
        match want.ask(&pool).await {
            Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) => {
                permit.note(Signal::Answered { refused: true });
                permit.keep(0);
                sent.push(Instant::now());
                let first = sent.len().checked_sub(9).and_then(|index| sent.get(index));
                assert!(first.is_none_or(|at| at.elapsed() >= WINDOW));
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
async fn the_control_recipient_is_no_guess_and_leaves_a_form_its_extra() {
    let pool = pool();
    assert_eq!(refused_controls(&pool, (0..30).map(|_| single("form"))).await, 4);
    assert_eq!(pool.status().entries.pasts, 1);
    assert_eq!(guesses(&pool, &single("form")).await, 4, "half of the number");
}

#[tokio::test(start_paused = true)]
async fn an_accepted_recipient_that_is_asked_again_behind_the_invention_is_no_invention() {
    let (pool, mut invented) = (pool(), 0);
    for _ in 0..9 {
        let permit = batch("list").permit(&pool).await;
        if permit.spares_refusal() {
            // A catch-all: nothing is refused.
            permit.count_recipient();
            permit.count_recipient();
            permit.note(Signal::AcceptedLikeAny);
            invented += 1;
        }
        permit.keep(0);
    }
    assert_eq!(invented, 4);
}

/// Eight new accounts check the existing addresses of twenty domains of a machine, and one in fifteen is dead.
#[tokio::test(start_paused = true)]
async fn our_own_control_recipients_close_no_machine_to_newcomers() {
    let pool = pool();
    let accounts = (0..20).map(|n| single(&format!("account{}", n % 8)));
    refused_controls(&pool, accounts).await;
    for n in 0..5 {
        assert!(asks(&pool, &single(&format!("account{n}")), true).await, "the dead address {n}");
    }
    assert!(!asks(&pool, &single("account5"), true).await, "ten would bring the ban");
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
    assert!((9..=RECIPIENTS_TO_BAN).contains(&recipient_count), "{recipient_count}");
}

/// The number of refused recipients if dead recipients of the accounts' lists are asked about in eight sessions.
async fn lists_at_once(accounts: &[&str]) -> usize {
    let (pool, mut all) = (pool_of(8), JoinSet::new());
    for n in 0..60 {
        let (pool, want) = (pool.clone(), batch(accounts[n % accounts.len()]));
        all.spawn(async move {
            let Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) = want.ask(&pool).await
            else {
                return 0;
            };
            sleep(Duration::from_millis(200 + n as u64 % 7)).await;
            permit.note(Signal::Answered { refused: true });
            sleep(Duration::from_millis(100)).await;
            permit.keep(0);
            1
        });
    }
    all.join_all().await.into_iter().sum()
}

#[tokio::test(start_paused = true)]
async fn what_lists_have_under_way_counts_like_what_was_refused() {
    assert_eq!(lists_at_once(&["hog"]).await, 6);
    assert_eq!(lists_at_once(&["hog", "hog2", "hog3", "hog4"]).await, 8);
}

/// Checks dead recipients for many accounts without a history, at a machine that bans after `ban_at` refusals. Returns
/// the number of refusals, and whether the machine banned us.
async fn lists_at(pool: &Arc<Pool<u32>>, address: &str, ban_at: usize) -> (usize, bool) {
    let mut count = 0;
    loop {
        let Wanted { host, addresses, .. } = at(&format!("mx.{address}.example"), address);
        let want = Wanted { host, addresses, ..batch(&format!("owner{count}")) };
        if count == ban_at {
            want.received(pool, banned(true)).await;
            return (count, true);
        }
        if !asks(pool, &want, true).await {
            return (count, false);
        }
        count += 1;
    }
}

/// The machine bans at the seventh refused recipient.
async fn lists(pool: &Arc<Pool<u32>>) -> (usize, bool) {
    lists_at(pool, "198.51.100.7", 7).await
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_banned_us_is_asked_about_half_as_many_for_a_week() {
    let pool = pool();
    assert_eq!(lists(&pool).await, (7, true));
    for days in [1, 5] {
        advance(days * DAY).await;
        assert_eq!(lists(&pool).await, (3, false));
    }
    assert_eq!(lists_at(&pool, "198.51.100.8", 20).await, (9, false), "a neighbour");
    assert_eq!(pool.status().entries.bans, 1);
    advance(DAY).await;
    assert_eq!(lists(&pool).await, (7, true), "a week later");
}

#[tokio::test(start_paused = true)]
async fn a_ban_lowers_the_number_of_lists_and_guessing_accounts_and_not_of_a_form() {
    let pool = pool();
    history(&pool, "dictionary", true).await;
    history(&pool, "form", false).await;
    assert_eq!(lists(&pool).await, (7, true));
    sleep(6 * WINDOW).await;
    let of_dictionary = guesses(&pool, &single("dictionary")).await;
    let (of_lists, _) = lists(&pool).await;
    let of_form = guesses(&pool, &single("form")).await;
    assert_eq!((of_dictionary, of_lists, of_form), (1, 2, 3));
    assert!(of_dictionary + of_lists + of_form + LIMITS.sessions <= 10, "no ban");
}

/// Each new account is a group of its own, and the checks of two such accounts are in flight.
#[tokio::test(start_paused = true)]
async fn after_a_ban_newcomers_leave_room_to_a_form() {
    let pool = pool();
    history(&pool, "form", false).await;
    assert_eq!(lists(&pool).await, (7, true));
    sleep(6 * WINDOW).await;
    for n in 0..100 {
        let wants = [0, 1].map(|half| single(&format!("newcomer{n}-{half}")));
        let [first, second] = [wants[0].ask(&pool).await, wants[1].ask(&pool).await];
        for acquired in [first, second] {
            if let Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) = acquired {
                permit.note(Signal::Answered { refused: true });
                permit.keep(0);
            }
        }
        assert!(asks(&pool, &single("form"), false).await, "{n}");
        sleep(Duration::from_secs(5)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_us_that_no_refused_recipients_precede_changes_no_number() {
    let pool = pool();
    assert_eq!(lists_at(&pool, "198.51.100.7", 3).await, (3, true));
    assert_eq!(pool.status().entries.bans, 0);
    sleep(WINDOW).await;
    assert_eq!(lists_at(&pool, "198.51.100.7", 20).await, (9, false));
    // Despite enough refusals, a domain's own rule at RCPT isn't a ban, and neither is a connection limit while another
    // session is open.
    sleep(WINDOW).await;
    for n in 0..6 {
        assert!(asks(&pool, &batch(&format!("other{n}")), true).await);
    }
    batch("ruled").received(&pool, banned(false)).await;
    let first = batch("first").permit(&pool).await;
    batch("second").received(&pool, banned(true)).await;
    assert_eq!(pool.status().entries.bans, 0);
    drop(first);
    batch("third").received(&pool, banned(true)).await;
    assert_eq!(pool.status().entries.bans, 1);
}

#[tokio::test(start_paused = true)]
async fn words_about_the_servers_own_load_are_no_ban() {
    let pool = pool();
    let busy = Signal::Refused(Refusal {
        before_rcpt: true,
        closing: true,
        about_our_address: false,
        about_our_rate: false,
        is_trouble: true,
        hint: None,
        words: "",
    });
    for n in 0..4 {
        assert!(asks(&pool, &batch(&format!("owner{n}")), true).await);
    }
    single("met").received(&pool, busy).await;
    assert_eq!(pool.status().entries.bans, 0);
    sleep(6 * WINDOW).await;
    assert_eq!(lists_at(&pool, "198.51.100.7", 20).await, (9, false));
}

/// Replies that the rules can't read, and refusals of us at RCPT, count like refused recipients; those to a control
/// recipient are nobody's.
#[tokio::test(start_paused = true)]
async fn a_refused_recipient_counts_whatever_was_said_and_makes_no_history() {
    for signal in [Signal::Unread, banned(false), CLOSED, Signal::Answered { refused: true }] {
        let pool = pool();
        let of = |n: usize| Wanted { domain: format!("d{n}.example"), ..single("guesser") };
        let mut count = 0;
        while let Ok(Acquired::New(permit) | Acquired::Idle(_, permit)) = of(count).ask(&pool).await
        {
            permit.note(signal);
            permit.keep(0);
            count += 1;
            assert!(count < 100, "nothing stops it: {signal:?}");
        }
        assert_eq!(count, 4, "{signal:?}");
        let histories = usize::from(matches!(signal, Signal::Answered { .. }));
        assert_eq!(pool.status().entries.pasts, histories, "{signal:?}");
        let permit = single("other").permit(&pool).await;
        permit.note(ANSWERED);
        assert!(permit.spares_refusal());
        permit.count_recipient();
        permit.note(signal);
        permit.keep(0);
        // Five are refused by now, too many for an invention of a list.
        let permit = batch("third").permit(&pool).await;
        assert!(!permit.spares_refusal(), "{signal:?}");
    }
}

/// A busy server sounds like a server that bans. Without the minimum, one account's few dead recipients would hold up
/// the lists of all others for a week.
#[tokio::test(start_paused = true)]
async fn few_refused_recipients_before_a_busy_banner_leave_three_to_lists() {
    let pool = pool();
    assert_eq!(lists_at(&pool, "198.51.100.7", 4).await, (4, true));
    for _ in 0..3 {
        sleep(6 * WINDOW).await;
        assert_eq!(lists_at(&pool, "198.51.100.7", 2).await, (2, true));
    }
    sleep(6 * WINDOW).await;
    assert_eq!(lists_at(&pool, "198.51.100.7", 20).await, (3, false));
}

#[tokio::test(start_paused = true)]
async fn after_a_ban_one_list_alone_has_all_three() {
    let pool = pool();
    history(&pool, "owner", false).await;
    assert_eq!(lists_at(&pool, "198.51.100.7", 4).await, (4, true));
    sleep(6 * WINDOW).await;
    let mut count = 0;
    while asks(&pool, &batch("owner"), true).await {
        count += 1;
    }
    assert_eq!(count, 3);
}

/// DNS servers rotate the addresses of a host. Each session must count at its own machine, whatever the order.
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
    assert_eq!(refused.into_values().collect::<Vec<_>>(), [9, 9]);
}

#[tokio::test(start_paused = true)]
async fn a_number_of_one_lets_one_pass_in_ten_minutes_and_operators_have_no_such_number() {
    let pace = Pace { machine_refused_lately: 1, ..Pace::default() };
    let settings = Settings { pace, ..settings(1, Vec::new()) };
    let pool = Pool::new(settings, drop, || NOW, HashKey::default());
    assert_eq!(guesses(&pool, &batch("owner")).await, 1);
    sleep(WINDOW - MINUTE).await;
    assert!(!asks(&pool, &batch("owner"), true).await);
    sleep(MINUTE).await;
    assert!(asks(&pool, &batch("owner"), true).await);
    for _ in 0..30 {
        assert!(asks(&pool, &google("gmail.com"), true).await);
    }
}

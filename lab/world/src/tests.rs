//! Short runs: a seed repeats its trace, and every run satisfies the invariants. `PROOF=1` runs whole days of many
//! seeds.

use std::{collections::BTreeSet, env, time::Duration};

use crate::{
    clock::{DAY, HOUR},
    corpus, desk,
    experiments::{manners, safety},
    figures::{Row, Spread, jain, spreads},
    inhabitants::shared_hosting::SharedHosting,
    plan::{LIST_INTERVAL, Leniency, Plan, Population},
    run::{Outcome, run, run_surveyed},
    truth,
};

fn seed() -> u64 {
    let seed = env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    seed.unwrap_or(1)
}

/// 75 minutes with a few customers of each kind, except the dictionary.
fn short(seed: u64) -> Plan {
    let customers = Population {
        forms: 3,
        checks_per_form: 2_000,
        lists: 2,
        addresses_per_list: 300,
        lists_at: Duration::from_secs(300),
        lists_apart: LIST_INTERVAL,
        only_list: None,
        dead_percent: (10, 20),
        has_dictionary: false,
        crowd: 1,
        newcomers: 1,
        slow: 1,
    };
    Plan { lasts: HOUR.mul_f64(1.25), customers, ..Plan::day(seed) }
}

/// A failure names the command that repeats it.
fn lived(plan: &Plan) -> Outcome {
    let outcome = run(plan).unwrap();
    for (holds, text) in safety::invariants(plan, &outcome) {
        assert!(holds, "make lab ONLY=world SEED={}: {text}", plan.seed);
    }
    outcome
}

#[test]
fn a_seed_repeats_a_run_to_the_last_octet_and_all_that_must_hold_holds() {
    let plan = short(seed());
    let (first, second) = (lived(&plan), lived(&plan));
    assert_eq!(first.hash, second.hash);
    assert_eq!(first.events, second.events);
    // Enough happened in the run.
    assert!(first.credit.compared > 400, "{:?}", first.credit);
    assert!(first.lists.iter().all(|list| list.answered == list.total), "{:?}", first.lists);
    let minutes = |seed| run(&Plan { seed, lasts: HOUR / 6, ..plan.clone() }).unwrap().hash;
    assert_ne!(minutes(plan.seed), minutes(plan.seed + 1), "the seed decides nothing");
}

#[test]
fn a_survey_of_lower_limits_finds_each_of_them_broken() {
    let plan = Plan { lasts: HOUR / 4, ..short(seed()) };
    let no_sessions = run_surveyed(&plan, Some(Default::default()), None).unwrap();
    assert!(no_sessions.broken.0 > 10, "{:?}", no_sessions.broken);
    let no_memory = run_surveyed(&plan, None, Some(Default::default())).unwrap();
    assert!(no_memory.broken.0 > 10, "{:?}", no_memory.broken);
    assert!(no_memory.broken.1.iter().all(|text| text.contains("in memory")));
}

/// Before the pool remembered a ban, this host banned each source address for an hour with each day's lists. A
/// restart would forget the ban.
#[test]
fn a_shared_host_that_bans_after_five_unknown_recipients_bans_each_source_address_once() {
    let lists_at = Duration::from_secs(300);
    let customers = Population {
        forms: 0,
        lists_at,
        addresses_per_list: 900,
        dead_percent: (30, 30),
        ..manners::FEW
    };
    let leniency = Leniency { shared_hosting: 0.25, ..Leniency::USUAL };
    let lasts = DAY + 3 * HOUR;
    let mut plan = Plan { lasts, customers, leniency, ..Plan::day(1) };
    plan.events.restarts_nightly = false;
    let outcome = lived(&plan);
    let Outcome { mut bans, lists, .. } = outcome;
    bans.retain(|ban| ban.kind == SharedHosting::KIND);
    assert_eq!(lists.iter().filter(|list| list.answered == list.total).count(), 4, "{lists:?}");
    let sources: BTreeSet<_> = bans.iter().map(|ban| ban.source).collect();
    assert_eq!((bans.len(), sources.len()), (3, 3), "{bans:?}");
    assert!(bans.iter().all(|ban| ban.until < DAY), "{bans:?}");
}

#[test]
fn many_seeds_live_through_whole_days() {
    let plans = match env::var("PROOF") {
        Ok(_) => (0..20)
            .map(|n| Plan { customers: Population::EVERYBODY, ..Plan::day(seed() + n) })
            .collect(),
        Err(_) => vec![Plan { lasts: HOUR / 2, ..short(seed() + 1) }],
    };
    for plan in plans {
        lived(&plan);
    }
}

#[test]
fn figures_of_several_seeds_have_a_mean_and_limits() {
    let of_seed = |bans: &[(&str, f64)]| -> Vec<Row> {
        bans.iter().map(|(name, hours)| Row::new(*name, *hours, "hours")).collect()
    };
    let seeds = [of_seed(&[("a", 1.0)]), of_seed(&[("a", 4.0), ("b", 2.0)])];
    let of =
        |spread: &Spread| (spread.name.clone(), spread.mean, spread.min, spread.max, spread.seeds);
    let found: Vec<_> = spreads(&seeds).iter().map(of).collect();
    assert_eq!(found, [("a".to_owned(), 2.5, 1.0, 4.0, 2), ("b".to_owned(), 2.0, 2.0, 2.0, 1)]);
}

#[test]
fn a_tag_names_its_recipient_and_no_other() {
    let text = format!("550 5.1.1 No such user {}", truth::tag("dead.1@example.net"));
    assert_eq!(truth::tag_in(&text), Some(&*truth::tag("DEAD.1@example.net")));
    assert_ne!(truth::tag("dead.1@example.net"), truth::tag("dead.2@example.net"));
    assert_eq!(truth::tag_in("550 [192.0.2.1] is blocked"), None);
}

#[test]
fn servers_speak_in_replies_of_the_corpus_and_in_many_languages() {
    let reply = corpus::reply("Postgrey", "ann@example.net");
    assert!(reply.starts_with("450 4.2.0 <ann@example.net>"), "{reply}");
    assert!(corpus::reply("Gmail: unknown", "").contains("\r\n550"));
    assert!(corpus::languages() >= 5, "{}", corpus::languages());
}

#[test]
fn without_limits_no_operator_has_any_left() {
    let plan = Plan { limited: false, ..Plan::day(1) };
    let operators = desk::operators(&plan).unwrap();
    assert!(operators.rows().iter().all(|row| row.sessions == Some(1_000)));
    assert_eq!((jain(&[1.0, 1.0]), jain(&[1.0, 0.0])), (1.0, 0.5));
}

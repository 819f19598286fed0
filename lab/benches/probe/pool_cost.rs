//! The pool's own work for a check in an open session, with more and more entries: granting,
//! recording and returning a session. No server is contacted.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, anyhow, bail};
use rcpt_pool::{
    Acquired, Asker, HashKey, Limits, Pace, Pool, Question, Settings, Signal, Source, SourceClass,
    Target, Wait, operators::Operators,
};
use rcpt_shared::Address;
use tokio::{runtime::Runtime, time::Instant};

use crate::{cpu::Spent, figure::Figure};

/// Fewer than come at once at a million a minute: more would wait for their turn.
const CHECKS: usize = 100_000;
const LIMITS: Limits = Limits {
    sessions: 1_000,
    interval: Duration::ZERO,
    recipients_per_minute: 1_000_000,
    refused_per_hour: 1_000_000,
    refused_lately: usize::MAX,
};
const OPERATORS: &str = r#"
    [[operator]]
    name = "google"
    sessions = 1000
    session_interval_ms = 0
    recipients_per_minute = 1000000
    refused_per_hour = 1000000
"#;

pub fn measure() -> Result<Vec<Figure>> {
    Runtime::new()?.block_on(async {
        Ok(vec![
            of_domains("pool_us_one_domain", 1, 1).await?,
            of_domains("pool_us_2000_domains_of_10", 2_000, 10).await?,
            of_domains("pool_us_20000_domains_of_100", 20_000, 100).await?,
            after_refusals("pool_us_after_refusals_of_20000", 20_000).await?,
        ])
    })
}

/// The check has enough time for all measurements.
fn question(group: &str, account: &str, domain: &str) -> Result<Question> {
    Ok(Question {
        address: Address::parse(&format!("user@{domain}"))?,
        asker: Asker { account: Some(account.into()), fairness_group: Some(group.into()) },
        wait: Wait::Interactive(Instant::now() + Duration::from_secs(3_600)),
    })
}

fn pool() -> Result<Arc<Pool<()>>> {
    let operators = Operators::with(OPERATORS).map_err(|mistakes| anyhow!("{mistakes:?}"))?;
    let settings = Settings {
        operators: Arc::new(operators),
        operator: LIMITS,
        machine: LIMITS,
        network_sessions: 1_000,
        max_idle: Duration::from_secs(30),
        max_waiting: 1_000,
        tenant_share: 0.5,
        sources: vec![Source {
            label: Arc::from("source"),
            since: None,
            class: SourceClass::Known,
            is_in_use: true,
        }],
        pace: Pace::default(),
    };
    Ok(Pool::new(settings, drop, || 0, HashKey::default()))
}

async fn check(pool: &Arc<Pool<()>>, question: &Question, refused: bool) -> Result<()> {
    let addresses = [([192, 0, 2, 1], 25).into()];
    let target = Target {
        host: "aspmx.l.google.com",
        addresses: &addresses,
        identity: 0,
        is_route: false,
        admitted: false,
        afresh: false,
    };
    match pool.session(question, &target).await {
        Ok(Acquired::New(permit) | Acquired::Idle((), permit)) => {
            permit.note(Signal::Answered { refused });
            permit.keep(());
            Ok(())
        }
        Err(refused) => bail!("{refused:?}"),
    }
}

async fn of_domains(name: &'static str, domains: usize, accounts: usize) -> Result<Figure> {
    let questions: Result<Vec<_>> = (0..domains)
        .map(|n| {
            let account = format!("account{}", n % accounts);
            question(&account, &account, &format!("d{n}.org"))
        })
        .collect();
    cost(name, &pool()?, &questions?).await
}

/// Measures a paying account's checks after `accounts` free accounts had a refusal at the operator
/// within the hour.
async fn after_refusals(name: &'static str, accounts: usize) -> Result<Figure> {
    let pool = pool()?;
    for n in 0..accounts {
        check(&pool, &question("free", &format!("account{n}"), "gmail.com")?, true).await?;
    }
    cost(name, &pool, &[question("paying", "paying", "gmail.com")?]).await
}

async fn cost(name: &'static str, pool: &Arc<Pool<()>>, questions: &[Question]) -> Result<Figure> {
    for question in questions.iter().take(2_000) {
        check(pool, question, false).await?;
    }
    let before = Spent::of("self")?;
    for question in questions.iter().cycle().take(CHECKS) {
        check(pool, question, false).await?;
    }
    let spent = before.until_now("self")?.per(CHECKS);
    Ok(Figure::new(name, spent.all_us(), "µs", CHECKS).at_most(3.0))
}

//! Sends due notices: right after the event, and otherwise every five minutes.

use std::sync::Arc;

use rcpt_shared::Deliverability;

use crate::{
    account::AccountId,
    app::App,
    cf::{clock, database::Database, deferred::Deferred, log},
    credentials::link_token::{self, LinkUse},
    error::Error,
    ledger::{
        notice_facts,
        notices::{self, DueNotices},
        plans,
    },
    mail::{self, AccountEvent, EndedScan, Mail, Notice},
};

/// Sends an account's notices after the response. The scheduled run retries failures.
pub fn soon(app: &Arc<App>, deferred: &Deferred, account: AccountId, event: AccountEvent) {
    let app = Arc::clone(app);
    deferred.after_response(async move {
        let delivery = match app.databases.of(account) {
            Ok(database) => tell(&app, database, account, &event).await,
            Err(error) => Err(error),
        };
        if let Err(error) = delivery {
            log::failure("notices", &error);
        }
    });
}

pub const EMAILS_PER_RUN_MAX: u64 = 50;

/// Earlier keys work for this time after the emails to their owners were written (devtools/operator/replacement.mjs).
const KEYS_LAST_S: i64 = 30 * 24 * 60 * 60;

/// First records the event's browser and country, so that a later email can also give them.
async fn tell(
    app: &App,
    database: &Database,
    account: AccountId,
    event: &AccountEvent,
) -> Result<u64, Error> {
    notices::note(database, account, event).await?;
    send(app, database, Some(account), EMAILS_PER_RUN_MAX).await
}

/// Sends at most a given number of due emails, of one account or a whole database. An email that
/// can't be sent stays due. Returns the number of attempts.
pub async fn send(
    app: &App,
    database: &Database,
    account: Option<AccountId>,
    most: u64,
) -> Result<u64, Error> {
    let due = notices::claim(database, account, most, clock::now()).await?;
    let attempts = due.len() as u64;
    for notice in due {
        let delivery = match mail(app, database, &notice).await? {
            Some(mail) => app.mailer.send(mail.to(&notice.email, app.config.site.contact())).await,
            None => Ok(()),
        };
        match delivery {
            Ok(()) => notices::record_delivery(database, &notice, clock::now()).await?,
            Err(error) => log::failure("notice", &error),
        }
    }
    Ok(attempts)
}

async fn mail(app: &App, database: &Database, notice: &DueNotices) -> Result<Option<Mail>, Error> {
    let portal_url = &app.config.portal_url;
    if notice.kind == Notice::PlanChanged {
        // Uses the plan at the time of writing, because one email may cover several changes.
        let plan = plans::of_account(database, notice.account_id).await?;
        return Ok(plan.map(|now| mail::plan_changed(portal_url, &now.plan, now.until)));
    }
    if notice.kind == Notice::RecoveryPending {
        let due_at = notice_facts::due_at_after_mail(database, notice.account_id).await?;
        return Ok(due_at.map(|at| mail::recovery_pending(portal_url, at)));
    }
    if matches!(notice.kind, Notice::KeysEnd | Notice::KeysEnded) {
        let event = notice.last_event().filter(|_| notice.kind == Notice::KeysEnd);
        return Ok(Some(mail::keys_end(portal_url, event.map(|event| event.at + KEYS_LAST_S))));
    }
    if notice.kind != Notice::ScanEnded {
        let stop = stop_token(app, database, notice).await?;
        let event = notice.last_event();
        return Ok(Some(notice.kind.mail(portal_url, event.as_ref(), stop.as_deref())));
    }
    let ended_scans = notice.events.saturating_sub(notice.announced_events);
    let scans = notice_facts::last_ended(database, notice.account_id, ended_scans).await?;
    let scans: Vec<EndedScan> = scans
        .into_iter()
        .map(|scan| EndedScan {
            id: scan.id,
            state: scan.state,
            total: scan.total,
            by_verdict: Deliverability::ALL.map(|word| scan.by_verdict.of(word)),
        })
        .collect();
    Ok((!scans.is_empty()).then(|| mail::scans_ended(portal_url, &scans, ended_scans)))
}

async fn stop_token(
    app: &App,
    database: &Database,
    notice: &DueNotices,
) -> Result<Option<String>, Error> {
    if !notice.kind.is_of_change() {
        return Ok(None);
    }
    let account = notice.account_id;
    let change = notice_facts::stoppable(database, account, notice.kind).await?;
    let secrets = &app.config.address_secrets;
    Ok(change.map(|change| link_token::of(secrets, LinkUse::Stop, &format!("{account}.{change}"))))
}

//! Sends due notices: right after the event, and otherwise every five minutes.

use std::sync::Arc;

use rcpt_shared::Deliverability;

use crate::{
    account::AccountId,
    app::App,
    cf::{clock, database::Database, deferred::Deferred, log},
    error::Error,
    mail::{self, AccountEvent, EndedScan, Mail, Notice, SuspendedKey},
    store::{self, notices::DueNotices},
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

/// Maximum number of emails per run, over all databases.
pub const EMAILS_PER_RUN_MAX: u64 = 50;

/// First records the event's browser and country, so that a later email can also give them.
async fn tell(
    app: &App,
    database: &Database,
    account: AccountId,
    event: &AccountEvent,
) -> Result<u64, Error> {
    store::notices::note(database, account, event).await?;
    send(app, database, Some(account), EMAILS_PER_RUN_MAX).await
}

/// Sends at most a given number of due emails, of one account or a whole database. An email that
/// can't be sent stays due. Returns the number of attempts.
///
/// # Errors
/// [`Error::unavailable`] when the database fails.
pub async fn send(
    app: &App,
    database: &Database,
    account: Option<AccountId>,
    most: u64,
) -> Result<u64, Error> {
    let due = store::notices::claim(database, account, most, clock::now()).await?;
    let attempts = due.len() as u64;
    for notice in due {
        let delivery = match mail(app, database, &notice).await? {
            Some(mail) => app.mailer.send(mail.to(&notice.email, app.config.site.contact())).await,
            // Nothing is left to announce.
            None => Ok(()),
        };
        match delivery {
            Ok(()) => {
                store::notices::record_delivery(database, &notice, clock::now()).await?;
                if notice.kind == Notice::RecoveryPending {
                    store::recoveries::record_mail(database, notice.account_id).await?;
                }
            }
            Err(error) => log::failure("notice", &error),
        }
    }
    Ok(attempts)
}

async fn mail(app: &App, database: &Database, notice: &DueNotices) -> Result<Option<Mail>, Error> {
    let portal_url = &app.config.portal_url;
    if notice.kind == Notice::PlanChanged {
        // Uses the plan at the time of writing, because one email may cover several changes.
        let plan = store::plans::of_account(database, notice.account_id).await?;
        return Ok(plan.map(|now| mail::plan_changed(portal_url, &now.plan, now.until)));
    }
    if notice.kind == Notice::KeysSuspended {
        let keys = store::suspensions::list(database, notice.account_id).await?;
        let keys: Vec<SuspendedKey> = keys
            .into_iter()
            .map(|key| SuspendedKey {
                is_passkey: key.is_passkey != 0,
                created_at: i64::try_from(key.created_at).unwrap_or_default(),
                replaced_at: i64::try_from(key.replaced_at).unwrap_or_default(),
            })
            .collect();
        let last = notice.last_event();
        let mail = || mail::keys_suspended(portal_url, &keys, last.as_ref());
        // `None` if the keys were confirmed or ended before the email could be sent.
        return Ok((!keys.is_empty()).then(mail));
    }
    if notice.kind == Notice::RecoveryPending {
        let due_at = store::recoveries::due_at_after_mail(database, notice.account_id).await?;
        return Ok(due_at.map(|at| mail::recovery_pending(portal_url, at)));
    }
    if notice.kind != Notice::ScanEnded {
        return Ok(Some(notice.kind.mail(portal_url, notice.last_event().as_ref())));
    }
    let ended_scans = notice.events.saturating_sub(notice.announced_events);
    let scans = store::scans::last_ended(database, notice.account_id, ended_scans).await?;
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

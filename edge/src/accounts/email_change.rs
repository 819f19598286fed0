//! Changes of an account's address: requested in a session and confirmed from the new mailbox. They take effect three
//! days after the old mailbox was told; until then a reset, a new password or a stop drops them.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    email_change_sql::{self, NewChange},
    registration::{account_address, check_domain, refuse_disposable, stored_address},
};
use crate::{
    account::AccountAddress,
    app::App,
    cf::{clock, log},
    credentials::{
        keyed_names::MailboxHash,
        mailed_token::{CONFIRMATION_TTL_S, MailedToken, PresentedToken},
        password::Password,
        random,
    },
    error::{Error, PlainError},
    extract::{
        client_network::ClientNetwork,
        json_body::JsonBody,
        member::{Member, check_password},
        request::RequestContext,
    },
    ledger::directory,
    limits::{
        rules::{Gate, Key, MailPurpose, Rule},
        throttle::{Attempt, AttemptOutcome},
    },
    mail, meter,
};

/// Body of `POST /auth/change-email`.
#[derive(Deserialize, ToSchema)]
pub struct EmailChangeRequest {
    /// The new address.
    email: String,
    #[schema(value_type = String)]
    password: Password,
    /// Current code or recovery code, when two-factor authentication is on.
    #[schema(value_type = Option<String>)]
    totp_code: Option<SecretString>,
}

/// Response of `POST /auth/change-email`.
#[derive(Debug, Serialize, ToSchema)]
pub struct EmailChangeMailed {
    message: &'static str,
}

/// A burst of three, then one every eight hours.
const RULE: Rule = Rule { burst: 3, interval: 8 * 60 * 60 };

/// Change the email address
///
/// Emails a link to the new address, which works for 24 hours, and tells the old address. Three days later the change
/// takes effect, if the link was used. The response is the same if the new address has an account, which then gets no
/// email.
#[utoipa::path(
    post, path = "/v1/auth/change-email", tag = "Account", operation_id = "changeEmail",
    request_body = EmailChangeRequest,
    responses(
        (status = 202, description = "A link is on its way, unless the address has an account", body = EmailChangeMailed),
        (status = 400, description = "Not an email address, the account's own mailbox, or a domain that doesn't exist, accepts no email or is on the list of disposable domains", body = PlainError),
        (status = 403, description = "The password is wrong, or the two-factor code is missing or wrong", body = PlainError),
        (status = 409, description = "Another change of the address is being carried out", body = PlainError),
    ),
    security(("Session" = [])),
)]
// Only the email, sent after the response, depends on whether the new address has an account.
pub async fn change(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    client: ClientNetwork,
    JsonBody(body): JsonBody<EmailChangeRequest>,
) -> Result<(StatusCode, Json<EmailChangeMailed>), Error> {
    let address = account_address(&body.email)?;
    refuse_disposable(&app, &address).await?;
    if address.mailbox() == stored_address(&member.account.email)?.mailbox() {
        return Err(Error::invalid_email(
            "This is the account's own mailbox. Nothing would change.",
        ));
    }
    check_domain(&app, &address).await?;
    member.check_password(&app, &context, &client, &body.password).await?;
    let factor = member.second_factor();
    let right = factor.demand(&app, &context, body.totp_code.as_ref()).await?;
    let message = "Open the link in the email at the new address within 24 hours. There is none if that address has an \
                   account already.";
    let reply = (StatusCode::ACCEPTED, Json(EmailChangeMailed { message }));
    if !count(&app, &client, &member, &address).await? {
        // No new link is created, so that the last one stays valid.
        return Ok(reply);
    }
    let account = member.account.id;
    let token = MailedToken::new(account.database(), random::bytes()?);
    let (id, now) = (random::identifier()?, clock::now());
    let change = NewChange {
        id: &id,
        email: address.as_given(),
        token: &token.hash(),
        expires_at: now.saturating_add(CONFIRMATION_TTL_S),
    };
    let database = app.databases.of(account)?;
    if !email_change_sql::ask(database, member.session, &right.code, &change).await? {
        if email_change_sql::is_under_way(database, account).await? {
            return Err(Error::change_under_way());
        }
        return Err(member.explain_failure(&app, &context, &right).await?);
    }
    factor.complete(&app, &context, right).await;
    context.notify(&app, account);
    mail_link(&app, &context, &member, address, token, id);
    Ok(reply)
}

/// `false` if the new address has had its emails for this hour; the response is the same.
async fn count(
    app: &App,
    client: &ClientNetwork,
    member: &Member,
    address: &AccountAddress,
) -> Result<bool, Error> {
    let (throttle, purpose) = (&app.config.throttle, MailPurpose::Registration);
    let mut gates = vec![Gate::new(Key::email_change(member.account.id), RULE)];
    gates.append(&mut client.mail_gates(app, purpose, throttle.all_registration_mails, false));
    let last = gates.len();
    let hash = MailboxHash::of(&app.config.address_secrets, address);
    gates.push(Gate::new(Key::mail(purpose, hash.as_str()), throttle.registration_mail));
    let directory = app.databases.directory();
    match Attempt::try_count(directory, gates, clock::now()).await? {
        AttemptOutcome::Admitted(_) => Ok(true),
        AttemptOutcome::Refused { index, .. } if index == last => Ok(false),
        AttemptOutcome::Refused { seconds, before, .. } => {
            before.give_back(directory).await;
            Err(Error::throttled(seconds))
        }
    }
}

/// An address that has an account gets no email. If sending fails, the change is removed.
fn mail_link(
    app: &Arc<App>,
    context: &RequestContext,
    member: &Member,
    address: AccountAddress,
    token: MailedToken,
    id: String,
) {
    let (app, account) = (Arc::clone(app), member.account.id);
    context.deferred.after_response(async move {
        let mailing = async {
            if directory::find_mailbox(app.databases.directory(), &address).await?.is_some() {
                return Ok(());
            }
            let (to, portal_url) = (address.as_given(), &app.config.portal_url);
            let mail = mail::confirm_change(to, portal_url, &token);
            let delivery = app.mailer.send(mail.to(to, app.config.site.contact())).await;
            if delivery.is_err() {
                email_change_sql::forget(app.databases.of(account)?, &id).await?;
            }
            delivery
        };
        if let Err(error) = mailing.await {
            log::failure("the link of a change of address", &error);
        }
    });
}

/// Body of `POST /auth/confirm-email`.
#[derive(Deserialize, ToSchema)]
pub struct EmailChangeConfirmation {
    /// The token from the emailed link.
    #[schema(value_type = String)]
    token: SecretString,
    /// The account's password.
    #[schema(value_type = String)]
    password: Password,
}

/// Response of `POST /auth/confirm-email`.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChangedEmail {
    /// The account's address after the change.
    email: String,
    /// When the change takes effect, at the earliest.
    changes_at: DateTime<Utc>,
}

/// Confirm the new email address
///
/// The account gets the new address three days after the old one was told of the change. Until then a reset, a new
/// password or *stop changes* drops it. Sessions and keys stay valid.
#[utoipa::path(
    post, path = "/v1/auth/confirm-email", tag = "Account", operation_id = "confirmEmail",
    request_body = EmailChangeConfirmation,
    responses(
        (status = 200, description = "The address will be changed", body = ChangedEmail),
        (status = 400, description = "The link is unknown, replaced, dropped or expired", body = PlainError),
        (status = 403, description = "The password is wrong; the link still works", body = PlainError),
    ),
)]
// With the link alone, the owner of a mistyped mailbox could take over the account.
pub async fn confirm(
    State(app): State<Arc<App>>,
    context: RequestContext,
    client: ClientNetwork,
    JsonBody(body): JsonBody<EmailChangeConfirmation>,
) -> Result<Json<ChangedEmail>, Error> {
    let token = PresentedToken::parse(body.token.expose_secret());
    let token = token.ok_or_else(Error::invalid_change_token)?;
    let database =
        app.databases.by_number(token.database).ok_or_else(Error::invalid_change_token)?;
    let owner = email_change_sql::owner(database, &token.hash, clock::now()).await?;
    let owner = owner.ok_or_else(Error::invalid_change_token)?;
    meter::note(|party| party.account = Some(owner.id.to_string()));
    let credential = (owner.id, owner.password_hash.as_str());
    check_password(&app, &context, &client, credential, &body.password).await?;
    let due_at =
        email_change_sql::agree(database, &token.hash, &owner.password_hash, clock::now()).await?;
    let due_at = due_at.ok_or_else(Error::invalid_change_token)?;
    let changes_at = DateTime::from_timestamp(due_at, 0);
    let changes_at = changes_at.ok_or_else(|| Error::internal("a due time is out of range"))?;
    Ok(Json(ChangedEmail { email: owner.new_email, changes_at }))
}

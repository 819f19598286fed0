//! Registration and confirmation of an account.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use futures_util::future::join;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    opt_outs_sql,
    registration_sql::{self, Registration, Standing},
    sessions::{SessionCredentials, new_session},
};
use crate::{
    account::{AccountAddress, disposable_domains::DisposableDomains},
    app::App,
    cf::{clock, log},
    credentials::{
        common_passwords::CommonPasswords,
        keyed_names::MailboxHash,
        link_token::{self, LinkUse},
        mailed_token::{CONFIRMATION_TTL_S, MailedToken, PresentedToken},
        password::{self, Password},
        random,
    },
    error::{Error, PlainError},
    extract::{
        client_network::ClientNetwork, continent::Continent, device::Device, json_body::JsonBody,
        request::RequestContext,
    },
    limits::{
        rules::{Gate, Key, MailPurpose},
        throttle::{Attempt, AttemptOutcome},
    },
    mail, meter,
    outbound::dns::MailDomain,
};

/// Body of `POST /auth/register`.
#[derive(Deserialize, ToSchema)]
pub struct Credentials {
    email: String,
    #[schema(value_type = String, min_length = 8, max_length = 128)]
    password: Password,
    /// Token of Cloudflare Turnstile, where the service uses it. Optional.
    #[schema(value_type = Option<String>)]
    turnstile_token: Option<SecretString>,
}

/// Response of `POST /auth/register`.
#[derive(Debug, Serialize, ToSchema)]
pub struct RegistrationResult {
    /// The registered address.
    email: String,
    verification_required: bool,
    message: &'static str,
}

/// Create an account
///
/// Emails a confirmation link that works once, for 24 hours. Registering again before confirmation
/// replaces the password and the link, at most twice an hour. After that nothing changes, and the
/// response is the same.
#[utoipa::path(
    post, path = "/v1/auth/register", tag = "Account", operation_id = "register",
    request_body = Credentials,
    responses(
        (status = 201, description = "An email has been sent. The same response when the address has an account", body = RegistrationResult),
        (status = 400, description = "Not an email address, or a domain that doesn't exist or accepts no email (`code: undeliverable_email`), or is on the list of disposable domains (`code: disposable_email`). Or the password breaks a rule", body = PlainError),
    ),
)]
// The response and the work before it are the same whether or not the address has an account
// (docs/security.md, A1).
pub async fn register(
    State(app): State<Arc<App>>,
    context: RequestContext,
    client: ClientNetwork,
    continent: Continent,
    JsonBody(body): JsonBody<Credentials>,
) -> Result<(StatusCode, Json<RegistrationResult>), Error> {
    let address = account_address(&body.email)?;
    refuse_disposable(&app, &address).await?;
    check_rules(&app, &body.password, &address).await?;
    let verified = client.is_verified(&app, body.turnstile_token.as_ref());
    let (domain, is_verified) = join(check_domain(&app, &address), verified).await;
    domain?;
    let hash = MailboxHash::of(&app.config.address_secrets, &address);
    let (attempt, may_mail) = count(&app, &client, hash.as_str(), is_verified).await?;
    // Follows every throttle, so that a throttled network doesn't use up others' hashes.
    let turn = client.hashing_turn(&app, Some(&attempt)).await?;
    let password_hash = password::hash(turn, &body.password, random::bytes()?)?;
    let email = address.as_given().to_owned();
    if may_mail {
        let registration = Registration {
            id: continent.new_account(&app, &hash)?,
            address,
            password_hash,
            token: MailedToken::new(0, random::bytes()?),
            expires_at: clock::now().saturating_add(CONFIRMATION_TTL_S),
        };
        mail_and_store(&app, &context, registration, hash, attempt).await?;
    }
    let result = RegistrationResult {
        email,
        verification_required: true,
        message: "Check your email: open the link in it within 24 hours to confirm your address.",
    };
    Ok((StatusCode::CREATED, Json(result)))
}

/// If the list of disposable domains can't be read, no address is rejected.
pub async fn refuse_disposable(app: &App, address: &AccountAddress) -> Result<(), Error> {
    let list = app.assets.disposable_domains().await.and_then(DisposableDomains::parse);
    let domain = address.domain();
    match list {
        Some(list) if list.contain(domain) => {
            let contact = app.config.site.contact().unwrap_or("the people who run this service");
            Err(Error::disposable_email(domain, list.day(), contact))
        }
        _ => Ok(()),
    }
}

/// `false` if the address has had its emails for this hour. The response stays the same; neither the password nor the
/// link changes. If the budget of verified requests is used up, a verified request uses that of unverified requests: a
/// token is never a disadvantage.
async fn count(
    app: &App,
    client: &ClientNetwork,
    mailbox_hash: &str,
    mut is_verified: bool,
) -> Result<(Attempt, bool), Error> {
    let throttle = &app.config.throttle;
    let purpose = MailPurpose::Registration;
    let (all, index, seconds, before) = loop {
        let mut gates = vec![client.gate(app)];
        let rule = throttle.all_registration_mails;
        gates.append(&mut client.mail_gates(app, purpose, rule, is_verified));
        let all = gates.len().saturating_sub(1);
        gates.push(Gate::new(Key::mail(purpose, mailbox_hash), throttle.registration_mail));
        match Attempt::try_count(app.databases.directory(), gates, clock::now()).await? {
            AttemptOutcome::Admitted(attempt) => return Ok((attempt, true)),
            AttemptOutcome::Refused { index, before, .. } if is_verified && index == all => {
                before.give_back(app.databases.directory()).await;
                is_verified = false;
            }
            AttemptOutcome::Refused { index, seconds, before } => {
                break (all, index, seconds, before);
            }
        }
    };
    // No email is sent, so none is counted. The attempt stays counted only if its password will be hashed.
    if index > all {
        let (hash, mail) = before.split_first();
        mail.give_back(app.databases.directory()).await;
        return Ok((hash, false));
    }
    before.give_back(app.databases.directory()).await;
    if index == all {
        return Err(Error::unavailable("mail: the budget of registrations is used up"));
    }
    Err(Error::throttled(seconds))
}

/// The email is handed over first, then the registration is stored: without an email nothing has changed. The same
/// round trips whatever the address is.
///
/// A mailbox that has opted out gets only the necessary email, after the response: the response time mustn't reveal if
/// it has an account.
async fn mail_and_store(
    app: &Arc<App>,
    context: &RequestContext,
    registration: Registration,
    hash: MailboxHash,
    attempt: Attempt,
) -> Result<(), Error> {
    let directory = app.databases.directory();
    let address = &registration.address;
    let standing = match registration_sql::standing(directory, address, &hash, clock::now()).await {
        Ok(standing) => standing,
        Err(error) => {
            attempt.give_back(directory).await;
            return Err(error);
        }
    };
    if standing.is_opted_out == 0 {
        hand_over(app, &registration, &standing, &hash, &attempt).await?;
        return registration_sql::store(directory, &registration).await;
    }
    let app = Arc::clone(app);
    context.deferred.after_response(async move {
        let storing = async {
            if standing.taken.is_none() && standing.is_spelling == 0 {
                hand_over(&app, &registration, &standing, &hash, &attempt).await?;
            }
            registration_sql::store(app.databases.directory(), &registration).await
        };
        if let Err(error) = storing.await {
            log::failure("a confirmation link", &error);
        }
    });
    Ok(())
}

async fn hand_over(
    app: &App,
    registration: &Registration,
    standing: &Standing,
    hash: &MailboxHash,
    attempt: &Attempt,
) -> Result<(), Error> {
    let portal_url = &app.config.portal_url;
    let (typed, token) = (registration.address.as_given(), &registration.token);
    let opt_out = link_token::of(&app.config.address_secrets, LinkUse::OptOut, hash.as_str());
    let (recipient, mail) = match &standing.taken {
        Some(email) => (email.as_str(), mail::already_registered(email, portal_url, &opt_out)),
        None if standing.is_spelling != 0 => {
            (typed, mail::another_spelling(typed, portal_url, &opt_out))
        }
        None if standing.is_waiting != 0 => (typed, mail::confirm_again(typed, portal_url, token)),
        None => (typed, mail::confirm(typed, portal_url, token)),
    };
    let delivery = app.mailer.send(mail.to(recipient, app.config.site.contact())).await;
    if delivery.is_err() {
        attempt.give_back(app.databases.directory()).await;
    }
    delivery
}

/// Parses the address of an account.
#[inline(never)]
pub fn account_address(email: &str) -> Result<AccountAddress, Error> {
    let address = AccountAddress::read(email).map_err(|malformed| {
        Error::invalid_email(format!("This isn't an email address. {}", malformed.problem()))
    })?;
    if address.is_quoted() {
        let why = "This isn't an email address that an account can have: its name is in quotes.";
        return Err(Error::invalid_email(why));
    }
    Ok(address)
}

/// Rejects an address whose domain receives no mail according to DNS; mail servers aren't asked. The domain is looked
/// up before any account, so the result is the same for everybody.
pub async fn check_domain(app: &App, address: &AccountAddress) -> Result<(), Error> {
    let Some(url) = &app.config.dns_url else { return Ok(()) };
    let domain = address.domain();
    match MailDomain::look_up(url, domain).await {
        MailDomain::Fine => Ok(()),
        MailDomain::Missing => Err(Error::no_such_domain(domain)),
        MailDomain::NullMx => Err(Error::domain_without_mail(domain)),
    }
}

/// Body of `POST /auth/verify-email`.
#[derive(Deserialize, ToSchema)]
pub struct Confirmation {
    /// The token from the emailed link.
    #[schema(value_type = String)]
    token: SecretString,
    /// Becomes the account's password.
    // Without a password here, the link confirms the one sent at registration, which somebody else may have chosen.
    #[schema(value_type = Option<String>, min_length = 8, max_length = 128)]
    password: Option<Password>,
}

/// Confirm the email address
///
/// Takes the token of the emailed link and a password, which replaces the one from sign-up. It signs in.
#[utoipa::path(
    post, path = "/v1/auth/verify-email", tag = "Account", operation_id = "verifyEmail",
    request_body = Confirmation,
    responses(
        (status = 200, description = "The address has been confirmed; signed in", body = SessionCredentials),
        (status = 400, description = "The link is unknown, used, replaced or expired. Or the password breaks a rule, and the link still works", body = PlainError),
    ),
)]
// Only a POST consumes the token, because mail scanners follow links.
pub async fn verify_email(
    State(app): State<Arc<App>>,
    client: ClientNetwork,
    device: Device,
    JsonBody(body): JsonBody<Confirmation>,
) -> Result<Json<SessionCredentials>, Error> {
    let token = PresentedToken::parse(body.token.expose_secret());
    let token = token.ok_or_else(Error::invalid_confirmation_token)?.hash;
    let directory = app.databases.directory();
    let waiting = registration_sql::waiting(directory, &token, clock::now()).await?;
    let waiting = waiting.ok_or_else(Error::invalid_confirmation_token)?;
    meter::note(|party| party.account = Some(waiting.id.to_string()));
    let address = stored_address(&waiting.email)?;
    let password_hash = match &body.password {
        Some(password) => {
            check_rules(&app, password, &address).await?;
            let turn = client.hashing_turn(&app, None).await?;
            Some(password::hash(turn, password, random::bytes()?)?)
        }
        None => None,
    };
    let hash = MailboxHash::of(&app.config.address_secrets, &address);
    let (chosen, now) = (password_hash.as_deref(), clock::now());
    let entered = registration_sql::enter(directory, &token, &address, &hash, chosen, now).await?;
    let entered = entered.ok_or_else(Error::invalid_confirmation_token)?;
    let session = new_session(&app, entered.id, device)?;
    // No session starts if the account was closed or changed at the same moment.
    let version = registration_sql::finish(&app.databases, &entered, Some(&session), now).await?;
    let version = version.ok_or_else(Error::invalid_confirmation_token)?;
    SessionCredentials::of(&app, &session, version, entered.email)
}

/// Body of `POST /auth/stop-emails`.
#[derive(Deserialize, ToSchema)]
pub struct OptOut {
    /// The token from the emailed link.
    #[schema(value_type = String)]
    token: SecretString,
}

/// Stop emails that others cause
///
/// For 30 days, a mailbox gets no emails saying that it already has an account, or has none. Requested links are still
/// sent.
#[utoipa::path(
    post, path = "/v1/auth/stop-emails", tag = "Account", operation_id = "stopEmails",
    request_body = OptOut,
    responses(
        (status = 204, description = "Stopped for 30 days from now"),
        (status = 400, description = "The link is incomplete, or older than the service's secrets", body = PlainError),
    ),
)]
pub async fn stop_emails(
    State(app): State<Arc<App>>,
    _: ClientNetwork,
    JsonBody(body): JsonBody<OptOut>,
) -> Result<StatusCode, Error> {
    let mailbox =
        link_token::named(&app.config.address_secrets, LinkUse::OptOut, body.token.expose_secret());
    let mailbox = mailbox.ok_or_else(Error::invalid_opt_out_token)?;
    opt_outs_sql::opt_out(app.databases.directory(), mailbox, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Parses an address that is stored.
pub fn stored_address(email: &str) -> Result<AccountAddress, Error> {
    AccountAddress::parse(email)
        .map_err(|error| Error::internal(format!("a stored address does not parse: {error}")))
}

/// Checks a new password for the account of a stored address.
pub async fn check_new_password(app: &App, password: &Password, email: &str) -> Result<(), Error> {
    check_rules(app, password, &stored_address(email)?).await
}

async fn check_rules(
    app: &App,
    password: &Password,
    address: &AccountAddress,
) -> Result<(), Error> {
    let common = CommonPasswords::new(app.assets.common_passwords().await?);
    password::check_rules(password, address, common).map_err(Error::invalid_password)
}

//! Who is calling. A forged key or token ends here, without storage; whether a genuine one is still the
//! account's own is decided by the statement that acts on its behalf.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, HeaderName, header, request::Parts},
    middleware::Next,
    response::Response,
};
use rcpt_shared::bearer_token;

use crate::{
    app::App,
    cf::clock,
    config::Config,
    credentials::{
        api_key::ApiKey,
        proof::Caller,
        session::{self, Session},
    },
    error::{Error, outcome},
    limits::{refusals::Refusal, shield::Shield},
    meter,
    store::accounts,
};

/// Constants of this type are known to the linker: a name that is looked up at run time would bring the table of
/// all names of headers with it, 12 KB of the Worker.
pub const API_KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// `None` where no session token was sent.
fn session(config: &Config, headers: &HeaderMap, now: u64) -> Option<Result<Session, Error>> {
    let token = bearer_token(headers.get(header::AUTHORIZATION)?.to_str().ok()?)?;
    if ApiKey::is_meant(token) {
        return Some(Err(Error::key_as_session()));
    }
    let session = session::verify(&config.session_secrets, token, now);
    Some(session.map_err(|_| Error::invalid_session()))
}

/// The key or the session; the key wins where both are sent.
fn identify(config: &Config, headers: &HeaderMap, now: u64) -> Result<Caller, Error> {
    if let Some(presented) = headers.get(API_KEY_HEADER) {
        return of_key(config, presented.to_str().unwrap_or_default());
    }
    session(config, headers, now).ok_or_else(Error::missing_api_key)?.map(Caller::from)
}

/// # Errors
/// [`Error::invalid_api_key`] for a key that was never issued.
fn of_key(config: &Config, key: &str) -> Result<Caller, Error> {
    // Blanks around a header's value are no part of it (RFC 9110 §5.5); workerd leaves those behind it.
    let key = key.trim_matches([' ', '\t']);
    let identity = ApiKey::verify(&config.api_key_secrets, key);
    identity.map(Caller::from).ok_or_else(Error::invalid_api_key)
}

/// Refuses a key or session that this isolate knows to be over, before it counts towards anything.
///
/// # Errors
/// As [`Proof::refused`](crate::credentials::proof::Proof::refused).
pub fn still_good(app: &App, caller: Caller) -> Result<(), Error> {
    match app.refusals.known(caller, clock::now()) {
        Some(Refusal::Dead) => Err(caller.proof.refused()),
        _ => Ok(()),
    }
}

/// Shields the storage from a caller that asks too often, or too much at once, and from all callers of an account
/// together. Checks have a shield of their own.
///
/// # Errors
/// [`Error::throttled`]; or that of a caller whose key or session is known to be over.
pub async fn shield(app: &App, caller: Caller) -> Result<(), Error> {
    still_good(app, caller)?;
    let wider = caller.wider_party();
    // The limit of scans is five times that of one party.
    let is_admitted = app.shield.admits_account(&caller.party()).await
        && app.shield.admits_scans(&format!("all of {wider}")).await;
    if !is_admitted {
        return Err(Error::throttled(Shield::PERIOD));
    }
    app.pace.turn(&wider).await
}

/// Remembers in this isolate that a genuine key or session was refused, whatever the route: the next call with it costs
/// the account nothing.
pub async fn remember_refusal(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let [key, token] =
        [API_KEY_HEADER, header::AUTHORIZATION].map(|name| headers.get(name).cloned());
    let response = next.run(request).await;
    let refused = match outcome(&response) {
        Some("invalid_api_key") => key.and_then(|key| of_key(&app.config, key.to_str().ok()?).ok()),
        Some("invalid_session") => {
            let headers: HeaderMap =
                token.into_iter().map(|token| (header::AUTHORIZATION, token)).collect();
            let session = session(&app.config, &headers, clock::now());
            session.and_then(Result::ok).map(Caller::from)
        }
        _ => None,
    };
    if let Some(caller) = refused
        && still_good(&app, caller).is_ok()
        && let Ok(database) = app.databases.of(caller.account)
        // Of an account that the operator has closed, key and session may come back.
        && accounts::has_ended(database, caller).await.unwrap_or_default()
    {
        app.refusals.learn(caller, Refusal::Dead, clock::now());
    }
    response
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        identify(&app.config, &parts.headers, clock::now())
    }
}

/// A session that has passed the shield of its account; an API key does not do.
impl FromRequestParts<Arc<App>> for Session {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let session = session(&app.config, &parts.headers, clock::now());
        let session = session.ok_or_else(Error::missing_session)??;
        meter::note(|party| party.account = Some(session.account.to_string()));
        shield(app, session.into()).await?;
        Ok(session)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

    use super::{API_KEY_HEADER, identify};
    use crate::{
        account::AccountId,
        config::tests::config,
        credentials::{
            api_key::{ApiKey, KeyIdentity},
            proof::Proof,
            session::{self, Session, SessionId},
        },
    };

    const NOW: u64 = 1_790_000_000;
    const ACCOUNT: AccountId = AccountId::from_u64(7);

    fn headers(pairs: &[(HeaderName, String)]) -> HeaderMap {
        let pair = |(name, value): &(HeaderName, String)| {
            (name.clone(), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn the_key_wins_where_both_are_sent_even_when_it_is_wrong() {
        let config = config();
        let identity = KeyIdentity { account: ACCOUNT, version: 3 };
        let key = ApiKey::derive(&config.api_key_secrets, identity).into_text();
        let id = SessionId::from_random([5; 16]);
        let session = Session { account: ACCOUNT, id };
        let token = session::issue(&config.session_secrets, session, NOW, 60).unwrap();
        let authorization = (header::AUTHORIZATION, format!("Bearer {token}"));
        let both = headers(&[(API_KEY_HEADER, key), authorization.clone()]);
        let proof =
            |headers: &HeaderMap| identify(&config, headers, NOW).map(|caller| caller.proof).ok();
        assert_eq!(proof(&both), Some(Proof::Key { version: 3 }));
        assert_eq!(
            proof(&headers(std::slice::from_ref(&authorization))),
            Some(Proof::Session { id })
        );
        assert_eq!(proof(&headers(&[(API_KEY_HEADER, "junk".into()), authorization])), None);
        assert_eq!(proof(&headers(&[])), None);
    }
}

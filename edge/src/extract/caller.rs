//! The caller, and what a key may call. A forged key or token is rejected here without storage; whether a genuine one
//! was revoked, the handler's SQL checks.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::Response,
};
use rcpt_shared::bearer_token;

use super::request::RequestContext;
use crate::{
    app::App,
    cf::{clock, log},
    config::Config,
    credentials::{
        api_key::{ApiKey, Right},
        proof::Caller,
        session::{self, PresentedSession, Session},
    },
    error::{Error, outcome},
    ledger::account,
    limits::{refusals::Refusal, shield::Shield},
    meter,
};

/// A constant is resolved at link time. A look-up at run time would need a table of all header
/// names, 12 KB of the Worker.
pub const API_KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

fn session(
    config: &Config,
    headers: &HeaderMap,
    now: u64,
) -> Option<Result<PresentedSession, Error>> {
    let token = bearer_token(headers.get(header::AUTHORIZATION)?.to_str().ok()?)?;
    if ApiKey::is_meant(token) {
        return Some(Err(Error::key_as_session()));
    }
    let session = session::verify(&config.session_secrets, token, now);
    Some(session.map_err(|_| Error::invalid_session()))
}

/// The key takes precedence if both are sent.
fn identify(config: &Config, headers: &HeaderMap, now: u64) -> Result<Identity, Error> {
    if let Some(key) = any_key(config, headers) {
        return Ok(Identity::Key(key));
    }
    if headers.contains_key(API_KEY_HEADER) {
        return Err(match key_text(headers) {
            Some(text) if text.contains(',') => Error::several_api_keys(),
            _ => Error::invalid_api_key(),
        });
    }
    session(config, headers, now).ok_or_else(Error::missing_api_key)?.map(Identity::Session)
}

enum Identity {
    Key(ApiKey),
    Session(PresentedSession),
}

/// Whitespace around a header's value isn't part of it (RFC 9110 §5.5); workerd leaves it at the end.
fn key_text(headers: &HeaderMap) -> Option<&str> {
    Some(headers.get(API_KEY_HEADER)?.to_str().ok()?.trim_matches([' ', '\t']))
}

pub fn any_key(config: &Config, headers: &HeaderMap) -> Option<ApiKey> {
    ApiKey::verify(&config.api_key_secrets, key_text(headers)?)
}

pub fn still_good(app: &App, caller: Caller) -> Result<(), Error> {
    match app.refusals.refusal_of(caller, clock::now()) {
        Some(Refusal::Dead) => Err(caller.proof.to_error()),
        _ => Ok(()),
    }
}

/// Protects the storage from floods by one caller and by all keys or all sessions of an account.
/// Checks have their own shield.
pub async fn shield(app: &App, caller: Caller) -> Result<(), Error> {
    still_good(app, caller)?;
    let wider = caller.wider_party();
    // The limit for scans, five times that for one party, fits the wider party.
    let is_admitted = app.shield.admits_account(&caller.party()).await
        && app.shield.admits_scans(&format!("all of {wider}")).await;
    if !is_admitted {
        return Err(Error::throttled(Shield::PERIOD_S));
    }
    app.pace.turn(&wider).await
}

/// Seconds after which a request counts as a session's use.
const FIRST_MINUTE_S: u64 = 60;

fn leave_session(parts: &Parts, presented: PresentedSession) {
    if let Some(context) = parts.extensions.get::<RequestContext>() {
        // An extractor may run twice, with the same session.
        let _ = context.used_session.set(presented);
    }
}

fn note_use(app: &Arc<App>, context: &RequestContext) {
    let Some(&PresentedSession { session, issued_at }) = context.used_session.get() else { return };
    let (now, until) = (clock::now(), issued_at.saturating_add(app.config.session_ttl));
    let is_young = now < issued_at.saturating_add(FIRST_MINUTE_S);
    if is_young || app.used_sessions.get(&session.id, now).is_some() {
        return;
    }
    app.used_sessions.insert(session.id, (), until, now);
    let app = Arc::clone(app);
    context.deferred.after_response(async move {
        let recorded = match app.databases.of(session.account) {
            Ok(database) => account::mark_used(database, session).await,
            Err(error) => Err(error),
        };
        if let Err(error) = recorded {
            app.used_sessions.remove(&session.id);
            log::failure("the use of a session", &error);
        }
    });
}

/// Runs after every request on any route. Records a session's first use, and remembers in this isolate that a genuine
/// key or session has ended.
pub async fn follow_up(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let header_names = [API_KEY_HEADER, header::AUTHORIZATION];
    let credentials =
        header_names.map(|name| request.headers().get(&name).cloned().map(|value| (name, value)));
    let headers = || HeaderMap::from_iter(credentials.into_iter().flatten());
    let context = request.extensions().get::<RequestContext>().cloned();
    let response = next.run(request).await;
    if response.status() != StatusCode::UNAUTHORIZED
        && let Some(context) = context
    {
        note_use(&app, &context);
    }
    let refused = match outcome(&response) {
        Some("invalid_api_key") => any_key(&app.config, &headers()).map(Caller::from),
        Some("invalid_session") => {
            let headers = headers();
            let session = session(&app.config, &headers, clock::now());
            session.and_then(Result::ok).map(|presented| presented.session.into())
        }
        _ => None,
    };
    if let Some(caller) = refused
        && still_good(&app, caller).is_ok()
        && let Ok(database) = app.databases.of(caller.account)
    {
        // Only ended keys and sessions are remembered: an account closed by the operator may be
        // reopened.
        if account::has_ended(database, caller).await.unwrap_or_default() {
            app.refusals.learn(caller, Refusal::Dead, clock::now());
        }
    }
    response
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        match identify(&app.config, &parts.headers, clock::now())? {
            Identity::Key(key) => {
                let path = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
                demand(key, &parts.method, path, clock::now())?;
                Ok(key.into())
            }
            Identity::Session(presented) => {
                leave_session(parts, presented);
                Ok(presented.session.into())
            }
        }
    }
}

/// A session that has passed its account's shield; an API key isn't accepted.
impl FromRequestParts<Arc<App>> for Session {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let session = session(&app.config, &parts.headers, clock::now());
        let presented = session.ok_or_else(Error::missing_session)??;
        let session = presented.session;
        meter::note(|party| party.account = Some(session.account.to_string()));
        shield(app, session.into()).await?;
        leave_session(parts, presented);
        Ok(session)
    }
}

/// Method and path of each operation that keys may call, with its rights: a key needs one of them.
const RIGHTS: &[(Method, &str, &[Right])] = &[
    (Method::POST, "/v1/validate_email", &[Right::Checks, Right::Sandbox]),
    (Method::POST, "/v1/validate_emails", &[Right::Checks, Right::Sandbox]),
    (Method::POST, "/v1/domains", &[Right::Checks, Right::Sandbox]),
    (Method::POST, "/v1/scans", &[Right::Scans]),
    (Method::GET, "/v1/scans", &[Right::Scans, Right::ReadScans]),
    (Method::GET, "/v1/scans/{id}", &[Right::Scans, Right::ReadScans]),
    (Method::DELETE, "/v1/scans/{id}", &[Right::Scans]),
    (Method::POST, "/v1/scans/{id}/cancel", &[Right::Scans]),
    (Method::PUT, "/v1/scans/{id}/parts/{n}", &[Right::Scans]),
    (Method::POST, "/v1/scans/{id}/parts/{n}/match", &[Right::Scans]),
    (Method::GET, "/v1/scans/{id}/results", &[Right::Scans, Right::ReadScans]),
    (Method::GET, "/v1/events", &[Right::Scans, Right::ReadScans, Right::Webhooks]),
    (Method::GET, "/v1/me/quota", &[Right::Quota]),
    (Method::POST, "/v1/guard/decide", &[Right::Guard, Right::Sandbox]),
];

#[cfg(test)]
pub fn operations() -> impl Iterator<Item = (&'static Method, &'static str)> {
    RIGHTS.iter().map(|(method, path, _)| (method, *path))
}

/// Rejects a key that has expired at `now` (Unix seconds) or may not call this operation.
fn demand(key: ApiKey, method: &Method, path: &str, now: u64) -> Result<(), Error> {
    if key.is_expired(now) {
        return Err(Error::key_expired());
    }
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let mut rows = RIGHTS.iter().filter(|(own, template, _)| own == method && *template == path);
    match rows.next() {
        Some((.., rights)) if rights.iter().any(|right| key.rights.has(*right)) => Ok(()),
        _ if key.rights.is_test() => Err(Error::test_key()),
        Some((.., rights)) => {
            // Only test keys have this right, so a live key can't lack it.
            let rights = rights.iter().filter(|right| **right != Right::Sandbox);
            let names: Vec<_> = rights.map(|right| right.as_str()).collect();
            Err(Error::missing_right(names.join(" or ")))
        }
        None => Err(Error::session_only()),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

    use super::{API_KEY_HEADER, Identity, identify};
    use crate::{
        account::AccountId,
        config::tests::config,
        credentials::{
            api_key::ApiKey,
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
        let own = ApiKey::own(ACCOUNT, 3);
        let key = own.text(&config.api_key_secrets);
        let id = SessionId::from_random([5; 16]);
        let session = Session { account: ACCOUNT, id };
        let token = session::issue(&config.session_secrets, session, NOW, 60).unwrap();
        let authorization = (header::AUTHORIZATION, format!("Bearer {token}"));
        let both = headers(&[(API_KEY_HEADER, key), authorization.clone()]);
        let found = |headers: &HeaderMap| match identify(&config, headers, NOW) {
            Ok(Identity::Key(key)) => (Some(key), None),
            Ok(Identity::Session(presented)) => (None, Some(presented.session)),
            Err(_) => (None, None),
        };
        assert_eq!(found(&both), (Some(own), None));
        assert_eq!(found(&headers(std::slice::from_ref(&authorization))), (None, Some(session)));
        assert_eq!(
            found(&headers(&[(API_KEY_HEADER, "junk".into()), authorization])),
            (None, None)
        );
        assert_eq!(found(&headers(&[])), (None, None));
    }
}

//! Random histories of an owner and a thief in one account: requests one after the other, and then a recovery during
//! two of the thief's requests. Afterwards nothing that the thief has created, knows or has in
//! progress opens the account (docs/security.md, A15).
//!
//! - A15: 8 histories, 80 in `make proof`.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use rcpt_tests::{
    Account, Anonymous, Edge, Reply,
    people::{Authenticator, PASSWORD, PasskeyDevice, send},
    proof,
};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

const OWNERS: &str = "copper-meadow-58-lattice";
const THIEFS: &str = "another-quarry-66-anchor";

/// A step of the thief, who has a session and the password, or of the owner.
#[derive(Debug, Clone, Copy)]
enum Step {
    MakeKey,
    AddPasskey,
    NewPassword,
    MoveAway,
    SignIn,
    SignInByPasskey,
    ReplaceKey,
    ReplaceAll,
    EndOwnersKey,
    AskForLink,
    OwnerSignsIn,
    OwnerChecks,
}

const STEPS: [Step; 12] = [
    Step::MakeKey,
    Step::AddPasskey,
    Step::NewPassword,
    Step::MoveAway,
    Step::SignIn,
    Step::SignInByPasskey,
    Step::ReplaceKey,
    Step::ReplaceAll,
    Step::EndOwnersKey,
    Step::AskForLink,
    Step::OwnerSignsIn,
    Step::OwnerChecks,
];

/// The account, and the credentials of each party.
struct Story<'a> {
    edge: &'a Edge,
    anonymous: Anonymous,
    id: String,
    email: String,
    owners_key: (String, String),
    owners_passkey: PasskeyDevice,
    authenticator: Option<Authenticator>,
    codes: Vec<String>,
    /// The thief's sessions, and the password that the thief knows.
    sessions: Vec<Account>,
    password: String,
    keys: Vec<String>,
    passkeys: Vec<PasskeyDevice>,
    /// The addresses that the thief has asked for.
    away: Vec<String>,
}

impl<'a> Story<'a> {
    async fn begin(edge: &'a Edge, has_two_factor: bool) -> Self {
        let account = edge.account().await;
        let terms = json!({ "name": "shop", "rights": ["checks"] });
        let (key, key_id) = account.named_key(&terms).await;
        let (owners_passkey, _) = account.add_passkey("laptop").await;
        let id = edge.id(&account.email).await;
        let (authenticator, codes) = if has_two_factor {
            let (authenticator, codes) = account.enable_two_factor().await;
            (Some(authenticator), codes)
        } else {
            (None, Vec::new())
        };
        edge.wait_until_told(&id).await;
        edge.pass(&id, 8 * 86_400).await;
        Self {
            edge,
            anonymous: edge.anonymous(),
            id,
            email: account.email.clone(),
            owners_key: (key, key_id),
            owners_passkey,
            authenticator,
            codes,
            sessions: vec![account],
            password: PASSWORD.to_owned(),
            keys: Vec::new(),
            passkeys: Vec::new(),
            away: Vec::new(),
        }
    }

    /// One of the owner's recovery codes that the thief has found, if any.
    fn code(&mut self) -> Option<String> {
        self.codes.pop()
    }

    fn proof(&mut self) -> Value {
        json!({ "password": self.password, "totp_code": self.code() })
    }

    async fn address(&self) -> String {
        let sql = "SELECT email FROM accounts WHERE id = ?1";
        let rows = self.edge.sql_of(&self.id, sql, &[json!(self.id)]).await;
        rows[0]["email"].as_str().unwrap().to_owned()
    }

    /// The thief's request that creates or takes something, or `None` if that needs several requests.
    fn request(&mut self, step: Step) -> Option<RequestBuilder> {
        let proof = self.proof();
        let session = self.sessions.last()?.clone();
        let with = |path: &str, mut body: Value| {
            body.as_object_mut()?.extend(proof.as_object()?.clone());
            Some(session.request(Method::POST, path).json(&body))
        };
        match step {
            Step::MakeKey => with("/keys", json!({ "name": "thief's", "rights": ["checks"] })),
            Step::ReplaceKey => with("/auth/rotate-api-key", json!({})),
            Step::ReplaceAll => with("/keys/replace-all", json!({})),
            Step::NewPassword => {
                let body = json!({ "current_password": self.password, "new_password": THIEFS });
                Some(session.request(Method::PUT, "/auth/password").json(&body))
            }
            Step::EndOwnersKey => {
                Some(session.request(Method::DELETE, &format!("/keys/{}", self.owners_key.1)))
            }
            Step::SignIn => {
                let mut body = json!({ "email": self.email });
                body.as_object_mut()?.extend(proof.as_object()?.clone());
                Some(self.anonymous.request(Method::POST, "/auth/login").json(&body))
            }
            _ => None,
        }
    }

    /// Records what the thief gains from the answer to a request of this step.
    fn note(&mut self, step: Step, reply: &Reply) {
        assert!(reply.status < 500, "{step:?}: {} {}", reply.status, reply.body);
        if !matches!(reply.status, 200 | 201) {
            return;
        }
        match step {
            Step::MakeKey => self.keys.push(reply.text("api_key").to_owned()),
            Step::ReplaceAll => {
                let keys = reply.body["keys"].as_array().unwrap();
                let texts = keys.iter().map(|key| key["api_key"].as_str().unwrap().to_owned());
                self.keys.extend(texts);
            }
            Step::NewPassword => {
                self.password = THIEFS.to_owned();
                let session = Account::from_credentials(&self.anonymous, THIEFS, reply);
                self.sessions.push(session);
            }
            Step::SignIn | Step::SignInByPasskey => {
                let session = Account::from_credentials(&self.anonymous, &self.password, reply);
                self.sessions.push(session);
            }
            _ => {}
        }
    }

    async fn play(&mut self, step: Step) {
        match step {
            Step::AddPasskey => {
                let (session, proof) = (self.sessions.last().unwrap().clone(), self.proof());
                let options = session.post("/auth/passkeys/options", &proof).await;
                if options.status != 200 {
                    return;
                }
                let origin = self.anonymous.origin();
                let (device, credential) = PasskeyDevice::create(&options.body, &origin);
                if session.add_credential("thief's", &credential).await.status == 201 {
                    self.passkeys.push(device);
                }
            }
            Step::SignInByPasskey => {
                let Some(device) = self.passkeys.last() else { return };
                let reply = self.anonymous.sign_in_with(device).await;
                self.note(step, &reply);
            }
            Step::MoveAway => self.move_away().await,
            Step::AskForLink => {
                assert_eq!(self.anonymous.forgot_password(&self.email).await.status, 200);
            }
            Step::OwnerSignsIn => {
                let code = match &self.authenticator {
                    Some(authenticator) => authenticator.code(),
                    None => String::new(),
                };
                self.anonymous.login_with_code(&self.email, PASSWORD, &code).await;
            }
            Step::OwnerChecks => {
                self.anonymous.check_with_key(&self.owners_key.0, "no address").await;
            }
            _ => {
                if let Some(request) = self.request(step) {
                    let reply = send(request).await;
                    self.note(step, &reply);
                }
            }
        }
    }

    async fn move_away(&mut self) {
        let (new, session) = (self.edge.new_email(), self.sessions.last().unwrap().clone());
        let mut body = self.proof();
        body["email"] = json!(new);
        if session.post("/auth/change-email", &body).await.status != 202 {
            return;
        }
        let title = "Confirm your new email address";
        let mail = self.edge.mailbox().wait_for_titled(&new, title, 1).await.unwrap();
        let body = json!({ "token": mail.token(), "password": self.password });
        let reply = self.anonymous.post("/auth/confirm-email", &body).await;
        if reply.status == 200 {
            self.away.push(new);
        }
    }

    async fn owners_code(&self) -> Option<String> {
        let authenticator = self.authenticator.as_ref()?;
        let sql = "UPDATE second_factors SET last_step = 0 WHERE account_id = ?1";
        self.edge.sql_of(&self.id, sql, &[json!(self.id)]).await;
        Some(authenticator.code())
    }

    /// The owner's request for a recovery: a reset.
    async fn recovery(&self) -> RequestBuilder {
        let code = self.owners_code().await;
        let reset_mails = self.titled("Set a new password");
        self.edge.sql("DELETE FROM throttles", &[]).await;
        assert_eq!(self.anonymous.forgot_password(&self.email).await.status, 200);
        let mailbox = self.edge.mailbox();
        let mail = mailbox
            .wait_for_titled(&self.email, "Set a new password", reset_mails + 1)
            .await
            .unwrap();
        self.edge.wait_for_reset_mails().await;
        let body = json!({ "token": mail.token(), "password": OWNERS, "totp_code": code });
        self.anonymous.request(Method::POST, "/auth/reset-password").json(&body)
    }

    fn titled(&self, subject: &str) -> usize {
        let mails = self.edge.mailbox().mails_to(&self.email);
        mails.iter().filter(|mail| mail.subject == subject).count()
    }

    /// Recovers the account during two of the thief's requests, and checks that the thief keeps no access.
    async fn end(mut self, random: &mut StdRng) {
        let late =
            [Step::MakeKey, Step::SignIn, Step::NewPassword, Step::ReplaceKey, Step::ReplaceAll];
        let two = [*late.choose(random).unwrap(), *late.choose(random).unwrap()];
        let owners = self.recovery().await;
        let thiefs = two.map(|step| (step, self.request(step)));
        let mut requests: Vec<_> = vec![(None, owners)];
        requests
            .extend(thiefs.into_iter().filter_map(|(step, request)| Some((Some(step), request?))));
        // Chooses at random which request is sent first.
        let first = random.random_range(0..requests.len());
        requests.rotate_left(first);
        let sent_requests =
            requests.into_iter().map(|(step, request)| (step, tokio::spawn(send(request))));
        let mut has_recovered = false;
        for (step, reply) in Vec::from_iter(sent_requests) {
            let reply = reply.await.unwrap();
            match step {
                Some(step) => self.note(step, &reply),
                None => has_recovered = matches!(reply.status, 200 | 204),
            }
        }
        if !has_recovered {
            // The thief's new password invalidates a reset link, so the owner requests another one.
            let reply = send(self.recovery().await).await;
            assert!(matches!(reply.status, 200 | 204), "{} {}", reply.status, reply.body);
        }
        self.assert_closed().await;
        // What the thief has asked for doesn't happen later either.
        self.edge.pass(&self.id, 3 * 86_400).await;
        self.edge.run_scheduled().await;
        self.assert_closed().await;
    }

    /// Asserts that nothing the thief has created, knows or was sent opens the account, and that the owner's
    /// credentials do.
    async fn assert_closed(&self) {
        let anonymous = &self.anonymous;
        assert_eq!(self.address().await, self.email);
        for session in &self.sessions {
            session.get("/me").await.assert_error(
                401,
                "invalid_session",
                "a session of the thief's",
            );
        }
        for key in &self.keys {
            let reply = anonymous.check_with_key(key, "no address").await;
            assert_eq!((reply.status, &reply.body["code"]), (401, &json!("invalid_api_key")));
        }
        for device in &self.passkeys {
            let reply = anonymous.sign_in_with(device).await;
            reply.assert_error(401, "passkey_refused", "a passkey of the thief's");
        }
        self.edge.sql("DELETE FROM throttles", &[]).await;
        let code = self.owners_code().await.unwrap_or_default();
        for email in self.away.iter().chain([&self.email]) {
            for password in [PASSWORD, THIEFS] {
                let reply = anonymous.login_with_code(email, password, &code).await;
                reply.assert_error(401, "invalid_credentials", "a password that the thief knows");
            }
        }
        for mail in self.away.iter().flat_map(|away| self.edge.mailbox().mails_to(away)) {
            let Some(token) = mail.token() else { continue };
            let reply = anonymous.reset_password(token, THIEFS).await;
            reply.assert_error(400, "invalid_token", &mail.subject);
            let body = json!({ "token": token, "password": PASSWORD });
            let reply = anonymous.post("/auth/confirm-email", &body).await;
            assert!(matches!(reply.status, 400 | 403), "{}: {}", mail.subject, reply.body);
        }
        let code = self.owners_code().await.unwrap_or_default();
        let reply = anonymous.login_with_code(&self.email, OWNERS, &code).await;
        let owner = Account::from_credentials(anonymous, OWNERS, &reply);
        let me = owner.get("/me").await.body;
        assert_eq!(me["two_factor"], self.authenticator.is_some());
        let reply = anonymous.sign_in_with(&self.owners_passkey).await;
        assert_eq!(reply.status, 200, "the owner's passkey: {}", reply.body);
        let reply = anonymous.check_with_key(&self.owners_key.0, "no address").await;
        let sql = "SELECT 1 AS one FROM keys WHERE id = ?1 AND version = 1";
        let key = self.owners_key.1.strip_prefix("key_").unwrap_or(&self.owners_key.1);
        let is_there = !self.edge.sql_of(&self.id, sql, &[json!(key)]).await.is_empty();
        assert_eq!(reply.status == 200, is_there, "the owner's key: {}", reply.body);
    }
}

#[tokio::test]
async fn nothing_of_a_thief_survives_a_recovery_whatever_came_before_and_comes_beside_it() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    for seed in 0..proof::count(8, 80) as u64 {
        let mut random = StdRng::seed_from_u64(seed);
        let mut story = Story::begin(&edge, seed % 2 == 1).await;
        let mut steps = Vec::new();
        for _ in 0..random.random_range(1..8) {
            let step = *STEPS.choose(&mut random).unwrap();
            steps.push(step);
            story.play(step).await;
        }
        println!("seed {seed}: {steps:?}");
        story.end(&mut random).await;
    }
}

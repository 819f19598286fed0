//! The whole service: sandbox, origin and edge, wired to each other.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;

use crate::{Account, Anonymous, Edge, Mail, Origin, Sandbox, edge, origin, secret};

/// Satisfies every password rule (architecture §4).
pub const PASSWORD: &str = "violet-anchor-77-quarry";

/// A running service. Its parts can be looked into, killed and restarted.
#[derive(Debug)]
pub struct Stack {
    pub edge: Edge,
    pub origin: Origin,
    pub sandbox: Sandbox,
}

/// What a [`Stack`] is started with.
#[derive(Debug, Clone)]
pub struct Builder {
    origin: origin::Builder,
    edge: edge::Builder,
}

impl Builder {
    /// A value of origin's environment.
    #[must_use]
    pub fn origin_env(mut self, key: &str, value: impl Into<String>) -> Self {
        self.origin = self.origin.env(key, value);
        self
    }

    /// A var or secret of the edge.
    #[must_use]
    pub fn edge_var(mut self, name: &str, value: impl Into<String>) -> Self {
        self.edge = self.edge.var(name, value);
        self
    }

    /// With the rate limits of wrangler.toml, which otherwise let everything through.
    #[must_use]
    pub fn throttled(mut self) -> Self {
        self.edge = self.edge.throttled();
        self
    }

    /// With a runtime that holds next to no garbage.
    #[must_use]
    pub fn without_garbage(mut self) -> Self {
        self.edge = self.edge.without_garbage();
        self
    }

    /// Starts everything; routes given with `RCPT_ROUTES` come before the sandbox's.
    ///
    /// # Errors
    /// A part does not start; the error shows its log.
    pub async fn try_start(self) -> Result<Stack> {
        let sandbox = Sandbox::start()?;
        let tickets = secret::key_ring()?;
        let origin = self.origin.add_routes(&sandbox.routes()).ticket_secrets(&tickets);
        let origin = origin.start().await?;
        let edge = self.edge.origins(&[&origin.url]).var("TICKET_SECRETS", tickets);
        Ok(Stack { edge: edge.start().await?, origin, sandbox })
    }

    /// As [`Builder::try_start`].
    ///
    /// # Panics
    /// A part does not start; the message shows its log.
    pub async fn start(self) -> Stack {
        self.try_start().await.unwrap_or_else(|error| panic!("{error:#}"))
    }
}

impl Stack {
    /// A stack with fresh secrets, empty storage, no rate limits and the sandbox's addresses.
    #[must_use]
    pub fn builder() -> Builder {
        Builder { origin: Origin::builder(), edge: Edge::builder() }
    }

    /// Starts it as it is.
    ///
    /// # Panics
    /// A part does not start; the message shows its log.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// A caller without credentials.
    #[must_use]
    pub fn anonymous(&self) -> Anonymous {
        Anonymous::new(&self.edge.url)
    }

    /// An address that nothing has been registered with yet.
    #[must_use]
    pub fn new_email(&self) -> String {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        format!("customer-{}@rcpt-tests.net", COUNT.fetch_add(1, Ordering::Relaxed))
    }

    /// Registers, and returns the address and the mail that came.
    ///
    /// # Panics
    /// The answer is not 201, or no mail comes.
    pub async fn registered(&self) -> (String, Mail) {
        let email = self.new_email();
        let reply = self.anonymous().register(&email, PASSWORD).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        let mail = self.edge.mailbox().wait_for_mail(&email).await;
        (
            email,
            mail.unwrap_or_else(|error| panic!("{error:#}\n{}", self.edge.process.last_lines())),
        )
    }

    /// Changes an account's row: `"plan = 'unlimited'"`, `"welcome_left = 0"`.
    ///
    /// # Panics
    /// D1 refuses, or there is no such account.
    pub async fn update_account(&self, account: &Account, assignments: &str) {
        let sql = format!("UPDATE accounts SET {assignments} WHERE email = ? RETURNING id");
        let rows = self.edge.sql(&sql, &[account.email.as_str().into()]).await;
        assert_eq!(rows.len(), 1, "{}", account.email);
    }

    /// A new account, made as a person makes one: registered, the mailed link used, signed in by it.
    ///
    /// # Panics
    /// Any step does not go as documented.
    pub async fn account(&self) -> Account {
        let (_, mail) = self.registered().await;
        let token = mail.token().unwrap_or_else(|| panic!("no token in {mail:?}"));
        let anonymous = self.anonymous();
        let reply = anonymous.verify_email(token).await;
        Account::from_credentials(&anonymous, PASSWORD, &reply)
    }
}

//! Guessing from many networks. Actions of owner and operator in between give a guesser no attempts back, and the owner
//! can still sign in by email (docs/security.md, A3).

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use rcpt_tests::{
    Account, Authenticator, Edge, Reply,
    people::{PASSWORD, send_all},
    proof,
};
use reqwest::Method;
use serde_json::json;
use tokio::time::Instant;

/// Number of wrong passwords for one mailbox, or wrong codes for one account, before the first wait.
const FREE: usize = 20;
/// Seconds until one more attempt is evaluated.
const INTERVAL: u64 = 15 * 60;
const STEPS: usize = 24;
const RESET: &str = "Set a new password";

#[derive(Debug, Clone, Copy)]
enum Step {
    /// Tries this many wrong passwords in parallel, each from a separate network.
    Passwords(usize),
    /// Tries this many wrong codes with the correct password.
    Codes(usize),
    /// The guesser signs in to the guesser's own account.
    GuesserSignsIn,
    OwnerSignsIn,
    OwnerMistypes,
    OwnerResets,
    OperatorDeactivates,
    OperatorReactivates,
}

impl Step {
    fn draw(random: &mut StdRng) -> Self {
        match random.random_range(0..11) {
            0..=1 => Self::Passwords(random.random_range(1..9)),
            2..=3 => Self::Codes(random.random_range(1..9)),
            4 => Self::GuesserSignsIn,
            5..=6 => Self::OwnerSignsIn,
            7 => Self::OwnerMistypes,
            8 => Self::OwnerResets,
            9 => Self::OperatorDeactivates,
            _ => Self::OperatorReactivates,
        }
    }
}

struct History<'e> {
    edge: &'e Edge,
    networks: u32,
    account: Account,
    /// The owner's password, which the guesser of codes knows.
    password: String,
    recovery_codes: Vec<String>,
    wrong_code: String,
    guesser: Account,
    is_active: bool,
    resets: usize,
    since: Instant,
    evaluated_passwords: usize,
    evaluated_codes: usize,
    trace: Vec<Step>,
}

impl<'e> History<'e> {
    async fn begin(edge: &'e Edge) -> Self {
        let account = edge.account().await;
        let (authenticator, recovery_codes): (Authenticator, Vec<String>) =
            account.enable_two_factor().await;
        Self {
            edge,
            networks: 0,
            password: PASSWORD.to_owned(),
            recovery_codes,
            wrong_code: authenticator.wrong_code(),
            guesser: edge.account().await,
            account,
            is_active: true,
            resets: 0,
            since: Instant::now(),
            evaluated_passwords: 0,
            evaluated_codes: 0,
            trace: Vec::new(),
        }
    }

    fn network(&mut self) -> String {
        self.networks += 1;
        format!("100.{}.{}.7", 64 + self.networks / 250, self.networks % 250)
    }

    /// Makes `count` concurrent attempts to sign in, each from another network.
    async fn sign_ins(
        &mut self,
        count: usize,
        email: &str,
        password: &str,
        code: &str,
    ) -> Vec<Reply> {
        let body = json!({ "email": email, "password": password, "totp_code": code });
        let requests: Vec<_> = (0..count)
            .map(|_| {
                let from = self.network();
                let request = self.edge.anonymous().request(Method::POST, "/auth/login");
                request.json(&body).header("cf-connecting-ip", from)
            })
            .collect();
        send_all(requests, count).await
    }

    async fn resets_by_mail(&mut self) -> Reply {
        let email = self.account.email.clone();
        let ask = self.edge.anonymous().request(Method::POST, "/auth/forgot-password");
        let from = self.network();
        let ask = ask.json(&json!({ "email": email })).header("cf-connecting-ip", from);
        assert_eq!(send_all([ask], 1).await[0].status, 200);
        self.edge.wait_for_reset_mails().await;
        // An email is in the mailbox's file a moment after its hand-over.
        self.edge.mailbox().wait_for_titled(&email, RESET, 1).await.unwrap();
        // The newest email: strangers and earlier steps may have requested this hour's email.
        let mails = self.edge.mailbox().mails_to(&email);
        let mail = mails.iter().rev().find(|mail| mail.subject == RESET).expect("a link");
        let code = self.recovery_codes.pop().expect("a recovery code");
        self.resets += 1;
        let password = format!("amber-willow-63-harbour-{}", self.resets);
        let body = json!({ "token": mail.token(), "password": password, "totp_code": code });
        let reset = self.edge.anonymous().request(Method::POST, "/auth/reset-password").json(&body);
        let from = self.network();
        let reply = send_all([reset.header("cf-connecting-ip", from)], 1).await.remove(0);
        if reply.status == 200 {
            self.password = password;
        }
        reply
    }

    async fn step(&mut self, step: Step) {
        self.trace.push(step);
        let (email, password) = (self.account.email.clone(), self.password.clone());
        match step {
            Step::Passwords(count) => {
                let replies = self.sign_ins(count, &email, "a-wrong-password-91", "").await;
                self.evaluated_passwords += self.evaluated(&replies, "invalid_credentials");
            }
            Step::Codes(count) => {
                let code = self.wrong_code.clone();
                let replies = self.sign_ins(count, &email, &password, &code).await;
                self.evaluated_codes += self.evaluated(&replies, "totp_invalid");
            }
            Step::GuesserSignsIn => {
                let guesser = self.guesser.email.clone();
                let replies = self.sign_ins(1, &guesser, PASSWORD, "").await;
                assert_eq!(replies[0].status, 200, "{}", replies[0].body);
            }
            Step::OwnerSignsIn if self.recovery_codes.len() > 2 => {
                let code = self.recovery_codes.pop().unwrap();
                let replies = self.sign_ins(1, &email, &password, &code).await;
                if replies[0].status != 200 {
                    // A rejected attempt doesn't consume the code.
                    self.recovery_codes.push(code);
                }
            }
            Step::OwnerMistypes => {
                self.sign_ins(1, &email, "violet-anchor-77-quarrz", "").await;
            }
            // A mailbox gets one link an hour.
            Step::OwnerResets if self.is_active && self.resets == 0 => {
                let reply = self.resets_by_mail().await;
                assert_eq!(reply.status, 200, "{:?}: {}", self.trace, reply.body);
            }
            Step::OperatorDeactivates | Step::OperatorReactivates => {
                self.is_active = matches!(step, Step::OperatorReactivates);
                let state = if self.is_active { "confirmed" } else { "deactivated" };
                self.edge.set(&email, &format!("state = '{state}'")).await;
            }
            Step::OwnerSignsIn | Step::OwnerResets => {}
        }
    }

    /// The number of evaluated attempts; the rest had to wait, and no attempt succeeded.
    fn evaluated(&self, replies: &[Reply], code: &str) -> usize {
        let of = |wanted: &str| replies.iter().filter(|reply| reply.body["code"] == wanted).count();
        // Only the correct password reveals that an account is deactivated.
        let evaluated = of(code) + of("deactivated");
        assert_eq!(evaluated + of("throttled"), replies.len(), "{:?}: {replies:?}", self.trace);
        evaluated
    }

    async fn end(mut self) -> (usize, usize) {
        let drained = self.since.elapsed().as_secs() / INTERVAL;
        let most = FREE + usize::try_from(drained).unwrap();
        for evaluated in [self.evaluated_passwords, self.evaluated_codes] {
            assert!(evaluated <= most, "{evaluated} of {most} guesses: {:?}", self.trace);
        }
        self.step(Step::OperatorReactivates).await;
        if self.resets == 0 {
            let reply = self.resets_by_mail().await;
            assert_eq!(reply.status, 200, "{:?}: {}", self.trace, reply.body);
        }
        (self.evaluated_passwords, self.evaluated_codes)
    }
}

/// With `PROOF`, more histories are tried.
#[tokio::test]
async fn what_owner_and_operator_do_gives_a_guesser_nothing_back_and_the_owner_gets_in() {
    let edge = Edge::builder().with_waits().start().await.unwrap();
    let (mut passwords, mut codes) = (0, 0);
    for seed in 0..proof::count(4, 100) as u64 {
        let mut random = StdRng::seed_from_u64(seed);
        let mut history = History::begin(&edge).await;
        for _ in 0..STEPS {
            history.step(Step::draw(&mut random)).await;
        }
        // Uses up the remaining attempts.
        history.step(Step::Passwords(FREE)).await;
        history.step(Step::Codes(FREE)).await;
        let (some, others) = history.end().await;
        (passwords, codes) = (passwords.max(some), codes.max(others));
    }
    println!("at most {passwords} passwords and {codes} codes evaluated of one account");
}

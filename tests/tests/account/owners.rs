//! Whatever owner and operator do in between, a stranger sees no difference between an account's address and an unused
//! one (docs/security.md, B1).
//!
//! - Sign-ins, resets, deletions and the operator's deactivations in between; each call from a new network, with 0, 1,
//!   2 or all attempts left.

use std::collections::BTreeMap;

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use rcpt_tests::{
    Account, Edge,
    people::{PASSWORD, Reply, send},
    proof,
};
use reqwest::Method;
use serde_json::json;

const GUESS: &str = "copper-meadow-58-lattice";
/// Number of wrong passwords for one mailbox before the first wait.
const SIGN_INS: usize = 20;
const STEPS: usize = 9;

#[derive(Debug, Clone, Copy)]
enum Step {
    Register,
    SignIn,
    Forgot,
    Verify,
    Reset,
    /// Steps of the owner and the operator; without an account they do nothing.
    OwnerSignsIn,
    OwnerResets,
    OwnerDeletes,
    OperatorDeactivates,
    OperatorReactivates,
}

const STEPS_OF_ALL: [Step; 10] = [
    Step::Register,
    Step::SignIn,
    Step::Forgot,
    Step::Verify,
    Step::Reset,
    Step::OwnerSignsIn,
    Step::OwnerResets,
    Step::OwnerDeletes,
    Step::OperatorDeactivates,
    Step::OperatorReactivates,
];

/// Source of a new network for each of a stranger's calls.
struct Networks(u32);

impl Networks {
    fn next(&mut self) -> String {
        self.0 += 1;
        format!("100.64.{}.{}", self.0 / 250, self.0 % 250 + 1)
    }
}

impl Step {
    /// Sends the stranger's request, or returns `None` for a step of the owner or the operator.
    async fn of_stranger(self, edge: &Edge, email: &str, network: &str) -> Option<Reply> {
        let (path, body) = match self {
            Self::Register => ("/auth/register", json!({ "email": email, "password": GUESS })),
            Self::SignIn => ("/auth/login", json!({ "email": email, "password": GUESS })),
            Self::Forgot => ("/auth/forgot-password", json!({ "email": email })),
            Self::Verify => ("/auth/verify-email", json!({ "token": "a-token-that-was-guessed" })),
            Self::Reset => (
                "/auth/reset-password",
                json!({ "token": "a-token-that-was-guessed", "password": GUESS }),
            ),
            _ => return None,
        };
        let request = edge.anonymous().request(Method::POST, path).json(&body);
        Some(send(request.header("cf-connecting-ip", network)).await)
    }
}

/// An account: the owner's credentials, and whether the account is deleted or active.
struct Owned {
    email: String,
    password: String,
    resets: usize,
    is_deleted: bool,
    is_active: bool,
}

impl Owned {
    fn of(account: &Account) -> Self {
        let (email, password) = (account.email.clone(), PASSWORD.to_owned());
        Self { email, password, resets: 0, is_deleted: false, is_active: true }
    }

    async fn signed_in(&self, edge: &Edge) -> Option<Account> {
        let reply = edge.anonymous().login(&self.email, &self.password).await;
        let is_in = reply.status == 200;
        is_in.then(|| Account::from_credentials(&edge.anonymous(), &self.password, &reply))
    }

    async fn act(&mut self, step: Step, edge: &Edge) {
        if self.is_deleted {
            return;
        }
        match step {
            Step::OwnerSignsIn => drop(self.signed_in(edge).await),
            Step::OwnerDeletes => {
                let Some(account) = self.signed_in(edge).await else { return };
                let reply = account.delete("/me", &json!({ "password": self.password })).await;
                assert_eq!(reply.status, 204, "{}", reply.body);
                self.is_deleted = true;
            }
            Step::OwnerResets => {
                // Uses the newest link; strangers also request links for both addresses.
                edge.wait_for_reset_mails().await;
                let mails = edge.mailbox().mails_to(&self.email);
                let link = mails.iter().rev().find_map(|mail| mail.token());
                let (Some(token), true) = (link, self.is_active) else { return };
                self.resets += 1;
                let password = format!("amber-willow-63-harbour-{}", self.resets);
                if edge.anonymous().reset_password(token, &password).await.status == 200 {
                    self.password = password;
                }
            }
            Step::OperatorDeactivates => {
                edge.set(&self.email, "state = 'deactivated'").await;
                self.is_active = false;
            }
            Step::OperatorReactivates => {
                edge.set(&self.email, "state = 'confirmed'").await;
                self.is_active = true;
            }
            _ => {}
        }
    }
}

/// Everything by which a stranger could distinguish two addresses. Digits are removed,
/// because times differ.
fn view_of(reply: &Reply, email: &str) -> (u16, BTreeMap<String, String>, String) {
    let without_digits = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    let own = ["x-request-id", "date", "content-length"];
    let headers = reply.headers.iter().filter(|(name, _)| !own.contains(&name.as_str()));
    let headers = headers
        .map(|(name, value)| (name.to_string(), without_digits(value.to_str().unwrap())))
        .collect();
    let body = reply.body.to_string().replace(email, "(address)");
    (reply.status, headers, without_digits(&body))
}

async fn history(edge: &Edge, networks: &mut Networks, seed: u64, steps_left: usize) {
    let mut random = StdRng::seed_from_u64(seed);
    let nobody = edge.new_email();
    let mut owned = Owned::of(&edge.account().await);
    let mut steps = vec![Step::SignIn; SIGN_INS - steps_left];
    for _ in 0..STEPS {
        steps.push(STEPS_OF_ALL[random.random_range(0..STEPS_OF_ALL.len())]);
    }
    // Each history ends with the steps that are most useful to a guesser.
    steps.extend([Step::SignIn, Step::SignIn, Step::Forgot, Step::Register]);
    for (number, step) in steps.iter().copied().enumerate() {
        owned.act(step, edge).await;
        let member = step.of_stranger(edge, &owned.email, &networks.next()).await;
        let stranger = step.of_stranger(edge, &nobody, &networks.next()).await;
        let (Some(member), Some(stranger)) = (member, stranger) else { continue };
        let (a, b) = (view_of(&member, &owned.email), view_of(&stranger, &nobody));
        assert_eq!(a, b, "seed {seed}, {steps_left} left, step {number} of {steps:?}");
        // The waits may differ by a few seconds, because the calls are made one after the other.
        let wait = |reply: &Reply| {
            let after = reply.headers.get("retry-after");
            after.map_or(0, |after| after.to_str().unwrap().parse::<i64>().unwrap())
        };
        assert!((wait(&member) - wait(&stranger)).abs() <= 5, "seed {seed}, step {number}");
    }
}

/// With `PROOF`, more histories are tried.
#[tokio::test]
async fn whatever_owner_and_operator_do_strangers_see_the_same_of_both_addresses() {
    let edge = Edge::builder().with_waits().start().await.unwrap();
    let mut networks = Networks(0);
    let histories = proof::count(2, 40) as u64;
    for seed in 0..histories {
        for steps_left in [0, 1, 2, SIGN_INS] {
            history(&edge, &mut networks, seed * 10 + steps_left as u64, steps_left).await;
        }
    }
    println!("{} histories, each alike for a member and a stranger", histories * 4);
}

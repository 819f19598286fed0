//! No sequence of anonymous calls reveals whether an address has an account: status, body, headers and D1 round trips
//! are the same (docs/security.md, B1).
//!
//! - Every sequence of up to three of register, sign in, forgot, verify and reset (two in the short form), with a
//!   member's and an unknown address: equal status, headers, body and trips.

use std::collections::BTreeMap;

use rcpt_tests::{Edge, Reply, proof, service::shim::Counts};

const GUESS: &str = "copper-meadow-58-lattice";

#[derive(Debug, Clone, Copy)]
enum Call {
    Register,
    SignIn,
    Forgot,
    Verify,
    Reset,
}

const CALLS: [Call; 5] = [Call::Register, Call::SignIn, Call::Forgot, Call::Verify, Call::Reset];

impl Call {
    async fn make(self, edge: &Edge, email: &str) -> Reply {
        let anonymous = edge.anonymous();
        match self {
            Self::Register => anonymous.register(email, GUESS).await,
            Self::SignIn => anonymous.login(email, GUESS).await,
            Self::Forgot => anonymous.forgot_password(email).await,
            Self::Verify => anonymous.verify_email("a-token-that-was-guessed").await,
            Self::Reset => anonymous.reset_password("a-token-that-was-guessed", GUESS).await,
        }
    }
}

/// Everything in a response that could differ between addresses, without the address itself.
type Shown = (u16, BTreeMap<String, String>, String, u64, u64);

fn shown(reply: &Reply, email: &str, cost: Counts) -> Shown {
    let own = ["x-request-id", "date", "content-length"];
    let headers = reply.headers.iter().map(|(name, value)| (name.to_string(), value));
    let headers = headers.filter(|(name, _)| !own.contains(&name.as_str()));
    let headers = headers.map(|(name, value)| (name, value.to_str().unwrap().to_owned())).collect();
    let body = reply.body.to_string().replace(email, "(address)");
    (reply.status, headers, body, cost.d1_trips, cost.d1_statements)
}

async fn play(edge: &Edge, email: &str, sequence: &[Call]) -> Vec<Shown> {
    let mut all = Vec::new();
    for call in sequence {
        edge.counts().await;
        let reply = call.make(edge, email).await;
        edge.wait_for_reset_mails().await;
        all.push(shown(&reply, email, edge.counts().await));
    }
    all
}

/// All sequences of `length` calls.
fn sequences(length: usize) -> Vec<Vec<Call>> {
    (0..length).fold(vec![Vec::new()], |shorter, _| {
        let longer =
            shorter.iter().flat_map(|start| CALLS.map(|call| [&start[..], &[call]].concat()));
        longer.collect()
    })
}

/// Plays all sequences of up to two calls, with `PROOF` of up to three.
#[tokio::test]
async fn every_sequence_is_answered_alike_for_members_and_strangers() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let member = edge.account().await.email;
    let all: Vec<_> = (1..=proof::count(2, 3)).flat_map(sequences).collect();
    for sequence in &all {
        let stranger = edge.new_email();
        let answers = play(&edge, &stranger, sequence).await;
        assert_eq!(answers, play(&edge, &member, sequence).await, "{sequence:?}");
    }
    println!("{} sequences, each alike for a member and a stranger", all.len());
}

#[tokio::test]
async fn an_unconfirmed_account_signs_in_as_one_that_does_not_exist() {
    let edge = Edge::builder().start().await.unwrap();
    let (email, _) = edge.registered().await;
    let reply = edge.anonymous().login(&email, rcpt_tests::people::PASSWORD).await;
    reply.assert_error(401, "invalid_credentials", "with the right password");
    assert!(reply.text("detail").contains("hasn't been confirmed yet"), "{}", reply.body);
}

//! Accounts end to end, from registration to deletion, and their protection against abuse.

mod abuse;
mod access;
mod admin;
mod answers;
mod bad_input;
mod beside_abuse;
mod codes;
mod confirmation;
mod databases;
mod deletion;
mod disposable_domains;
mod email_change;
mod enumeration;
mod export;
mod guesses;
mod hashing_turns;
mod housekeeping;
mod interleavings;
mod key_display;
mod key_emails;
mod keys;
mod mail_budgets;
mod mail_domains;
mod mail_failure;
mod mailboxes;
mod malformed;
mod notices;
mod operator_calls;
mod operator_recovery;
mod operator_walks;
mod opt_outs;
mod owners;
mod passkey_refusals;
mod passkeys;
mod passwords;
mod plans;
mod previous_release;
mod profile;
mod recovery_codes;
mod registration;
mod reset_factors;
mod resets;
mod restore;
mod rotation;
mod route_costs;
mod rows;
mod secret_replacement;
mod secret_rotation;
mod security_events;
mod session_list;
mod session_use;
mod sessions;
mod sign_in;
mod sign_out;
mod specification;
mod strangers;
mod takeovers;
mod throttling;
mod tombstones;
mod turnstile;
mod two_factor;
mod two_parties;
mod usage;
mod walk;

use rcpt_tests::Edge;
use tokio::sync::OnceCell;

/// The edge shared by most of these tests; each test creates its own accounts.
async fn edge() -> &'static Edge {
    static EDGE: OnceCell<Edge> = OnceCell::const_new();
    EDGE.get_or_init(async || Edge::builder().start().await.unwrap()).await
}

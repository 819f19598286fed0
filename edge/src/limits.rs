//! All limits: for which party, and how high. Each is checked before the work that it protects, cheap ones first.
//!
//! `shield`, by data centre, approximately:
//!
//! | who | may |
//! |---|---|
//! | a client network (IPv4 address, /64) without credentials | 60 requests a minute |
//! | a client site (IPv6 /48) without credentials | 240 requests a minute |
//! | a session; a version of a key | 120 requests a minute each, checks and scans aside |
//! | all sessions of an account; all its keys | 600 requests a minute each, and 600 scan requests |
//! | an account; its guard's hook | 2,000 checks in ten seconds; 2,000 calls |
//! | the test keys of an account | 100 checks in ten seconds |
//! | an account's guard, without a check | 120 answers a minute from the list of disposable domains |
//!
//! By isolate:
//!
//! | who | may | where |
//! |---|---|---|
//! | all sessions of an account; all its keys | 20 requests at once, then 10 a second; 5 s of waiting | `pace` |
//! | a reader of a guard's policy; an account | one reading, one write of refusals in ten seconds | `app/` |
//! | a client site, or a client network without one | half of the password hashes, ten at once | `hashing` |
//! | all clients | one password hash at a time, 10 s of waiting | `hashing` |
//! | a dead key, an ended session; for ten seconds, a used-up allowance | nothing, without asking D1 | `refusals` |
//!
//! Exactly, in D1:
//!
//! | who | may | where |
//! |---|---|---|
//! | a network; an address or account signed in to; a link; all mails of a day | attempts up to a limit | `rules` |
//! | an account | its plan's checks and scans a day, and checks in flight | `quota`, `ledger/` |
//!
//! The shields' numbers are in wrangler.toml, those of plans in D1, all others in `config/reader.rs` or constants.

pub mod hashing;
pub mod pace;
pub mod quota;
pub mod refusals;
pub mod rules;
pub mod shield;
pub mod throttle;

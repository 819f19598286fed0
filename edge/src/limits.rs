//! All limits: for which party, and how high. Each limit is checked before the work that it
//! protects, cheap limits first.
//!
//! | who | may | counted | where |
//! |---|---|---|---|
//! | a client network (IPv4 address, /64) without credentials | 60 requests a minute | by data centre, approximately | `shield` |
//! | an IPv6 site (/48) without credentials | 240 requests a minute | by data centre, approximately | `shield` |
//! | a session; a version of a key | 120 requests a minute each, checks and scans aside | by data centre, approximately | `shield` |
//! | all sessions of an account; all its keys | 600 requests a minute each, checks and scans aside | by data centre, approximately | `shield` |
//! | all sessions of an account; all its keys | 20 requests at once, then 10 a second; 5 s of waiting | by isolate | `pace` |
//! | all sessions of an account; all its keys | 600 scan requests a minute each | by data centre, approximately | `shield` |
//! | an account | 2,000 checks in ten seconds | by data centre, approximately | `shield` |
//! | the test keys of an account | 100 checks in ten seconds | by data centre, approximately | `shield` |
//! | the guard's hook of an account | 2,000 calls in ten seconds | by data centre, approximately | `shield` |
//! | an account's guard, without a check | 120 answers a minute from the list of disposable domains | by data centre, approximately | `shield` |
//! | a caller or a hook of the guard; an account | one reading of its policy, one write of its refusals in ten seconds | by isolate | `app/policies.rs`, `app/refusal_counts.rs` |
//! | a site, or a network without one | half of the password hashes, ten at once | by isolate | `hashing` |
//! | all clients | one password hash at a time, 10 s of waiting | by isolate | `hashing` |
//! | a network; an address or account that is signed in to; a mailed link; all mails of a day | attempts up to a limit, in buckets that drain | exactly, in D1 | `rules`, `throttle` |
//! | an account | its plan's checks and scans a day, and checks in flight | exactly, in D1 | `quota`, `ledger/charge.rs`, `scans/scans_sql.rs` |
//! | a caller whose key is dead or whose session has ended; for ten seconds, one whose allowance is used up | nothing, without asking D1 again | by isolate | `refusals` |
//!
//! The numbers of the shields are in wrangler.toml, those of plans in D1. All others are settings (`config/reader.rs`)
//! or constants.

pub mod hashing;
pub mod pace;
pub mod quota;
pub mod refusals;
pub mod rules;
pub mod shield;
pub mod throttle;

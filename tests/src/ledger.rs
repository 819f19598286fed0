//! The proof of the quota ledger (trust Q2): random histories of an account are run against the real
//! Worker and D1, beside a model that says what must come of each step.
//!
//! The Worker's clock cannot be moved, so time passes in the database instead: the end of a lease is
//! rewritten as long ago, and at midnight everything that is recorded of the account becomes a day
//! older. Both look to every statement exactly as if the clock had moved: they compare these columns with
//! the clock, and with nothing else.

pub mod model;
pub mod run;
pub mod shrink;
pub mod step;

pub use model::Model;
pub use run::World;
pub use step::Step;

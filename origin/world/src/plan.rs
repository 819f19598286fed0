//! The plan of a run: its seed, length, population, and what is varied.

use std::time::Duration;

use rcpt_pool::Pace;

use crate::clock::{DAY, HOUR};

/// Longer than the pool remembers parties that were slow or refused: an hour at most.
const QUIET: Duration = Duration::from_secs(2 * 3_600);

/// Usual time from one list to the next.
pub const LISTS_APART: Duration = Duration::from_secs(300);

/// The plan of a run.
#[derive(Clone)]
pub struct Plan {
    pub seed: u64,
    pub lasts: Duration,
    /// Time without customers after it.
    pub quiet: Duration,
    /// Origins, each with its source addresses.
    pub origins: usize,
    pub sources_each: usize,
    pub customers: Population,
    /// The pool's limits are in force; else only the machines' own limits are left.
    pub limited: bool,
    /// Multiplies the servers' limits.
    pub leniency: Leniency,
    /// Refused recipients in an hour, of every operator and machine, in place of the configured numbers.
    pub refused_per_hour: Option<usize>,
    /// Numbers of the pool that no setting changes.
    pub pace: Pace,
    pub events: Events,
}

/// Customers at once.
#[derive(Clone, Copy, Default)]
pub struct Population {
    /// Sign-up forms, and checks a day of each.
    pub forms: usize,
    pub checks_per_form: usize,
    /// List owners, and addresses of each one's list a day.
    pub lists: usize,
    pub addresses_per_list: usize,
    /// Time of day at which the first list comes, and from each list to the next.
    pub lists_at: Duration,
    pub lists_apart: Duration,
    /// The owner whose list comes, if the others' don't.
    pub only_list: Option<usize>,
    /// Percent of the addresses of a list that are dead: the first owner has the least, the last the most.
    pub dead_percent: (usize, usize),
    /// Whether an account has a dictionary.
    pub has_dictionary: bool,
    /// Accounts that each stay under every limit.
    pub crowd: usize,
    /// Attackers who pay for a new account again and again.
    pub newcomers: usize,
    /// Owners of slow domains.
    pub slow: usize,
}

/// Factors of the servers' limits.
#[derive(Clone, Copy)]
pub struct Leniency {
    pub google: f64,
    pub microsoft: f64,
    pub yahoo: f64,
    pub shared_hosting: f64,
    pub gateway: f64,
}

impl Leniency {
    pub const USUAL: Self = Self::all(1.0);

    /// The same factor for every kind of server.
    pub const fn all(factor: f64) -> Self {
        Self {
            google: factor,
            microsoft: factor,
            yahoo: factor,
            shared_hosting: factor,
            gateway: factor,
        }
    }

    /// Factor of a kind of server.
    pub fn of(&self, kind: &str) -> f64 {
        match kind {
            "google" => self.google,
            "microsoft" => self.microsoft,
            "yahoo" => self.yahoo,
            "shared_hosting" => self.shared_hosting,
            "gateway" => self.gateway,
            _ => 1.0,
        }
    }
}

/// Actions of the operator.
#[derive(Clone, Copy, Default)]
pub struct Events {
    /// An origin is restarted at three o'clock each night.
    pub restarts_nightly: bool,
    /// The first source address is listed from then, for so long.
    pub listed: Option<(Duration, Duration)>,
    /// All of Google's machines are silent from then, for so long.
    pub hung: Option<(Duration, Duration)>,
    /// Each origin gets a source address that is new.
    pub added: Option<Added>,
}

/// A source address that is taken into use.
#[derive(Clone, Copy)]
pub struct Added {
    pub at: Duration,
    /// Time in which the rate of batches doubles. The shipped rates double in two days; another time is simulated by
    /// a shifted beginning.
    pub doubles_in: Duration,
}

impl Population {
    /// A tenth of the population that one origin's documents speak of: a hundred forms of 400 checks a day, and twenty
    /// lists of 5,000 addresses.
    pub const TENTH: Self = Self {
        forms: 10,
        checks_per_form: 400,
        lists: 4,
        addresses_per_list: 2_500,
        lists_at: Duration::from_secs(8 * 3_600),
        lists_apart: LISTS_APART,
        only_list: None,
        dead_percent: (5, 30),
        has_dictionary: false,
        crowd: 0,
        newcomers: 0,
        slow: 0,
    };
    pub const FORMS_ALONE: Self = Self { lists: 0, ..Self::TENTH };
    pub const EVERYBODY: Self = Self { has_dictionary: true, crowd: 50, slow: 5, ..Self::TENTH };
}

impl Plan {
    /// A day of a tenth of the population, without an attacker.
    pub const fn day(seed: u64) -> Self {
        Self {
            seed,
            lasts: DAY,
            quiet: QUIET,
            origins: 3,
            sources_each: 1,
            customers: Population::TENTH,
            limited: true,
            leniency: Leniency::USUAL,
            refused_per_hour: None,
            pace: Pace::USUAL,
            events: Events { restarts_nightly: true, listed: None, hung: None, added: None },
        }
    }

    /// Hours around noon, with few customers.
    pub fn hours(seed: u64, hours: u32) -> Self {
        Self { lasts: HOUR * hours, ..Self::day(seed) }
    }
}

//! The plan of a run: its seed, length, population and variations.

use std::time::Duration;

use rcpt_pool::Pace;

use crate::clock::{DAY, HOUR};

/// Time without customers at the end. The pool's records of slow or refused parties live for an hour at most.
const QUIET_TIME: Duration = Duration::from_secs(2 * 3_600);

/// Usual time from one list to the next.
pub const LIST_INTERVAL: Duration = Duration::from_secs(300);

/// Settings of a simulated run.
#[derive(Clone)]
pub struct Plan {
    pub seed: u64,
    pub lasts: Duration,
    /// Time without customers after `lasts`.
    pub quiet: Duration,
    /// Number of origins; each has `sources_each` source addresses.
    pub origins: usize,
    pub sources_each: usize,
    pub customers: Population,
    /// False to disable all of the pool's limits.
    pub limited: bool,
    pub leniency: Leniency,
    /// Limit of refused recipients an hour at every operator and machine; `None` for the configured limits.
    pub refused_per_hour: Option<usize>,
    /// Constants of the pool that no setting changes.
    pub pace: Pace,
    pub events: Events,
}

/// Numbers of customers of each kind.
#[derive(Clone, Copy, Default)]
pub struct Population {
    /// Number of sign-up forms, each with `checks_per_form` a day.
    pub forms: usize,
    pub checks_per_form: usize,
    /// Number of list owners; each has a list of `addresses_per_list` a day.
    pub lists: usize,
    pub addresses_per_list: usize,
    /// Time of day of the first list; each further list starts `lists_apart` later.
    pub lists_at: Duration,
    pub lists_apart: Duration,
    /// The only owner whose list is checked; `None` for all.
    pub only_list: Option<usize>,
    /// Percentage of dead addresses in the first owner's list, and in the last owner's.
    pub dead_percent: (usize, usize),
    /// True if one account guesses with a dictionary.
    pub has_dictionary: bool,
    /// Number of guessing accounts that each stay under every limit.
    pub crowd: usize,
    /// Number of attackers who keep paying for new accounts.
    pub newcomers: usize,
    /// Number of owners of slow domains.
    pub slow: usize,
}

/// Factors of the servers' limits; above 1, a server is more lenient.
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

    /// The factor of a kind of server.
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

/// Actions of the service's operator, and incidents at other parties.
#[derive(Clone, Copy, Default)]
pub struct Events {
    /// True to restart one origin at three o'clock each night.
    pub restarts_nightly: bool,
    /// Start and duration of a blocklist's entry for the first source address.
    pub listed: Option<(Duration, Duration)>,
    /// Start and duration of a time in which all of Google's machines are silent.
    pub hung: Option<(Duration, Duration)>,
    /// New source address of each origin.
    pub added: Option<Added>,
}

/// A source address that each origin gets during the run.
#[derive(Clone, Copy)]
pub struct Added {
    pub at: Duration,
    /// Time in which the rate of batches doubles. The shipped rates double in two days; another time is simulated by
    /// shifting the date of first use.
    pub doubles_in: Duration,
}

impl Population {
    /// A tenth of the documented population of a hundred forms with 400 checks a day, and twenty lists of 5,000
    /// addresses.
    pub const TENTH: Self = Self {
        forms: 10,
        checks_per_form: 400,
        lists: 4,
        addresses_per_list: 2_500,
        lists_at: Duration::from_secs(8 * 3_600),
        lists_apart: LIST_INTERVAL,
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
    /// The plan of a day with a tenth of the population, without an attacker.
    pub const fn day(seed: u64) -> Self {
        Self {
            seed,
            lasts: DAY,
            quiet: QUIET_TIME,
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

    /// [`Plan::day`], cut to its first `hours`.
    pub fn hours(seed: u64, hours: u32) -> Self {
        Self { lasts: HOUR * hours, ..Self::day(seed) }
    }
}

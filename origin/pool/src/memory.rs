//! Memory that survives a restart: operators' refused recipients of the last hour, lowered rates, moves to other source
//! addresses, and machines that have banned us. All names in the memory are keyed hashes, and servers' words are left
//! out.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{
    Key, Pool,
    bans::BanMemory,
    moves::Move,
    remembered::{Clocks, HourMemory, RateMemory},
    site_key::SiteKey,
};

/// Maximum number of groups and accounts whose refused recipients are stored, those with most refusals first. A party
/// takes about 22 bytes.
const MAX_PARTIES: usize = 512;
/// Maximum number of pairs of an operator and a source address; each takes about 60 bytes.
const MAX_SITES: usize = 256;

/// Memory of one pool for the next process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    sites: Vec<SiteMemory>,
    rests: Vec<Rest>,
    bans: Vec<BanMemory>,
}

/// Times are in Unix seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SiteMemory {
    operator: Key,
    source: Key,
    rate: Option<RateMemory>,
    refused: HourMemory,
    parties: Vec<(Key, HourMemory)>,
}

/// A move of an operator's domains from one source address to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Rest {
    operator: Key,
    from: Key,
    to: Key,
    at: u64,
}

impl<S: Send + 'static> Pool<S> {
    fn clocks(&self) -> Clocks {
        Clocks { now: Instant::now(), unix_now: (self.unix_now)() }
    }

    fn operator_key(&self, name: &str) -> Key {
        self.keys.hash_one(("operator", name))
    }

    fn source_key(&self, label: &str) -> Key {
        self.keys.hash_one(("source", label))
    }

    /// The pool's memory for the next process.
    pub fn memory(&self) -> Memory {
        let clocks = self.clocks();
        let operator_key = |id| self.operator_key(&self.operator_name(id));
        let source_key = |number| self.source_key(&self.source(number));
        let mut memory = Memory::default();
        let state = self.lock();
        for (key, site) in state.sites.iter() {
            let SiteKey::Operator(operator, identity) = key else { continue };
            let Some(meter) = site.sessions.known_meter(None) else { continue };
            let (refused, parties) = meter.refusals.to_memory(clocks.now);
            let rate = meter.rate.to_memory(clocks);
            if rate.is_some() || refused != HourMemory::default() {
                let (operator, source) = (operator_key(*operator), source_key(*identity));
                memory.sites.push(SiteMemory { operator, source, rate, refused, parties });
            }
        }
        for ((operator, from), Move { to, at }) in &state.moves {
            memory.rests.push(Rest {
                operator: operator_key(*operator),
                from: source_key(*from),
                to: source_key(*to),
                at: clocks.unix(*at),
            });
        }
        memory.bans = state.bans.to_memory(clocks);
        drop(state);
        memory.shorten();
        memory
    }

    /// Loads the memory of a process that ended `pause` ago. Operators and source addresses that
    /// are unknown here are ignored.
    pub fn recall(&self, memory: &Memory, pause: Duration) {
        let (clocks, settings) = (self.clocks(), self.settings());
        let rows = settings.operators.rows();
        let operator = |key| rows.iter().position(|row| self.operator_key(&row.name) == key);
        let sources = &settings.sources;
        let source = |key| sources.iter().position(|it| self.source_key(&it.label) == key);
        let mut state = self.lock();
        for known in &memory.sites {
            let (Some(operator), Some(identity)) = (operator(known.operator), source(known.source))
            else {
                continue;
            };
            let key = SiteKey::Operator(operator, identity);
            let meter = self.site(&mut state, &key).meter(None);
            meter.refusals.recall(known.refused, &known.parties, pause, clocks.now);
            if let Some(rate) = known.rate {
                meter.rate.recall(rate, clocks);
            }
        }
        state.bans.recall(&memory.bans, clocks);
        for rest in &memory.rests {
            let (Some(operator), Some(from), Some(to)) =
                (operator(rest.operator), source(rest.from), source(rest.to))
            else {
                continue;
            };
            let at = clocks.instant(rest.at);
            state.moves.insert((operator, from), Move { to, at });
        }
    }
}

impl Memory {
    /// Number of sites, rests and bans.
    pub fn len(&self) -> usize {
        self.sites.len() + self.rests.len() + self.bans.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shorten(&mut self) {
        let sum = |hour: &HourMemory| hour.iter().sum::<u32>();
        let weight = |site: &SiteMemory| (site.rate.is_some(), sum(&site.refused));
        self.sites
            .sort_by_key(|site| std::cmp::Reverse((weight(site), site.operator, site.source)));
        self.sites.truncate(MAX_SITES);
        let parties = self.sites.iter().flat_map(|site| &site.parties);
        let mut sums: Vec<_> = parties.map(|(_, hour)| sum(hour)).collect();
        sums.sort_unstable_by(|a, b| b.cmp(a));
        let least = sums.get(MAX_PARTIES).map_or(0, |most_left_out| most_left_out + 1);
        for site in &mut self.sites {
            site.parties.retain(|(_, hour)| sum(hour) >= least);
        }
    }
}

//! Bounds of the pools' memory: it grows with parties, domains and machines, not with questions; entries that grow with
//! domains expire.

use anyhow::Result;
use rcpt_pool::Entries;

use crate::{desk, plan::Plan, town::Town};

/// Maximum number of accounts whose pasts one pool remembers.
const PASTS_MAX: usize = 20_000;

/// Maximum numbers of entries of one origin's pool.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryBounds {
    pub sites: usize,
    pub meters: usize,
    pub gates: usize,
    pub pasts: usize,
    pub bans: usize,
    /// Sites of operators, which are never forgotten.
    pub operators: usize,
}

impl MemoryBounds {
    /// The bounds for a run of `plan` in `town`.
    pub fn of(plan: &Plan, town: &Town) -> Result<Self> {
        let customers = plan.customers;
        let customers_with_past =
            customers.forms + customers.lists + 1 + customers.crowd + customers.slow;
        let sources = plan.sources_each + usize::from(plan.events.added.is_some());
        let domains: usize = town.domains.values().map(Vec::len).sum();
        let places = sources * (town.machines.len() + 1);
        Ok(Self {
            operators: sources * desk::operators(plan)?.rows().len(),
            sites: places,
            bans: town.machines.len(),
            meters: places + sources * domains,
            gates: sources * (domains + town.machines.len()),
            // An attacker who keeps changing accounts fills the pool's memory of pasts.
            pasts: if customers.newcomers == 0 { customers_with_past } else { PASTS_MAX },
        })
    }

    /// Number of entries that an idle pool should have removed within two hours: machines, domains and addresses.
    /// Operators' sites stay; their other entries stay until the next question, pasts for a day.
    pub const fn not_forgotten(&self, entries: Entries) -> usize {
        entries.gates + entries.sites.saturating_sub(self.operators)
    }

    /// A text for each bound that is exceeded.
    pub fn exceeded(&self, entries: Entries) -> Vec<String> {
        let Entries { sites, meters, gates, pasts, bans, .. } = entries;
        [
            ("sites", sites, self.sites),
            ("meters", meters, self.meters),
            ("gates", gates, self.gates),
            ("pasts", pasts, self.pasts),
            ("bans", bans, self.bans),
        ]
        .into_iter()
        .filter(|(_, count, most)| count > most)
        .map(|(name, count, most)| format!("{count} {name} in memory, {most} at most"))
        .collect()
    }
}

/// Number of all entries of a pool.
pub const fn total(entries: Entries) -> usize {
    let Entries { sites, meters, gates, parties, pasts, bans } = entries;
    sites + meters + gates + parties + pasts + bans
}

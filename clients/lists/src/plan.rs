//! Which addresses of a list are checked, and which check each row waits for.

use std::collections::{HashMap, hash_map::Entry};

use rcpt_shared::Address;
use sha2::{Digest as _, Sha256};

use crate::{
    cell::{Subject, subject},
    list::List,
    typing,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    pub once: bool,
    /// Upper and lower case before the `@` are different mailboxes, as RFC 5321 §2.4 allows and nobody does.
    pub case_matters: bool,
}

impl Default for Repeats {
    fn default() -> Self {
        Self { once: true, case_matters: false }
    }
}

#[derive(Debug, Default)]
pub struct Plan {
    pub addresses: Vec<String>,
    pub first_rows: Vec<u32>,
    pub rows: Vec<RowPlan>,
    pub counts: Counts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowPlan {
    Empty,
    NotAnAddress,
    /// Its address isn't in the scan that the list was joined with.
    NotInScan,
    Position(u32),
    Several(Box<[u32]>),
}

impl RowPlan {
    #[must_use]
    pub fn positions(&self) -> &[u32] {
        match self {
            Self::Empty | Self::NotAnAddress | Self::NotInScan => &[],
            Self::Position(position) => std::slice::from_ref(position),
            Self::Several(positions) => positions,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub rows: usize,
    pub addresses: usize,
    pub repeated: usize,
    pub not_an_address: usize,
    pub empty: usize,
    pub several: usize,
    /// Rows with an address that the joined scan doesn't have.
    pub not_in_scan: usize,
}

/// Bytes of the hash over scan and address that a scan's sender keeps for each position. Of 100,000 positions, two are
/// equal by chance once in four thousand million scans.
pub const TAG_BYTES: usize = 8;

type Tag = [u8; TAG_BYTES];

fn identity(address: &Address, case_matters: bool) -> String {
    if case_matters { address.normal().to_owned() } else { address.normal().to_lowercase() }
}

fn tag(scan: &str, identity: &str) -> Tag {
    let mut hash = Sha256::new();
    hash.update(scan);
    hash.update("\n");
    hash.update(identity);
    let digest = hash.finalize();
    digest.first_chunk().copied().unwrap_or_default()
}

impl Plan {
    pub(crate) fn address(&self, position: u32) -> &str {
        let place = usize::try_from(position).unwrap_or(usize::MAX);
        self.addresses.get(place).map_or("", String::as_str)
    }

    #[must_use]
    pub fn meant(&self, position: u32, reason: &str) -> Option<String> {
        typing::meant(self.address(position), reason)
    }

    /// The tags follow each other without a separator.
    #[must_use]
    pub fn tags(&self, scan: &str, case_matters: bool) -> Vec<u8> {
        let tag_of = |text: &String| match subject(text) {
            Subject::Addresses(found) => {
                found.first().map_or_else(Tag::default, |it| tag(scan, &identity(it, case_matters)))
            }
            Subject::Empty | Subject::NotAnAddress(_) => Tag::default(),
        };
        self.addresses.iter().flat_map(tag_of).collect()
    }
}

impl List {
    #[must_use]
    pub fn plan(&self, repeats: Repeats) -> Plan {
        let mut plan = Plan::default();
        let mut known = HashMap::<String, u32>::new();
        for row in 0..self.len() {
            let planned = match subject(&self.cell(row)) {
                Subject::Empty => {
                    plan.counts.empty += 1;
                    RowPlan::Empty
                }
                Subject::NotAnAddress(_) => {
                    plan.counts.not_an_address += 1;
                    RowPlan::NotAnAddress
                }
                Subject::Addresses(addresses) => {
                    let mut positions = Vec::new();
                    for address in addresses {
                        let next = u32::try_from(plan.addresses.len()).unwrap_or(u32::MAX);
                        let identity = identity(&address, repeats.case_matters);
                        let position = match known.entry(identity) {
                            Entry::Occupied(before) => {
                                plan.counts.repeated += 1;
                                if repeats.once { *before.get() } else { next }
                            }
                            Entry::Vacant(new) => *new.insert(next),
                        };
                        if position == next {
                            plan.addresses.push(address.as_given().to_owned());
                            plan.first_rows.push(u32::try_from(row).unwrap_or(u32::MAX));
                        }
                        positions.push(position);
                    }
                    match positions[..] {
                        [position] => RowPlan::Position(position),
                        _ => {
                            plan.counts.several += 1;
                            RowPlan::Several(positions.into())
                        }
                    }
                }
            };
            plan.rows.push(planned);
        }
        plan.counts.rows = plan.rows.len();
        plan.counts.addresses = plan.addresses.len();
        plan
    }

    /// Joins the list with a scan whose tags were kept: each row waits for the positions of its addresses, wherever it
    /// stands now. `counts.addresses` is the number of positions that the list has.
    #[must_use]
    pub fn joined(&self, scan: &str, tags: &[u8], case_matters: bool) -> Plan {
        let (tags, _) = tags.as_chunks::<TAG_BYTES>();
        let mut known = HashMap::<Tag, u32>::with_capacity(tags.len());
        for (tag, position) in tags.iter().zip(0..) {
            known.entry(*tag).or_insert(position);
        }
        let repeats = Repeats { once: true, case_matters };
        let own = self.plan(repeats);
        let own_tags = own.tags(scan, case_matters);
        let (own_tags, _) = own_tags.as_chunks::<TAG_BYTES>();
        let place = |position: &u32| usize::try_from(*position).unwrap_or(usize::MAX);
        let positions: Vec<Option<u32>> =
            own_tags.iter().map(|tag| known.get(tag).copied()).collect();
        let mut plan = Plan {
            addresses: vec![String::new(); tags.len()],
            first_rows: vec![u32::MAX; tags.len()],
            counts: own.counts,
            ..Plan::default()
        };
        // A scan in which repeats were checked each time has several positions of an address.
        let index: HashMap<&Tag, usize> = own_tags.iter().zip(0..).collect();
        for ((tag, text), first) in tags.iter().zip(&mut plan.addresses).zip(&mut plan.first_rows) {
            let Some(own_index) = index.get(tag) else { continue };
            if let (Some(address), Some(row)) =
                (own.addresses.get(*own_index), own.first_rows.get(*own_index))
            {
                (*text, *first) = (address.clone(), *row);
            }
        }
        let joined = |row: RowPlan| {
            let found: Option<Vec<u32>> = row
                .positions()
                .iter()
                .map(|own| positions.get(place(own)).copied().flatten())
                .collect();
            match (row, found) {
                (row @ (RowPlan::Empty | RowPlan::NotAnAddress | RowPlan::NotInScan), _) => row,
                (_, None) => RowPlan::NotInScan,
                (RowPlan::Position(_), Some(found)) => {
                    found.first().map_or(RowPlan::NotInScan, |at| RowPlan::Position(*at))
                }
                (RowPlan::Several(_), Some(found)) => RowPlan::Several(found.into()),
            }
        };
        plan.rows = own.rows.into_iter().map(joined).collect();
        plan.counts.addresses = positions.iter().flatten().count();
        plan.counts.not_in_scan =
            plan.rows.iter().filter(|row| **row == RowPlan::NotInScan).count();
        plan
    }
}

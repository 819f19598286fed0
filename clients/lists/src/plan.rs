//! Which addresses of a list are checked, and which check each row waits for.

use std::collections::{HashMap, hash_map::Entry};

use crate::{
    cell::{Subject, subject},
    list::List,
};

/// How repeated addresses are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    /// A repeated address is checked once.
    pub once: bool,
    /// Upper and lower case before the `@` are different mailboxes, as RFC 5321 §2.4 allows and nobody does.
    pub case_matters: bool,
}

impl Default for Repeats {
    fn default() -> Self {
        Self { once: true, case_matters: false }
    }
}

/// The checks of a list.
#[derive(Debug, Default)]
pub struct Plan {
    /// The address of each position, as in the file's first row that has it.
    pub addresses: Vec<String>,
    /// The row of each position, from 0.
    pub first_rows: Vec<u32>,
    pub rows: Vec<RowPlan>,
    pub counts: Counts,
}

/// What a row waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowPlan {
    Empty,
    NotAnAddress,
    Position(u32),
    Several(Box<[u32]>),
}

impl RowPlan {
    /// The positions that the row waits for.
    #[must_use]
    pub fn positions(&self) -> &[u32] {
        match self {
            Self::Empty | Self::NotAnAddress => &[],
            Self::Position(position) => std::slice::from_ref(position),
            Self::Several(positions) => positions,
        }
    }
}

/// Numbers of rows, except `addresses`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub rows: usize,
    /// Addresses that are checked.
    pub addresses: usize,
    /// Addresses that repeat an earlier one.
    pub repeated: usize,
    pub not_an_address: usize,
    pub empty: usize,
    /// Rows with several addresses in their cell.
    pub several: usize,
}

impl List {
    /// Returns the checks of the list.
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
                        let identity = if repeats.case_matters {
                            address.normal().to_owned()
                        } else {
                            address.normal().to_lowercase()
                        };
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
}

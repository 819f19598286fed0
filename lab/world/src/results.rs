//! Results of a run: customers' answers and waiting times.

use std::{collections::BTreeMap, time::Duration};

use parking_lot::{Mutex, MutexGuard};

/// The result of a form's check.
#[derive(Debug, Clone, Copy)]
pub struct SingleRecord {
    pub at: Duration,
    pub took: Duration,
    pub is_answered: bool,
    /// True if the server replied about the recipient.
    pub is_decided: bool,
    pub kind: &'static str,
}

/// Result of a list, at its end or at the end of its day.
#[derive(Debug, Clone, Copy)]
pub struct ListRecord {
    pub owner: usize,
    pub started: Duration,
    pub took: Duration,
    /// Time until 95 % of the list's addresses had their final answer.
    pub took_most: Option<Duration>,
    pub total: usize,
    pub answered: usize,
    pub decided: usize,
}

#[derive(Default)]
struct Pages {
    singles: Vec<SingleRecord>,
    lists: Vec<ListRecord>,
    /// Times of the answers of each owner's lists.
    listed_at: BTreeMap<usize, Vec<Duration>>,
}

#[derive(Default)]
pub struct Results(Mutex<Pages>);

impl Results {
    pub fn single(&self, record: SingleRecord) {
        self.pages().singles.push(record);
    }

    pub fn list(&self, record: ListRecord) {
        self.pages().lists.push(record);
    }

    /// Records that an address of an owner's list got its answer.
    pub fn record_list_answer(&self, owner: usize, at: Duration) {
        self.pages().listed_at.entry(owner).or_default().push(at);
    }

    pub fn singles(&self) -> Vec<SingleRecord> {
        self.pages().singles.clone()
    }

    pub fn lists(&self) -> Vec<ListRecord> {
        self.pages().lists.clone()
    }

    pub fn listed_at(&self) -> BTreeMap<usize, Vec<Duration>> {
        self.pages().listed_at.clone()
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock()
    }
}

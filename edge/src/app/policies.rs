//! The guard's policies, remembered by an isolate: decisions that need no check cost no further trip to D1.

use std::sync::Arc;

use serde::Deserialize;

use crate::{
    account::AccountId,
    credentials::proof::Caller,
    isolate::{FOREVER, Map},
};

#[derive(Debug, Clone, Deserialize)]
pub struct StoredPolicy {
    pub account_id: AccountId,
    pub refuse: String,
    pub allow_domains: String,
    pub block_domains: String,
    pub deadline_ms: u64,
    pub hook_version: u32,
    pub previous_until: u64,
    pub key_version: u32,
}

impl StoredPolicy {
    pub const fn has_hook(&self, version: u32, now: u64) -> bool {
        self.hook_version == version
            || self.hook_version == version.saturating_add(1) && self.previous_until > now
    }
}

const FRESH_MS: u64 = 10_000;
const POLICIES_MAX: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PolicyReader {
    Caller(Caller),
    Hook(AccountId),
}

impl PolicyReader {
    pub const fn account(self) -> AccountId {
        match self {
            Self::Caller(caller) => caller.account,
            Self::Hook(account) => account,
        }
    }
}

type Read = Option<Arc<StoredPolicy>>;

#[derive(Debug)]
pub struct Policies(Map<PolicyReader, (u64, Read)>);

impl Default for Policies {
    fn default() -> Self {
        Self(Map::new(POLICIES_MAX))
    }
}

impl Policies {
    pub fn fresh(&self, reader: PolicyReader, now_ms: u64) -> Option<Read> {
        let (read_at, read) = self.0.get(&reader, now_ms)?;
        (now_ms < read_at.saturating_add(FRESH_MS)).then_some(read)
    }

    /// The last policy that the reader has read, for calls that may not or can't ask the database.
    pub fn at_hand(&self, reader: PolicyReader) -> Read {
        self.0.get(&reader, 0)?.1
    }

    pub fn set(&self, reader: PolicyReader, now_ms: u64, read: Read) {
        self.0.insert(reader, (now_ms, read), FOREVER, now_ms);
    }

    pub fn forget(&self, account: AccountId) {
        self.0.remove_all(|reader| reader.account() == account);
    }
}

#[cfg(test)]
mod tests {
    use super::{FRESH_MS, Policies, PolicyReader};
    use crate::account::AccountId;

    fn hook(account: u64) -> PolicyReader {
        PolicyReader::Hook(AccountId::from_u64(account))
    }

    #[test]
    fn a_policy_is_fresh_for_ten_seconds_and_at_hand_until_it_is_forgotten() {
        let policies = Policies::default();
        assert!(policies.fresh(hook(1), 0).is_none());
        policies.set(hook(1), 5, None);
        assert!(policies.fresh(hook(1), 5 + FRESH_MS - 1).is_some());
        assert!(policies.fresh(hook(1), 5 + FRESH_MS).is_none());
        assert!(policies.fresh(hook(2), 5).is_none(), "another account's");
        policies.forget(AccountId::from_u64(1));
        assert!(policies.fresh(hook(1), 5).is_none());
    }
}

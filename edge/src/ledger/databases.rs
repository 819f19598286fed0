//! The databases. Each account stays in one, whose number is the first part of its id. The first also holds what is
//! looked up by address: the directory and the throttles.

use sha2::{Digest as _, Sha256};

use crate::{
    account::AccountId, cf::database::Database, credentials::keyed_names::MailboxHash, error::Error,
};

/// All databases by number: 0 is the binding `DB`, 1 is `DB_1`.
#[derive(Debug)]
pub struct Databases {
    first: Database,
    others: Vec<Database>,
}

impl Databases {
    pub const fn new(first: Database, others: Vec<Database>) -> Self {
        Self { first, others }
    }

    pub const fn directory(&self) -> &Database {
        &self.first
    }

    /// The database of an account.
    ///
    /// # Errors
    /// [`Error::unavailable`] if that database is no longer bound.
    pub fn of(&self, account: AccountId) -> Result<&Database, Error> {
        let number = account.database();
        let database = self.by_number(number);
        database.ok_or_else(|| Error::unavailable(format!("database {number} is not bound")))
    }

    pub fn by_number(&self, number: u8) -> Option<&Database> {
        match number.checked_sub(1) {
            None => Some(&self.first),
            Some(index) => self.others.get(usize::from(index)),
        }
    }

    /// The databases with their numbers, starting at one that depends on `turn`, so that a time limit doesn't always
    /// cut off the same ones.
    pub fn in_turn(&self, turn: u64) -> impl Iterator<Item = (u8, &Database)> {
        let all = || (0..=u8::MAX).zip(std::iter::once(&self.first).chain(&self.others));
        let count = self.others.len().saturating_add(1);
        let first = usize::try_from(turn % count as u64).unwrap_or_default();
        all().cycle().skip(first).take(count)
    }

    /// The database in which an address without an account is looked up: always the same one, so the time that it takes
    /// reveals nothing.
    pub fn of_unknown_address(&self, hash: &MailboxHash) -> &Database {
        let numbers: Vec<u8> = self.in_turn(0).map(|(number, _)| number).collect();
        self.by_number(choose(&numbers, hash)).unwrap_or(&self.first)
    }
}

/// Rendezvous hashing: an address always gets the same number, and a new number only its share. The hash is keyed, so
/// an outsider can't tell an address's number.
pub fn choose(numbers: &[u8], hash: &MailboxHash) -> u8 {
    let weight = |number: u8| Sha256::new().chain_update([number]).chain_update(hash.as_str());
    let heaviest = numbers.iter().copied().max_by_key(|number| weight(*number).finalize());
    heaviest.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::choose;
    use crate::credentials::keyed_names::MailboxHash;

    #[test]
    fn addresses_are_spread_evenly_and_a_new_number_takes_its_share_only() {
        let mut counts = [0; 4];
        for n in 0..4_000 {
            let hash = MailboxHash::of_no_address(&format!("address {n}"));
            let (before, after) = (choose(&[0, 1, 2], &hash), choose(&[0, 1, 2, 3], &hash));
            assert!(after == before || after == 3, "{before} → {after}");
            counts[usize::from(after)] += 1;
        }
        assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
    }
}

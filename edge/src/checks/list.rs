//! The addresses of a check, and the results so far.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rcpt_shared::{Address, DomainReport, KeyRing, Malformed, Reason, Stage, Status, Verdict};

use super::{
    details::Details,
    result::{ListResult, RETRY_AFTER_S, ValidationResult},
};
use crate::{
    cf::verdict_cache::CachedVerdict, credentials::keyed_names, outbound::origin_batch::BatchItem,
};

/// 1 to 100 texts in their original order, and their distinct addresses.
pub struct List {
    items: Vec<ListItem>,
    distinct: Vec<DistinctAddress>,
    details: bool,
}

enum ListItem {
    NoAddress(Malformed),
    /// The address as given, and its position among the distinct addresses.
    Address(Address, usize),
}

/// A distinct address of the list, checked once even if it is repeated.
pub struct DistinctAddress {
    pub address: Address,
    pub key: String,
}

/// Result for one distinct address: an earlier verdict, a new one, or none.
#[derive(Debug, Clone)]
pub enum ListAnswer {
    Before(CachedVerdict),
    Now(Box<Verdict>),
    /// No verdict; seconds until the next attempt.
    NotAsked(u32),
}

impl ListAnswer {
    pub fn of(item: &BatchItem) -> Self {
        match item {
            BatchItem::Verdict(verdict) => Self::Now(verdict.clone()),
            BatchItem::NotAsked(after) => Self::NotAsked(*after),
        }
    }

    fn counts(&self) -> bool {
        match self {
            Self::Before(known) => known.counts(),
            Self::Now(verdict) => verdict.status.counts(),
            Self::NotAsked(_) => false,
        }
    }
}

impl List {
    pub fn of(
        texts: impl IntoIterator<Item = Result<Address, Malformed>>,
        details: bool,
        secrets: &KeyRing,
    ) -> Self {
        let mut distinct: Vec<DistinctAddress> = Vec::new();
        let mut positions = HashMap::new();
        let items = texts.into_iter().map(|text| match text {
            Err(malformed) => ListItem::NoAddress(malformed),
            Ok(address) => {
                let position = *positions.entry(address.normal().to_owned()).or_insert_with(|| {
                    let key = keyed_names::of_checked(secrets, &address);
                    distinct.push(DistinctAddress { address: address.clone(), key });
                    distinct.len() - 1
                });
                ListItem::Address(address, position)
            }
        });
        let items = items.collect();
        Self { items, distinct, details }
    }

    pub const fn is_single(&self) -> bool {
        self.items.len() == 1
    }

    pub const fn shows_details(&self) -> bool {
        self.details
    }

    pub fn domains(&self) -> impl Iterator<Item = &str> {
        self.distinct.iter().map(|one| one.address.domain())
    }

    /// Each position is one unit.
    pub fn units(&self) -> u32 {
        u32::try_from(self.items.len()).unwrap_or(u32::MAX)
    }

    pub fn distinct(&self) -> &[DistinctAddress] {
        &self.distinct
    }

    /// A position is charged if its verdict counts or it has no address.
    pub fn charged_positions(&self, answers: &Answers) -> u32 {
        let answers = answers.lock();
        let counts = |item: &&ListItem| match item {
            ListItem::NoAddress(_) => true,
            ListItem::Address(_, position) => {
                answers.get(*position).and_then(Option::as_ref).is_some_and(ListAnswer::counts)
            }
        };
        u32::try_from(self.items.iter().filter(counts).count()).unwrap_or(u32::MAX)
    }

    /// An address without a verdict is reported as not checked.
    pub fn result(&self, answers: &Answers) -> ListResult {
        let unasked = |address: &Address| self.unasked_result(address, UNCHECKED_RETRY_AFTER_S);
        let results = self.results(answers, unasked);
        ListResult {
            results,
            counted: Some(self.charged_positions(answers)),
            pending: None,
            rate_limit: None,
        }
    }

    /// The result at the deadline, from the verdicts that have arrived.
    pub fn pending_result(&self, answers: &Answers) -> ListResult {
        let results = self.results(answers, |address| {
            let pending_details = || Details::pending(address, None, RETRY_AFTER_S);
            ValidationResult::pending(address, self.details.then(pending_details))
        });
        ListResult { results, counted: None, pending: Some(true), rate_limit: None }
    }

    /// Adds what lists and DNS say to the pending result of an address alone.
    pub fn add_facts(&self, result: &mut ListResult, report: DomainReport) {
        if let ([ListItem::Address(address, _)], [result]) =
            (self.items.as_slice(), result.results.as_mut_slice())
            && result.pending.is_some()
        {
            result.details = Some(Details::pending(address, Some(report), RETRY_AFTER_S));
        }
    }

    /// The result at the deadline if nothing has been charged for this response: every position is pending.
    pub fn unsettled_result(&self) -> ListResult {
        let mut result = self.pending_result(&Answers::none_of(self));
        for (item, result) in self.items.iter().zip(&mut result.results) {
            if let ListItem::NoAddress(malformed) = item {
                *result = ValidationResult::pending_text(malformed);
            }
        }
        result
    }

    fn results(
        &self,
        answers: &Answers,
        missing: impl Fn(&Address) -> ValidationResult,
    ) -> Vec<ValidationResult> {
        let answers = answers.lock();
        let result = |item: &ListItem| match item {
            ListItem::NoAddress(malformed) => {
                ValidationResult::of_no_address(malformed, self.details)
            }
            ListItem::Address(address, position) => match answers.get(*position).cloned().flatten()
            {
                None => missing(address),
                Some(ListAnswer::Before(known)) => {
                    ValidationResult::again(address, self.details, known)
                }
                Some(ListAnswer::Now(verdict)) => {
                    let is_cached = verdict.seen_before.is_some();
                    ValidationResult::of(address, *verdict, self.details, is_cached)
                }
                Some(ListAnswer::NotAsked(after)) => self.unasked_result(address, after),
            },
        };
        self.items.iter().map(result).collect()
    }

    fn unasked_result(&self, address: &Address, retry_after: u32) -> ValidationResult {
        let verdict = Verdict {
            retry_after: Some(retry_after),
            ..Verdict::new(Status::FatalException, Reason::OurLimit, Stage::Connect)
        };
        ValidationResult::of(address, verdict, self.details, false)
    }
}

/// Delay if an origin doesn't name one.
const UNCHECKED_RETRY_AFTER_S: u32 = 30;

/// Results so far, by position among the distinct addresses.
pub struct Answers(Mutex<Vec<Option<ListAnswer>>>);

impl Clone for Answers {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.lock().clone()))
    }
}

impl Answers {
    pub fn none_of(list: &List) -> Self {
        Self(Mutex::new(vec![None; list.distinct.len()]))
    }

    pub fn set(&self, position: usize, answer: ListAnswer) {
        if let Some(known) = self.lock().get_mut(position) {
            *known = Some(answer);
        }
    }

    /// Addresses without a result, and their positions.
    pub fn missing_of(&self, list: &List) -> Vec<(usize, Address)> {
        let answers = self.lock();
        let all = list.distinct.iter().zip(answers.iter()).enumerate();
        let missing = all.filter(|(_, (_, answer))| answer.is_none());
        missing.map(|(position, (one, _))| (position, one.address.clone())).collect()
    }

    pub fn has_no_verdict(&self) -> bool {
        let is_verdict = |answer: &Option<ListAnswer>| {
            matches!(answer, Some(ListAnswer::Before(_) | ListAnswer::Now(_)))
        };
        !self.lock().iter().any(is_verdict)
    }

    pub fn fresh_of<'a>(&self, list: &'a List) -> Vec<(&'a DistinctAddress, Box<Verdict>)> {
        let answers = self.lock();
        let fresh = list.distinct.iter().zip(answers.iter()).filter_map(|(one, answer)| {
            let Some(ListAnswer::Now(verdict)) = answer else { return None };
            Some((one, verdict.clone()))
        });
        fresh.collect()
    }

    /// The content stored under an `Idempotency-Key`: for each address the same as in the cache, without the address.
    pub fn to_stored(&self, list: &List) -> Vec<Option<CachedVerdict>> {
        let answers = self.lock();
        let stored = list.distinct.iter().zip(answers.iter()).map(|(one, answer)| match answer {
            Some(ListAnswer::Before(known)) => Some(known.clone()),
            Some(ListAnswer::Now(verdict)) => {
                Some(CachedVerdict::new(verdict, 0, one.address.domain()))
            }
            Some(ListAnswer::NotAsked(_)) | None => None,
        });
        stored.collect()
    }

    pub fn from_stored(stored: Vec<Option<CachedVerdict>>) -> Self {
        let answers = stored.into_iter().map(|known| known.map(ListAnswer::Before));
        Self(Mutex::new(answers.collect()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<ListAnswer>>> {
        // Never contended: an isolate has one thread and holds no lock across an await.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{KeyRing, Reason, Stage, Status, Verdict, read};
    use serde_json::{Value, json};

    use super::{Answers, List, ListAnswer};

    fn list(emails: &[&str]) -> List {
        let secrets = KeyRing::parse(&"w".repeat(43)).unwrap();
        List::of(emails.iter().map(|email| read(email)), false, &secrets)
    }

    fn verdict(status: Status) -> ListAnswer {
        ListAnswer::Now(Box::new(Verdict::new(status, Reason::Accepted, Stage::Rcpt)))
    }

    fn statuses(results: &super::ListResult) -> Vec<Value> {
        results.results.iter().map(|result| json!(result.status)).collect()
    }

    #[test]
    fn a_repetition_is_asked_about_once_and_has_a_result_and_a_unit_of_its_own() {
        let list = list(&["Ann <a@a.example>", "b@b.example", "a@A.example", "no address", ""]);
        let answers = Answers::none_of(&list);
        assert_eq!((list.units(), list.distinct().len()), (5, 2));
        assert_eq!(answers.missing_of(&list).len(), 2);
        answers.set(0, verdict(Status::Accepted));
        answers.set(1, ListAnswer::NotAsked(60));
        let result = list.result(&answers);
        let expected = [json!(true), json!("fatal_exception"), json!(true)];
        assert_eq!(statuses(&result)[..3], expected);
        assert_eq!(statuses(&result)[3..], ["invalid_format", "invalid_format"]);
        assert_eq!(result.counted, Some(4), "all but the one that nobody was asked about");
        assert_eq!(result.results[2].email, "a@A.example", "as it was given");
    }

    #[test]
    fn a_stored_answer_gives_the_same_result_and_count() {
        let list = list(&["a@a.example", "b@b.example", "c@c.example", "a@a.example"]);
        let answers = Answers::none_of(&list);
        answers.set(0, verdict(Status::Refused));
        answers.set(1, ListAnswer::NotAsked(60));
        answers.set(2, verdict(Status::FatalException));
        let (first, stored) = (list.result(&answers), answers.to_stored(&list));
        let text = serde_json::to_string(&stored).unwrap();
        assert!(!text.contains("example"), "no address: {text}");
        let again = list.result(&Answers::from_stored(serde_json::from_str(&text).unwrap()));
        assert_eq!((statuses(&first), first.counted), (statuses(&again), again.counted));
        assert_eq!(again.counted, Some(2));
    }

    #[test]
    fn answers_that_are_not_there_are_pending_and_the_others_are_given() {
        let list = list(&["a@a.example", "b@b.example"]);
        let answers = Answers::none_of(&list);
        answers.set(1, verdict(Status::Accepted));
        let result = list.pending_result(&answers);
        assert_eq!(statuses(&result), [json!("smtp_timeout"), json!(true)]);
        let pending = result.results.iter().map(|result| result.pending).collect::<Vec<_>>();
        assert_eq!(
            (pending, result.pending, result.counted),
            (vec![Some(true), None], Some(true), None)
        );
    }

    #[test]
    fn where_nothing_is_charged_nothing_is_given_not_even_about_a_text() {
        let list = list(&["a@a.example", "no address"]);
        let result = list.unsettled_result();
        assert_eq!(statuses(&result), [json!("smtp_timeout"), json!("smtp_timeout")]);
        assert!(result.results.iter().all(|result| result.pending == Some(true)));
        assert_eq!((result.results[1].email.as_str(), result.counted), ("no address", None));
    }
}

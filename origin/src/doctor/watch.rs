//! Watches names, SPF and blocklists of every source address, and the nameservers' answers, while origin serves. It
//! raises alerts; batches from an address on a blocklist run at the pace of a new one. Nothing else changes, so a
//! list's mistake stops nobody.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::sleep;

use crate::{
    State,
    doctor::{self, BLOCKLIST, Finding, Health},
    surroundings::unix_now,
    telemetry::status::AddressFinding,
};

/// Pause between two rounds. A list's records live for minutes at least.
pub const ROUND_INTERVAL: Duration = Duration::from_secs(600);
/// Rounds that must agree, because a single round's result may be a nameserver's mistake.
const ROUNDS: u32 = 2;

#[derive(Debug, Default)]
pub struct Watch(Mutex<BTreeMap<Subject, FindingState>>);

/// The subject of a finding: its check, and its sentence, which names address and list.
type Subject = (&'static str, String);

#[derive(Debug)]
struct FindingState {
    rounds: u32,
    finding: AddressFinding,
}

impl FindingState {
    fn stands(&self) -> bool {
        self.rounds >= ROUNDS
    }
}

impl Watch {
    /// Examines the source addresses every ten minutes, and never returns.
    pub async fn keep(state: Arc<State>) {
        // Invented addresses aren't believed from the start.
        state.prober.dns().examine().await;
        // A random delay, so that origins started together query at different times. Until then, `origin doctor` shows
        // the findings.
        sleep(ROUND_INTERVAL.mul_f64(rand::random_range(0.1..1.0))).await;
        loop {
            Self::round(&state).await;
            sleep(ROUND_INTERVAL).await;
        }
    }

    pub async fn round(state: &State) {
        let findings = doctor::examine_addresses(state).await;
        state.watch.take(findings, unix_now());
        state.prober.set_listed(|identity| state.watch.listed_since(&identity.label()));
    }

    /// Merges the findings of a round. A check without a result keeps its confirmed findings.
    pub fn take(&self, findings: Vec<Finding>, now: u64) {
        let mut all = self.0.lock();
        let unknown: Vec<_> = findings.iter().filter(|it| it.health == Health::Unknown).collect();
        let is_found = |(check, about): &Subject| {
            let is_bad = |it: &&Finding| it.health > Health::Unknown;
            findings.iter().filter(is_bad).any(|it| it.check == *check && it.about == *about)
        };
        all.retain(|subject, state| {
            let source = &state.finding.source;
            let is_unknown = |it: &&Finding| it.check == subject.0 && it.source == *source;
            let stays = is_found(subject) || (state.stands() && unknown.iter().any(is_unknown));
            if !stays && state.stands() {
                tracing::info!(check = subject.0, about = subject.1, "no longer found");
            }
            stays
        });
        for Finding { check, health, about, advice, source } in findings {
            if health <= Health::Unknown {
                continue;
            }
            let FindingState { rounds, finding } =
                all.entry((check, about.clone())).or_insert(FindingState {
                    rounds: 0,
                    finding: AddressFinding { check, about, advice, since: now, source },
                });
            *rounds = rounds.saturating_add(1);
            if *rounds == ROUNDS {
                let AddressFinding { about, advice, .. } = finding;
                tracing::warn!(
                    check,
                    about,
                    advice,
                    "mail servers may refuse us, or verdicts be wrong"
                );
            }
        }
    }

    pub fn reasons(&self) -> Vec<AddressFinding> {
        let all = self.0.lock();
        all.values().filter(|it| it.stands()).map(|it| it.finding.clone()).collect()
    }

    /// The Unix time since which a blocklist lists the source address; `None` if no blocklist does.
    pub fn listed_since(&self, source: &str) -> Option<u64> {
        let all = self.0.lock();
        let standing = all.values().filter(|it| it.stands()).map(|it| &it.finding);
        let of_source =
            standing.filter(|it| it.check == BLOCKLIST && it.source.as_deref() == Some(source));
        of_source.map(|it| it.since).min()
    }
}

#[cfg(test)]
mod tests {
    use super::{Finding, Watch};

    fn listed() -> Finding {
        Finding::wrong("blocklist", "192.0.2.1 is on bl.example", "See bl.example.")
    }

    fn names(watch: &Watch) -> Vec<(String, u64)> {
        watch.reasons().into_iter().map(|reason| (reason.about, reason.since)).collect()
    }

    #[test]
    fn a_finding_stands_after_two_rounds_in_a_row_and_goes_when_it_is_no_longer_found() {
        let watch = Watch::default();
        let fine = || Finding::fine("blocklist", "192.0.2.1 is not on bl.example");
        for (now, finding) in [(1, listed()), (2, fine()), (3, listed())] {
            watch.take(vec![finding], now);
            assert_eq!(names(&watch), [], "after round {now}");
        }
        watch.take(vec![listed()], 4);
        assert_eq!(names(&watch), [("192.0.2.1 is on bl.example".to_owned(), 3)]);
        watch.take(vec![fine()], 5);
        assert_eq!(names(&watch), []);
    }

    #[test]
    fn an_address_is_listed_since_its_oldest_entry_that_stands() {
        let watch = Watch::default();
        let on = |list: &str, source: &str| {
            Finding::wrong("blocklist", format!("{source} is on {list}"), "").of(source)
        };
        watch.take(vec![on("a", "192.0.2.1")], 1);
        assert_eq!(watch.listed_since("192.0.2.1"), None, "after one round");
        watch.take(vec![on("a", "192.0.2.1"), on("b", "192.0.2.1")], 2);
        watch.take(vec![on("a", "192.0.2.1"), on("b", "192.0.2.1")], 3);
        assert_eq!(watch.listed_since("192.0.2.1"), Some(1));
        assert_eq!(watch.listed_since("192.0.2.2"), None);
        watch.take(vec![on("b", "192.0.2.1")], 4);
        assert_eq!(watch.listed_since("192.0.2.1"), Some(2));
        watch.take(vec![], 5);
        assert_eq!(watch.listed_since("192.0.2.1"), None);
    }

    #[test]
    fn an_address_that_was_taken_out_leaves_no_finding_behind() {
        let watch = Watch::default();
        for now in [1, 2] {
            watch.take(vec![listed().of("192.0.2.1")], now);
        }
        watch.take(vec![Finding::unknown("blocklist", "no answer", "").of("192.0.2.2")], 3);
        assert_eq!(names(&watch), []);
    }

    #[test]
    fn a_round_without_an_answer_is_evidence_of_nothing() {
        let watch = Watch::default();
        let silent = || Finding::unknown("blocklist", "bl.example does not answer", "");
        // A round without an answer neither confirms a finding nor counts as the first of two rounds.
        for finding in [listed(), silent(), listed(), silent()] {
            watch.take(vec![finding], 1);
            assert_eq!(names(&watch), []);
        }
        watch.take(vec![listed()], 2);
        watch.take(vec![listed()], 3);
        watch.take(vec![silent()], 4);
        assert_eq!(names(&watch).len(), 1, "what stood before stands");
        // Only an unknown result of the same check keeps a finding.
        watch.take(vec![Finding::unknown("spf", "no answer", "")], 5);
        assert_eq!(names(&watch), []);
    }
}

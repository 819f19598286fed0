//! Decides a domain's refusals that the rules can't decide, by contrast (docs/verdicts.md).

use std::{collections::HashSet, time::Duration};

use rcpt_pool::{Question, Wait};
use rcpt_shared::{Status, is_role};
use tokio::time::Instant;

use super::{super::held_lines::DomainLines, Batch};
use crate::probe::{Evidence, people};

/// Longest wait for a session in which a neighbour is asked about again.
const AGAIN_WAIT_MAX: Duration = Duration::from_secs(3);

impl Batch {
    /// Indices of the lines to whose recipients their host says what it says to names that don't exist.
    pub(super) async fn nobodies(&self, lines: &DomainLines) -> HashSet<usize> {
        let undecided = lines.held.iter().filter(|line| line.undecided.is_some());
        let hosts: HashSet<_> =
            undecided.filter_map(|line| line.verdict.mx_host.as_deref()).collect();
        let mut nobodies = HashSet::new();
        for host in hosts {
            nobodies.extend(self.nobodies_at(host, lines).await);
        }
        nobodies
    }

    async fn nobodies_at(&self, host: &str, lines: &DomainLines) -> Vec<usize> {
        let held = lines.held.iter().filter(|line| line.verdict.mx_host.as_deref() == Some(host));
        let held = held.filter_map(|line| Some((line.index, line.undecided?)));
        let (indices, words): (Vec<_>, Vec<_>) = held.unzip();
        let accepted = lines.accepted.iter().filter(|(_, at)| at == host).map(|(it, _)| it);
        let neighbours: Vec<&Question> =
            accepted.filter(|it| !is_role(it.address.local_part())).collect();
        let Some(lead) = neighbours.last() else { return Vec::new() };
        let (invented, said_at) = self.state.prober.invented(lead.address.domain(), host);
        let accepted = people(neighbours.iter().map(|it| &it.address));
        let mut evidence = Evidence { invented, accepted, is_accepted_again: true };
        if !evidence.decide(&words).contains(&true) {
            return Vec::new();
        }
        // The invention that came behind all refusals has already been between two acceptances.
        let is_later = said_at > lines.refused_at;
        evidence.is_accepted_again = is_later || self.accepts_again(lead, host).await;
        let decided = indices.into_iter().zip(evidence.decide(&words));
        decided.filter_map(|(index, is_nobody)| is_nobody.then_some(index)).collect()
    }

    async fn accepts_again(&self, neighbour: &Question, host: &str) -> bool {
        let now = Instant::now();
        if now >= self.until {
            return false;
        }
        let wait = Wait::InBatch(self.until.min(now + AGAIN_WAIT_MAX));
        let question = Question { wait, ..neighbour.clone() };
        self.probe(&question, false, None).await.is_ok_and(|told| {
            let verdict = &told.verdict;
            verdict.status == Status::Accepted && verdict.mx_host.as_deref() == Some(host)
        })
    }
}

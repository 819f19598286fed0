//! State of our source addresses: why each is used less than it could be, and since when.

use rcpt_pool::{SiteStatus, Status};

use crate::{
    State,
    doctor::BLOCKLIST,
    surroundings::unix_now,
    telemetry::status::{AddressFinding, SourceStatus},
};

/// Seconds after which a rate that stays at its minimum becomes a finding.
const UNWELCOME_AFTER_S: u64 = 3_600;

pub fn reasons(state: &State, status: &Status) -> Vec<AddressFinding> {
    let now = unix_now();
    let mut reasons = state.watch.reasons();
    // The pool keeps records about addresses that a reload has removed, but they have no effect.
    let in_use: Vec<_> = state.prober.identities().iter().map(|it| it.label()).collect();
    let of_ours = status.operators.iter().filter(|site| in_use.contains(&site.source));
    reasons.extend(of_ours.filter_map(|site| unwelcome(site, now)));
    reasons
}

fn unwelcome(site: &SiteStatus, now: u64) -> Option<AddressFinding> {
    let since = site.floor_since.filter(|since| now.saturating_sub(*since) >= UNWELCOME_AFTER_S)?;
    let SiteStatus { operator, source, .. } = site;
    let advice = match &site.stand_in {
        Some(stand_in) => format!(
            "{stand_in} asks about its domains meanwhile. Nothing has to be done, unless it happens again."
        ),
        None => "No other source address is better, so it goes on, one session in five seconds: find out why, \
                 and add a source address."
            .to_owned(),
    };
    let words = site.words.as_deref().unwrap_or_default();
    Some(AddressFinding {
        check: "operator",
        about: format!("{operator} refuses {source}: {words}"),
        advice,
        since,
        source: Some(source.clone()),
    })
}

/// Every source address in use, with each cause that limits it.
pub fn sources(state: &State, status: &Status) -> Vec<SourceStatus> {
    let (now, findings) = (unix_now(), state.watch.reasons());
    let mut all = Vec::new();
    for identity in state.prober.identities() {
        let (source, class) = (identity.label(), identity.class_name());
        let row = |state: &str, since, why: Option<String>| SourceStatus {
            source: source.clone(),
            class: class.to_owned(),
            state: state.to_owned(),
            since,
            why,
        };
        let before = all.len();
        let of_source = |finding: &&AddressFinding| finding.source.as_deref() == Some(&source);
        for listing in findings.iter().filter(of_source).filter(|it| it.check == BLOCKLIST) {
            let why = format!("{}: batches go at the pace of a new address", listing.about);
            all.push(row("blocklisted", Some(listing.since), Some(why)));
        }
        for site in status.operators.iter().filter(|site| site.source == source) {
            let words = site.words.as_deref().unwrap_or_default();
            let operator = &site.operator;
            if let (Some(stand_in), Some(until)) = (&site.stand_in, site.rests_until) {
                let hours = until.saturating_sub(now).div_ceil(3_600);
                let why = format!("{operator}: {words}; {stand_in} asks for {hours} more hours");
                all.push(row("resting", site.floor_since, Some(why)));
            } else if let Some(reason) = unwelcome(site, now) {
                all.push(row(
                    "unwelcome",
                    Some(reason.since),
                    Some(format!("{operator}: {words}")),
                ));
            } else if let Some(since) =
                site.warms_up_since.filter(|since| identity.since() != Some(*since))
                && state.watch.listed_since(&source) != Some(since)
            {
                let why = format!("{operator}: back from a rest, batches begin anew");
                all.push(row("new", Some(since), Some(why)));
            }
        }
        if let Some(since) = identity.since().filter(|since| rcpt_pool::is_new(*since, now)) {
            let why = "operators get used to it: batches go slowly".to_owned();
            all.push(row("new", Some(since), Some(why)));
        }
        if all.len() == before {
            all.push(row("in_use", identity.since(), None));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{SiteStatus, UNWELCOME_AFTER_S, unwelcome};

    #[test]
    fn an_operator_that_refuses_an_address_for_an_hour_is_a_reason_with_what_to_do() {
        let site = SiteStatus {
            operator: "microsoft".to_owned(),
            source: "192.0.2.1".to_owned(),
            floor_since: Some(1_000),
            words: Some("blocked using a list".to_owned()),
            ..SiteStatus::default()
        };
        assert_eq!(unwelcome(&site, 1_000 + UNWELCOME_AFTER_S - 1), None);
        assert_eq!(unwelcome(&SiteStatus::default(), 10_000), None);
        let reason = unwelcome(&site, 1_000 + UNWELCOME_AFTER_S).unwrap();
        assert_eq!(reason.about, "microsoft refuses 192.0.2.1: blocked using a list");
        assert!(reason.advice.starts_with("No other source address is better, so it goes on"));
        assert_eq!((reason.check, reason.since), ("operator", 1_000));
        let rested = SiteStatus { stand_in: Some("192.0.2.2".to_owned()), ..site };
        let reason = unwelcome(&rested, 10_000).unwrap();
        assert!(reason.advice.starts_with("192.0.2.2 asks about its domains meanwhile"));
    }
}

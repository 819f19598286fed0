//! The alerts and the dashboard in `dist/` use only metrics, labels and paragraphs that exist.
//!
//! - O5: `make alerts` makes each cause and its alert fires; none fires in a night of four checks an hour.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::{
    send, verdict,
    world::{Settings, World},
};
use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use rcpt_shared::{Reason, Status};
use serde_json::Value;

const ALERTS: &str = include_str!("../../../dist/prometheus/alerts.yml");
const DASHBOARD: &str = include_str!("../../../dist/grafana/rcpt.json");
const WATCH: &str = include_str!("../../../docs/operating/watch.md");

/// Labels that Prometheus adds.
const OF_PROMETHEUS: [&str; 2] = ["instance", "job"];

/// The series at `/metrics` of an origin that has done some work: name → labels.
async fn exposed() -> BTreeMap<String, BTreeSet<String>> {
    let (_world, origin) = World::start(Settings::default(), &[]).await;
    verdict(&origin, "known@example.org").await;
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let body = to_bytes(send(&origin, request).await.into_body(), 1_000_000).await.unwrap();
    let text = String::from_utf8(body.to_vec()).unwrap();
    let mut series = BTreeMap::<_, BTreeSet<_>>::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, labels) = line.split_once(['{', ' ']).unwrap();
        let labels = labels.rsplit_once('}').map_or("", |(labels, _)| labels);
        let names = labels.split(',').filter_map(|label| Some(label.split_once('=')?.0.to_owned()));
        series.entry(name.to_owned()).or_default().extend(names);
    }
    series
}

/// Our metrics in `text`, each with the text after it.
fn used(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices("rcpt_origin_").chain(text.match_indices("process_start")).map(
        move |(at, _)| {
            let rest = &text[at..];
            rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()))
        },
    )
}

#[tokio::test]
async fn every_metric_and_label_of_alerts_and_dashboard_is_exposed() {
    let series = exposed().await;
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let mut texts: Vec<_> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    texts.extend([ALERTS, dashboard["templating"]["list"][1]["query"].as_str().unwrap()]);
    let mut count = 0;
    for (name, rest) in texts.into_iter().flat_map(used) {
        let labels = series.get(name).unwrap_or_else(|| panic!("{name} is not at /metrics"));
        let selector = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        for part in selector.map_or("", |(selector, _)| selector).split(", ") {
            let Some((label, value)) = part.split_once(['=', '~']) else { continue };
            let is_known = labels.contains(label) || OF_PROMETHEUS.contains(&label);
            assert!(is_known, "{name} has no label {label}");
            let value = value.trim_matches(['=', '~', '"']);
            match label {
                "status" => assert!(Status::ALL.iter().any(|it| it.as_str() == value), "{value}"),
                "reason" => assert!(Reason::ALL.iter().any(|it| it.as_str() == value), "{value}"),
                _ => {}
            }
        }
        count += 1;
    }
    assert!(count > 30, "only {count} uses were found");
}

#[tokio::test]
async fn every_metric_is_on_the_page() {
    for name in exposed().await.into_keys() {
        let of_histogram =
            ["_bucket", "_sum", "_count"].into_iter().find_map(|end| name.strip_suffix(end));
        let row = format!("`{}", of_histogram.unwrap_or(&name));
        assert!(WATCH.contains(&row), "docs/operating/watch.md has no {name}");
    }
}

#[test]
fn every_alert_has_its_paragraph() {
    let names: Vec<_> =
        ALERTS.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let links: Vec<_> = ALERTS
        .lines()
        .filter_map(|line| line.trim().strip_prefix("runbook: docs/operating/watch.md#"))
        .collect();
    assert_eq!(links, names.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>());
    for name in names {
        let heading = format!("### {name}\n\n");
        let (_, paragraph) = WATCH.split_once(&heading).unwrap_or_else(|| panic!("no {name}"));
        assert!(
            paragraph.lines().next().is_some_and(|line| line.len() > 40),
            "{name} says nothing"
        );
    }
}

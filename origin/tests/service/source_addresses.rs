//! Source addresses: the address used for each account, blocklisted addresses, and addresses that operators refuse.
//!
//! - O13: a finding counts after two examinations in a row. A list that lists everything, lacks its test entry or
//!   doesn't answer is ignored. Batches slow down to a new address's pace; single checks don't, and origin stays ready.
//! - O15: a reload moves only the domains that an address gains or loses; an address that the machine lacks is refused;
//!   free accounts never use an address of paying ones.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use hickory_resolver::proto::rr::{
    Name, RData, RecordType,
    rdata::{A, MX},
};
use parking_lot::Mutex;
use rcpt_origin::{State, build, doctor::watch::Watch, surroundings::unix_now};
use rcpt_shared::{KeyRing, Tenant, Ticket};
use serde_json::{Value, json};
use tokio::{io::BufReader, net::TcpStream};

use crate::harness::{
    REQUEST_ID, SECRETS, batch, internet::Internet, json_of, obey, send, verdict_for,
};

const SOURCE_KEY: (&str, &str) = ("RCPT_SOURCE_KEY", "sixteen characters");

/// The source address of each connection, in the order of the connections.
type Peers = Arc<Mutex<Vec<IpAddr>>>;

async fn serve(stream: TcpStream, peers: Peers, rcpt: &'static str) {
    use tokio::io::AsyncWriteExt as _;
    peers.lock().push(stream.peer_addr().unwrap().ip());
    let mut stream = BufReader::new(stream);
    let _ = stream.write_all(b"220 mx\r\n").await;
    obey(&mut stream, "", "250 ok", rcpt).await;
}

/// Creates a simulated Internet whose domains are at Google, and whose blocklist `bl.test` contains these addresses.
async fn internet(listed: &'static [&str], rcpt: &'static str) -> (Internet, Peers) {
    let peers = Peers::default();
    let (zone_listed, peers_seen) = (listed, peers.clone());
    let zone = move |name: &str, kind| match (kind, name.strip_suffix(".bl.test")) {
        (RecordType::A, Some(entry)) => {
            let is_listed = zone_listed.contains(&entry) || entry == "2.0.0.127";
            is_listed.then(|| RData::A(A(Ipv4Addr::new(127, 0, 0, 2)))).into_iter().collect()
        }
        (RecordType::MX, None) => {
            let host = Name::from_ascii("aspmx.l.google.com.").unwrap();
            vec![RData::MX(MX::new(10, host))]
        }
        (RecordType::A, None) => vec![RData::A(A(Ipv4Addr::new(127, 0, 1, 1)))],
        _ => Vec::new(),
    };
    let internet =
        Internet::start(zone, move |stream, _| serve(stream, peers_seen.clone(), rcpt)).await;
    (internet, peers)
}

async fn shown(origin: &Router, path: &str) -> Value {
    json_of(send(origin, Request::get(path).body(Body::empty()).unwrap()).await).await
}

/// Probes for a paying or a free account.
async fn ask(origin: &Router, paying: bool, address: &str) {
    let body = json!({ "address": address }).to_string();
    let tenant = Some(Tenant { name: "a1", paying });
    let keys = KeyRing::parse(SECRETS).unwrap();
    let ticket = Ticket::issue_for(&keys, REQUEST_ID, body.as_bytes(), unix_now(), tenant).unwrap();
    let request = Request::post("/v1/probe").header("authorization", format!("Bearer {ticket}"));
    let response = send(origin, request.body(Body::from(body)).unwrap()).await;
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn free_accounts_never_ask_from_the_addresses_of_paying_ones() {
    let (internet, peers) = internet(&[], "250 ok").await;
    let sources = "127.0.0.2,free:127.0.0.3,127.0.0.4,free:127.0.0.5";
    let origin = internet.origin(&[("RCPT_SOURCE_ADDRESSES", sources), SOURCE_KEY]);
    for (paying, own) in [(true, [2, 4]), (false, [3, 5])] {
        for number in 0..8 {
            ask(&origin, paying, &format!("known@d{number}.org")).await;
        }
        let peers_seen = std::mem::take(&mut *peers.lock());
        let own = own.map(|last| IpAddr::from([127, 0, 0, last]));
        assert!(
            !peers_seen.is_empty() && peers_seen.iter().all(|it| own.contains(it)),
            "{paying}: {peers_seen:?}"
        );
    }
    let status = shown(&origin, "/operators").await;
    let classes: Vec<_> =
        status["sources"].as_array().unwrap().iter().map(|it| &it["class"]).collect();
    assert_eq!(classes, ["known", "free", "known", "free"]);
}

/// The number of a batch's twelve addresses that weren't probed.
async fn held_back(origin: &Router) -> usize {
    let addresses: Vec<_> = (0..12).map(|n| format!("known@b{n}.org")).collect();
    let lines = batch(origin, &addresses, None).await;
    let is_not_asked = |line: &&rcpt_shared::BatchLine| format!("{line:?}").contains("NotAsked");
    lines.iter().filter(is_not_asked).count()
}

async fn listed(state: &Arc<State>, origin: &Router, rounds: usize) -> usize {
    for _ in 0..rounds {
        Watch::round(state).await;
    }
    held_back(origin).await
}

#[tokio::test]
async fn a_blocklist_slows_batches_from_its_address_after_two_rounds_and_stops_no_single_check() {
    let (internet, _) = internet(&["2.0.0.127"], "250 ok").await;
    // The blocklist contains only its test entry, which is the source address.
    let environment = [("RCPT_SOURCE_ADDRESSES", "127.0.0.2"), ("RCPT_BLOCKLISTS", "bl.test")];
    let state = internet.state(&environment);
    let origin = build(state.clone());
    assert_eq!(listed(&state, &origin, 1).await, 0, "one round may be a mistake");
    assert!(listed(&state, &origin, 1).await >= 10);
    let verdict = verdict_for(&origin, "t", "known@single.org").await;
    assert_eq!(verdict.smtp_code, Some(250));
    let status = shown(&origin, "/operators").await;
    let source = &status["sources"][0];
    assert_eq!((&source["state"], &source["source"]), (&"blocklisted".into(), &"127.0.0.2".into()));
    assert!(source["since"].is_u64() && source["why"].as_str().unwrap().contains("bl.test"));
    let ready = shown(&origin, "/ready").await;
    assert_eq!(ready["status"], "ready", "{ready}");
    let metrics = send(&origin, Request::get("/metrics").body(Body::empty()).unwrap()).await;
    let metrics = to_bytes(metrics.into_body(), 1_000_000).await.unwrap();
    let metrics = String::from_utf8(metrics.to_vec()).unwrap();
    assert!(metrics.contains(r#"rcpt_origin_address_findings{check="blocklist"} 1"#), "{metrics}");
}

#[tokio::test]
async fn a_list_that_errs_slows_nothing_down() {
    // The blocklist contains 127.0.0.1, which no blocklist may contain, so its answers are worthless.
    let (internet, _) = internet(&["2.0.0.127", "1.0.0.127", "3.0.0.127"], "250 ok").await;
    let environment =
        [("RCPT_SOURCE_ADDRESSES", "127.0.0.3"), ("RCPT_BLOCKLISTS", "bl.test,silent.test")];
    let state = internet.state(&environment);
    assert_eq!(listed(&state, &build(state.clone()), 3).await, 0);
}

#[tokio::test]
async fn with_all_addresses_listed_at_once_the_service_goes_on_and_says_so() {
    let (internet, _) = internet(&["3.0.0.127", "4.0.0.127"], "250 ok").await;
    let sources = ("RCPT_SOURCE_ADDRESSES", "127.0.0.3,127.0.0.4");
    let environment = [sources, SOURCE_KEY, ("RCPT_BLOCKLISTS", "bl.test")];
    let state = internet.state(&environment);
    let origin = build(state.clone());
    listed(&state, &origin, 2).await;
    for number in 0..8 {
        let verdict = verdict_for(&origin, "t", &format!("known@d{number}.org")).await;
        assert_eq!(verdict.smtp_code, Some(250));
    }
    let ready = shown(&origin, "/ready").await;
    let about = ready["reasons"].to_string();
    assert!(about.contains("127.0.0.3 is on bl.test") && about.contains("127.0.0.4 is on bl.test"));
    let states = shown(&origin, "/operators").await["sources"].to_string();
    assert_eq!(states.matches("blocklisted").count(), 2, "{states}");
}

//! An origin is stopped while it works, as by `systemctl stop` (docs/operating/incidents.md, Stop an origin): what it
//! asks is answered, and the edge goes elsewhere.

use std::{net::SocketAddr, time::Duration};

use rcpt_shared::Status;
use rcpt_tests::{Account, Answer, Conduct, Edge, FakeOrigin, Origin, SmtpServer, service::secret};
use serde_json::json;
use tokio::{task::JoinSet, time::sleep};

/// Enough that each of two origins is the first choice for some domains, whatever the ports.
const DOMAINS: usize = 24;
const REPLY_AFTER: Duration = Duration::from_secs(2);
const END: Duration = Duration::from_secs(20);

fn checks(account: &Account, local: &'static str) -> JoinSet<()> {
    let mut checks = JoinSet::new();
    for n in 0..DOMAINS {
        let account = account.clone();
        checks.spawn(async move {
            let address = format!("{local}@d{n}.drain.test");
            let reply = account.check(&address).await;
            let expected = json!({ "email": address, "verdict": "deliverable", "status": true, "cached": false });
            assert_eq!(reply.parts(), (200, &expected));
        });
    }
    checks
}

#[tokio::test]
async fn a_stopped_origin_answers_what_it_asks_and_the_edge_asks_another_one() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = SmtpServer::start(any, |recipient| match recipient.split('@').next() {
        Some("before" | "after") => Answer::After(REPLY_AFTER, "250 2.1.5 Ok".to_owned()),
        _ => Answer::unknown(),
    })
    .unwrap();
    let tickets = secret::value().unwrap();
    let origin = Origin::builder().ticket_secrets(&tickets);
    let mut origin =
        origin.routes(&format!("drain.test={}", server.address())).start().await.unwrap();
    let other = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url, &other.url]).ring("TICKET_SECRET", &tickets);
    let edge = edge.start().await.unwrap();
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'unlimited'").await;
    let asked = |local: &str| {
        let commands = server.sessions().concat();
        commands.iter().filter(|line| line.contains(&format!("<{local}@"))).count()
    };

    let before = checks(&account, "before");
    while asked("before") == 0 || other.probes().is_empty() {
        sleep(Duration::from_millis(10)).await;
    }
    let pid = origin.pid().unwrap().to_string();
    let stop = tokio::process::Command::new("kill").args(["-TERM", &pid]).status().await;
    assert!(stop.unwrap().success());
    while origin.get("/health").await.is_ok() {
        sleep(Duration::from_millis(10)).await;
    }
    checks(&account, "after").join_all().await;
    before.join_all().await;
    assert_eq!(asked("after"), 0, "it begins nothing new");
    let of_other = |local: &str| {
        other.probes().iter().filter(|probe| probe.body.contains(&format!("{local}@"))).count()
    };
    assert_eq!(of_other("after"), DOMAINS);
    assert!(of_other("before") < DOMAINS, "it answered what it had begun");
    assert_eq!(asked("before") + of_other("before"), DOMAINS, "each was asked about once");
    assert!(origin.process.wait_for_end(END).await.unwrap().success());
}

//! Slow is not hung: a check waits for an origin that is alive, and leaves one that says nothing at all.

use std::{net::TcpListener, time::Duration};

use rcpt_shared::Status;
use rcpt_tests::{Conduct, Edge, FakeOrigin};
use tokio::time::{Instant, sleep};

#[tokio::test]
async fn an_origin_that_is_slow_and_alive_is_waited_for() {
    let origins = [(); 2].map(|()| FakeOrigin::start(|_| Conduct::Hold));
    let edge = Edge::builder().origins(&[&origins[0].url, &origins[1].url]).start().await.unwrap();
    let account = edge.account().await;
    let address = "x@slow.example";
    let check = {
        let account = account.clone();
        tokio::spawn(async move { account.check(address).await })
    };
    sleep(Duration::from_secs(5)).await;
    for origin in &origins {
        origin.release(address, Conduct::Verdict(Status::Accepted));
    }
    let reply = check.await.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.body);
    let asked: usize = origins.iter().map(|origin| origin.probes_of(address)).sum();
    assert_eq!(asked, 1, "the other was not asked");
}

#[tokio::test]
async fn an_origin_that_says_nothing_is_left_after_three_seconds_and_then_skipped() {
    // Connections are taken by the kernel and never read.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let hung = format!("http://{}", listener.local_addr().unwrap());
    let healthy = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&hung, &healthy.url]).start().await.unwrap();
    let account = edge.account().await;
    let mut slow = 0;
    for n in 0..8 {
        let started = Instant::now();
        let reply = account.check(&format!("x@hung-{n}.example")).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let took = started.elapsed();
        assert!(took < Duration::from_secs(8), "{took:?}");
        slow += usize::from(took > Duration::from_secs(2));
    }
    println!("8 domains, {slow} of them waited for the origin that is hung");
    assert!(slow <= 1, "{slow}");
    drop(listener);
}

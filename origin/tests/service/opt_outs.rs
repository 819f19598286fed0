//! Opt-outs: no connection is made, under any name of the machine.
//!
//! - O3: a domain, a mail host's name or a network, whatever names lead to it, for single checks and batches.

use std::sync::atomic::Ordering;

use crate::harness::{
    batch, config, verdict,
    world::{Settings, World},
};
use rcpt_origin::{State, build};
use rcpt_shared::{BatchLine, Reason, Stage, Status};

#[tokio::test]
async fn no_connection_is_made_to_those_who_opted_out() {
    let out = "Out.org, mx:google.com, 127.0.2.0/24";
    let (world, origin) = World::start(Settings::default(), &[("RCPT_OPT_OUTS", out)]).await;
    let addresses = [
        "known@out.org",
        "known@OUT.org",
        "known@a.b.out.org",
        // At Google, whose hosts have opted out.
        "known@elsewhere.org",
        // At a host whose machine has opted out.
        "known@a.named.org",
    ];
    for address in addresses {
        let verdict = verdict(&origin, address).await;
        let outcome = (verdict.status, verdict.reason, verdict.smtp_code);
        assert_eq!(outcome, (Status::BlockedByProvider, Reason::OptedOut, None), "{address}");
        assert_eq!(verdict.stage, Stage::Dns);
    }
    let addresses = addresses.map(str::to_owned);
    let lines = batch(&origin, &addresses, Some("tenant")).await;
    let opted_out = |line: &&BatchLine| matches!(line, BatchLine::Answer(answer) if answer.verdict.reason == Reason::OptedOut);
    assert_eq!(lines.iter().filter(opted_out).count(), addresses.len(), "{lines:?}");
    assert_eq!(world.accepted.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn whoever_opts_out_is_asked_no_more_though_all_about_the_domain_is_known() {
    let (world, environment) = World::without_origin(Settings::default()).await;
    let mut all: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let state = State::new(config(&all)).unwrap();
    let origin = build(state.clone());
    for out in ["elsewhere.org", "mx:google.com", "127.0.0.0/8"] {
        for _ in 0..3 {
            assert_eq!(verdict(&origin, "known@elsewhere.org").await.status, Status::Accepted);
        }
        let accepted = world.accepted.load(Ordering::Relaxed);
        all.push(("RCPT_OPT_OUTS", out));
        state.prober.reload(config(&all));
        assert_eq!(verdict(&origin, "known@elsewhere.org").await.reason, Reason::OptedOut, "{out}");
        assert_eq!(world.accepted.load(Ordering::Relaxed), accepted, "{out}");
        all.pop();
        state.prober.reload(config(&all));
    }
}

#[tokio::test]
async fn everybody_else_is_asked() {
    let out = "out.org, mx:mail.example.org, mx:elsewhere.org, 127.0.2.0/24";
    let (world, origin) = World::start(Settings::default(), &[("RCPT_OPT_OUTS", out)]).await;
    for address in ["known@elsewhere.org", "known@notout.org", "known@out.org.example.net"] {
        assert_eq!(verdict(&origin, address).await.status, Status::Accepted, "{address}");
    }
    assert!(world.accepted.load(Ordering::Relaxed) > 0);
}

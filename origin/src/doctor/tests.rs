//! The parts of the doctor that need no network.

use super::{Finding, Health, judge_clock, listing};

#[test]
fn blocklists_are_asked_with_the_address_reversed() {
    let v4 = listing("192.0.2.99".parse().unwrap(), "bl.example");
    assert_eq!(v4, "99.2.0.192.bl.example");
    let v6 = listing("2001:db8::1".parse().unwrap(), "bl.example");
    let zeros = "0.".repeat(23);
    assert_eq!(v6, format!("1.{zeros}8.b.d.0.1.0.0.2.bl.example"));
}

#[test]
fn a_finding_says_what_to_do() {
    let wrong = Finding::new(Health::Wrong, "port 25 is shut", "Ask the provider.");
    assert_eq!(wrong.to_string(), "WRONG   port 25 is shut\n        Ask the provider.");
    assert_eq!(Finding::fine("all is well").to_string(), "ok      all is well");
}

#[test]
fn a_clock_is_wrong_when_it_is_off_by_more_than_five_seconds() {
    for (offset, health) in [(0.2, Health::Fine), (-4.9, Health::Fine), (90.0, Health::Wrong)] {
        assert_eq!(judge_clock(offset).health, health, "{offset}");
    }
    assert!(judge_clock(-61.0).about.contains("-61.0 s"));
}

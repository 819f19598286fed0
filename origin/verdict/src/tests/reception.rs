//! The delay that a reply asks for.

use rcpt_shared::Stage;
use rcpt_smtp::Reply;

use super::judge;

#[test]
fn takes_the_delay_from_the_text_within_reason() {
    for (text, delay) in [
        ("Greylisted, see http://postgrey.schweikert.ch/help/example.org.html", 300),
        ("Greylisting in effect, please come back in 7 minutes", 420),
        ("greylisted for 300 seconds", 300),
        ("try again in 1 hour.", 3_600),
        ("try again in 1 second", 60),
        ("try again in 4294967295 hours", 86_400),
        ("try again in 99999999999999 hours", 300),
        ("", 300),
    ] {
        // 4.7.1 is greylisting whatever the words.
        let reply = Reply::parse(&format!("450 4.7.1 {text}\r\n")).unwrap();
        assert_eq!(judge(Stage::Rcpt, &reply).retry_after, Some(delay), "{text}");
    }
}

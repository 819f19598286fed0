//! No account can be created at a listed throw-away domain: the list alone decides, before the
//! database and DNS, for every address alike.

use rcpt_tests::{Edge, people::PASSWORD};
use serde_json::{Value, json};

#[tokio::test]
async fn a_listed_domain_is_refused_alike_for_every_address_before_anything_is_asked_or_stored() {
    let builder = Edge::builder().var("CONTACT_EMAIL", "help@rcpt-tests.net");
    let edge = builder.shimmed().start().await.unwrap();
    let anonymous = edge.anonymous();
    anonymous.get("/health").await;
    edge.counts().await;
    let mut replies = Vec::new();
    for email in ["ann@mailinator.com", "bob+tag@mailinator.com", "Any.One@MAILINATOR.com"] {
        let reply = anonymous.register(email, PASSWORD).await;
        assert_eq!((reply.status, &reply.body["code"]), (400, &json!("disposable_email")));
        let detail = reply.body["detail"].as_str().unwrap().to_owned();
        for part in ["mailinator.com", "list of disposable domains of 20", "help@rcpt-tests.net"] {
            assert!(detail.contains(part), "{detail}");
        }
        replies.push(detail);
    }
    assert!(replies.iter().all(|detail| *detail == replies[0]), "{replies:?}");
    assert_eq!(edge.counts().await.d1_trips, 0);
    assert_eq!(edge.mails().await, [] as [Value; 0]);
    let below = anonymous.register("a@deep.below.yopmail.com", PASSWORD).await;
    assert_eq!(below.body["code"], "disposable_email");
    for fine in ["ann@fastmail.com", "ann@duck.com", "ann@gmial.com", "ann@notmailinator-firm.com"]
    {
        assert_eq!(anonymous.register(fine, PASSWORD).await.status, 201, "{fine}");
    }
    assert_eq!(edge.mails().await.len(), 4);
}

//! `details` of `POST /v1/validate_email`: every reason in docs/verdicts.md as seen through the edge, and the other
//! members of a response.

use std::collections::BTreeSet;

use rcpt_shared::Reason;
use rcpt_tests::{
    Account, Answer, Nsd, OpenSmtpd, Reply, SmtpServer, Stack, people::send, process::port,
    service::clock::today,
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// No server can be reached at 10.0.0.1; the server at 127.0.0.31 answers 421 to the recipient `weary`.
const ZONE: &str = "
null            MX 0  .
bare            TXT \"neither mail nor addresses\"
inside          MX 10 mx.inside
mx.inside       A  10.0.0.1
weary           MX 10 mx.weary
mx.weary        A  127.0.0.31
everybody       MX 10 mta5.am0.yahoodns.net.
";

/// Zone of an operator that accepts every recipient.
const YAHOO_ZONE: &str = "mta5.am0 A 127.0.0.32";

const WEARY: &str = "mx.weary.rcpt-tests.net";

/// The service, and the servers that cause each reason.
struct World {
    stack: Stack,
    _nsd: Nsd,
    _opensmtpd: OpenSmtpd,
    _servers: [SmtpServer; 3],
}

impl World {
    async fn shared() -> &'static Self {
        static WORLD: OnceCell<World> = OnceCell::const_new();
        WORLD.get_or_init(Self::start).await
    }

    async fn start() -> Self {
        let zones = [("rcpt-tests.net", ZONE), ("yahoodns.net", YAHOO_ZONE)];
        let nsd = Nsd::start(&zones, &["broken-zone.net"]).await.expect("NSD");
        let opensmtpd = OpenSmtpd::start().await.expect("OpenSMTPD");
        let smtp_port = port::free();
        let listen = |ip: [u8; 4], port: u16| SmtpServer::start((ip, port).into(), answer);
        let scripted = listen([127, 0, 0, 1], 0).expect("a mail server");
        let weary = listen([127, 0, 0, 31], smtp_port).expect("a mail server");
        let yahoo = listen([127, 0, 0, 32], smtp_port).expect("a mail server");
        let at = scripted.address();
        let scripted_domains = ["scripted.test", "gmail.com", "gmail.con", "mailinator.com"]
            .map(|domain| format!("{domain}={at}"));
        let shut = port::free();
        let stack = Stack::builder()
            .origin_env(
                "RCPT_ROUTES",
                format!(
                    "{},{},shut.test=127.0.0.1:{shut}",
                    scripted_domains.join(","),
                    opensmtpd.routes()
                ),
            )
            .origin_env("RCPT_NAMESERVERS", nsd.address().to_string())
            .origin_env("RCPT_SMTP_PORT", smtp_port.to_string())
            .origin_env("RCPT_BUDGET_MS", "4000")
            .origin_env("RCPT_OPT_OUTS", "reclusive.rcpt-tests.net")
            .start()
            .await;
        Self { stack, _nsd: nsd, _opensmtpd: opensmtpd, _servers: [scripted, weary, yahoo] }
    }

    async fn account() -> Account {
        Self::shared().await.stack.edge.account().await
    }
}

/// The scripted servers' answer for a recipient.
fn answer(recipient: &str) -> Answer {
    let local_part = recipient.split_once('@').map_or(recipient, |(local_part, _)| local_part);
    match local_part {
        "no-mail-here" => Answer::reply("556 5.1.10 The domain takes no mail"),
        "staff" => Answer::reply(
            "550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required",
        ),
        "nameless" => Answer::reply("550 5.7.25 Your address has no reverse DNS"),
        "puzzling" => Answer::reply("550 Frobnicated"),
        "worded" => Answer::reply("550 no one here by that name"),
        "busy" => Answer::reply(
            "450 4.2.1 The user you are trying to contact is receiving mail too quickly",
        ),
        "confused" => Answer::reply("500 5.5.2 Syntax error"),
        "weary" => Answer::reply("421 4.7.0 Too many connections, closing"),
        "talkative" => Answer::Reply(format!(
            "550 5.1.1 <{recipient}> is not here, says 192.0.2.7 to probe.rcpt-tests.net [127.0.0.1]; {}",
            "ask somebody else ".repeat(60)
        )),
        "ann" | "info" => Answer::accept(),
        _ => Answer::unknown(),
    }
}

async fn post(account: &Account, body: &Value) -> Reply {
    let request = account.anonymous.request(Method::POST, "/validate_email");
    send(request.header("x-api-key", &account.api_key).json(body)).await
}

async fn check(account: &Account, email: &str, details: &Value) -> Reply {
    post(account, &json!({ "email": email, "details": details })).await
}

/// Members of the expected `details` that differ from [`silence`].
type ExpectedDetails = Value;

/// The values of the members when there is no evidence.
fn silence() -> Value {
    json!({
        "mx_host": null, "smtp_code": null, "enhanced_code": null, "smtp_text": null,
        "catch_all": "unknown", "disposable": false, "role_account": false, "free_provider": false,
        "suggestion": null, "retry_after": null, "operator": null, "problem": null
    })
}

/// The confidence and the verdict. Each server in these cases that accepts a mailbox refuses
/// a missing one, unless it accepts everything.
fn assessed(status: &Value, reason: &Value) -> [Value; 2] {
    let [confidence, verdict] = match (status.as_str(), status.as_bool()) {
        (_, Some(false)) if reason == "restricted" => ["medium", "undeliverable"],
        (_, Some(true)) if reason != "accepted" => ["low", "risky"],
        (_, Some(true)) => ["high", "deliverable"],
        (_, Some(false)) | (Some("domain_not_found" | "no_mx_records"), _) => {
            ["high", "undeliverable"]
        }
        _ if ["smtputf8_unsupported", "no_usable_address"].map(Value::from).contains(reason) => {
            ["medium", "undeliverable"]
        }
        _ => ["none", "unknown"],
    };
    [confidence, verdict].map(Value::from)
}

/// The facts about the domain.
fn facts_of(email: &str, reason: &Value) -> Value {
    let (_, name) = email.rsplit_once('@').expect("an address");
    let reason = reason.as_str().expect("a reason");
    let accepts_mail = match reason {
        "domain_not_found" | "null_mx" | "no_mx" | "domain_refuses_mail" => json!(false),
        // DNS wasn't queried, or had no answer.
        "dns_failure" | "opted_out" => Value::Null,
        _ => json!(true),
    };
    json!({ "name": name, "accepts_mail": accepts_mail })
}

/// The details of a reply to RCPT from a server found by a route.
fn replied(reason: &str, code: u16, enhanced: &str, text: &str) -> ExpectedDetails {
    json!({
        "reason": reason, "mx_host": "127.0.0.1", "smtp_code": code,
        "enhanced_code": enhanced, "smtp_text": text
    })
}

/// The details of a reply to RCPT from a server whose catch-all state is known.
fn spoken(reason: &str, code: u16, enhanced: &str, text: &str, catch_all: &str) -> ExpectedDetails {
    with(replied(reason, code, enhanced, text), "catch_all", json!(catch_all))
}

/// The details of a check without a reply.
fn unanswered(reason: &str, mx_host: Option<&str>) -> ExpectedDetails {
    json!({ "reason": reason, "mx_host": mx_host })
}

fn with(mut expected_details: ExpectedDetails, member: &str, value: Value) -> ExpectedDetails {
    expected_details[member] = value;
    expected_details
}

/// The details of a refusal without an enhanced code.
fn unenhanced(reason: &str, code: u16, text: &str) -> ExpectedDetails {
    with(replied(reason, code, "", text), "enhanced_code", Value::Null)
}

fn at_yahoo() -> ExpectedDetails {
    let evidence = replied("accepted_by_operator_policy", 250, "2.1.5", "Ok");
    with(with(evidence, "mx_host", json!("mta5.am0.yahoodns.net")), "operator", json!("yahoo"))
}

/// Address, status and expected details of each case.
#[rustfmt::skip]
fn cases() -> Vec<(&'static str, Value, ExpectedDetails)> {
    let (yes, no, local) = (json!(true), json!(false), Some("127.0.0.1"));
    let (blocked, error) = (json!("blocked_by_provider"), json!("smtp_connect_error"));
    let fatal = json!("fatal_exception");
    let greylisted = replied("greylisted", 451, "4.7.1", "Greylisted, please try again in 300 seconds");
    let weary = replied("rate_limited", 421, "4.7.0", "Too many connections, closing");
    vec![
        ("accepts@sandbox.test", yes.clone(), spoken("accepted", 250, "2.1.5", "Ok", "no")),
        ("anyone@catchall.sandbox.test", yes.clone(), spoken("accepted_catch_all", 250, "2.1.5", "Ok", "yes")),
        ("rejects@sandbox.test", no.clone(), spoken("no_such_mailbox", 550, "5.1.1", "No such user here", "no")),
        ("no-mail-here@scripted.test", no.clone(), replied("domain_refuses_mail", 556, "5.1.10", "The domain takes no mail")),
        ("disabled@sandbox.test", no.clone(), replied("mailbox_disabled", 550, "5.2.1", "This mailbox is disabled")),
        ("staff@scripted.test", no.clone(), replied("restricted", 550, "5.7.133",
            "RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required")),
        ("restricted@sandbox.test", no.clone(), replied("restricted", 550, "5.7.133",
            "Authentication required to send to this group")),
        ("full@sandbox.test", no, replied("mailbox_full", 552, "5.2.2", "The mailbox is over its quota")),
        ("blocked@sandbox.test", blocked.clone(), replied("blocked", 550, "5.7.1", "Your IP address is on our blocklist: blocked")),
        ("ratelimited@sandbox.test", blocked.clone(), replied("rate_limited", 450, "4.2.1", "Too many messages, slow down")),
        ("nameless@scripted.test", blocked.clone(), replied("reverse_dns_required", 550, "5.7.25", "Your address has no reverse DNS")),
        ("relay@sandbox.test", blocked.clone(), replied("relay_denied", 554, "5.7.1", "Relay access denied")),
        ("greylisted@sandbox.test", blocked.clone(), with(greylisted, "retry_after", json!(300))),
        ("unavailable@sandbox.test", error.clone(), replied("server_unavailable", 451, "4.3.0", "Temporary lookup failure")),
        ("confused@scripted.test", error.clone(), replied("protocol_error", 500, "5.5.2", "Syntax error")),
        ("δοκιμή@opensmtpd.test", error.clone(), unanswered("smtputf8_unsupported", local)),
        ("x@shut.test", error.clone(), unanswered("connection_failed", local)),
        ("known@tls-only.opensmtpd.test", error.clone(), unanswered("protocol_error", local)),
        ("timeout@sandbox.test", json!("smtp_timeout"), unanswered("timeout", local)),
        ("known@reclusive.rcpt-tests.net", blocked.clone(), unanswered("opted_out", None)),
        ("x@gone.rcpt-tests.net", json!("domain_not_found"), unanswered("domain_not_found", None)),
        ("x@null.rcpt-tests.net", json!("no_mx_records"), unanswered("null_mx", None)),
        ("x@bare.rcpt-tests.net", json!("no_mx_records"), unanswered("no_mx", None)),
        ("x@inside.rcpt-tests.net", error, unanswered("no_usable_address", Some("mx.inside.rcpt-tests.net"))),
        ("x@broken-zone.net", fatal.clone(), unanswered("dns_failure", None)),
        ("busy@scripted.test", blocked.clone(), replied("mailbox_busy", 450, "4.2.1", "The user you are trying to contact is receiving mail too quickly")),
        ("puzzling@scripted.test", blocked.clone(), unenhanced("unclear", 550, "Frobnicated")),
        ("ann@everybody.rcpt-tests.net", yes.clone(), at_yahoo()),
        // After a 421 we avoid the host, so the next address isn't checked.
        ("weary@weary.rcpt-tests.net", blocked, with(weary, "mx_host", json!(WEARY))),
        ("ann@weary.rcpt-tests.net", fatal, unanswered("our_limit", Some(WEARY))),
    ]
}

#[tokio::test]
async fn every_reason_is_seen_with_its_status_and_its_evidence() {
    let account = World::account().await;
    today().await;
    let mut reasons = BTreeSet::new();
    let mut counted = 0;
    for (email, status, expected_details) in cases() {
        let mut details = silence();
        let [confidence, verdict] = assessed(&status, &expected_details["reason"]);
        details["confidence"] = confidence;
        for (member, value) in expected_details.as_object().expect("members") {
            details[member] = value.clone();
        }
        let mut reply = check(&account, email, &json!(true)).await;
        let domain = facts_of(email, &expected_details["reason"]);
        let domain_facts = reply.body["details"]["domain"].take();
        assert_eq!(
            [&domain_facts["name"], &domain_facts["accepts_mail"]],
            [&domain["name"], &domain["accepts_mail"]],
            "{email}"
        );
        let is_sandbox = email.ends_with("sandbox.test");
        assert_eq!(
            is_sandbox,
            domain_facts["evidence"][0]["source"] == "sandbox",
            "{email}: {domain_facts}"
        );
        details["domain"] = Value::Null;
        if expected_details["reason"] == "our_limit" {
            let seconds = reply.body["details"]["retry_after"].take().as_u64().expect("a pause");
            assert!((1..=15).contains(&seconds), "{email}: {seconds} s");
        }
        let expected = json!({ "email": email, "verdict": verdict, "status": status, "cached": false, "details": details });
        assert_eq!(reply.parts(), (200, &expected));
        reasons.insert(expected_details["reason"].clone().to_string());
        counted += i64::from(status != "fatal_exception");
    }
    let all = Reason::ALL.map(|reason| format!("{:?}", reason.as_str()));
    assert_eq!(reasons, all.into());
    assert_eq!(account.email_checks().await.used_today, counted);
}

#[tokio::test]
async fn whether_a_domain_takes_everything_is_yes_no_or_unknown() {
    let account = World::account().await;
    for (email, catch_all) in [
        ("somebody@catchall.sandbox.test", "yes"),
        ("accepts+catch-all@sandbox.test", "no"),
        // One refused name proves nothing about the server, but the reply to the control recipient does.
        ("rejects+catch-all@sandbox.test", "no"),
        ("greylisted@opensmtpd.test", "unknown"),
        ("nobody@down.sandbox.test", "unknown"),
    ] {
        let reply = check(&account, email, &json!(true)).await;
        assert_eq!(
            (reply.status, &reply.body["details"]["catch_all"]),
            (200, &json!(catch_all)),
            "{email}"
        );
    }
}

#[tokio::test]
async fn an_address_that_is_disposable_a_role_free_or_misspelt_is_called_so() {
    let account = World::account().await;
    for (email, traits) in [
        ("ann@scripted.test", json!([false, false, false, null])),
        ("info@scripted.test", json!([false, true, false, null])),
        ("ann@gmail.com", json!([false, false, true, null])),
        ("ann@mailinator.com", json!([true, false, false, null])),
        ("ann@duck.com", json!([false, false, false, null])),
        ("Ann@gmial.com", json!([false, false, false, "Ann@gmail.com"])),
        // No nameserver answers for this domain, so it may exist.
        ("Ann@gmail.con", json!([false, false, false, null])),
    ] {
        let reply = check(&account, email, &json!(true)).await;
        let details = &reply.body["details"];
        let domain_facts = ["disposable", "role_account", "free_provider", "suggestion"]
            .map(|member| details[member].clone());
        assert_eq!((reply.status, json!(domain_facts)), (200, traits), "{email}");
        assert_eq!(details["disposable"], details["domain"]["kind"] == "disposable", "{email}");
        assert_eq!(details["free_provider"], details["domain"]["kind"] == "provider", "{email}");
        if email == "ann@duck.com" {
            let domain = &details["domain"];
            assert_eq!([&domain["kind"], &domain["operator"]], ["relay", "duckduckgo"]);
            assert_eq!(domain["evidence"][0]["list"], "relay");
        }
    }
}

#[tokio::test]
async fn what_the_server_said_is_shown_without_addresses_and_no_longer_than_512_characters() {
    let account = World::account().await;
    let reply = check(&account, "talkative@scripted.test", &json!(true)).await;
    let text = reply.body["details"]["smtp_text"].as_str().expect("a text");
    assert!(text.starts_with("[address] is not here, says [ip] to [us] [[ip]]; ask"), "{text}");
    assert_eq!((reply.status, text.chars().count()), (200, 512));
}

#[tokio::test]
async fn without_the_flag_the_answer_has_the_three_members_of_the_interface_and_the_verdict() {
    let account = World::account().await;
    for (email, details) in
        [("accepts+unasked@sandbox.test", None), ("accepts+not@sandbox.test", Some(false))]
    {
        let body = match details {
            None => json!({ "email": email }),
            Some(flag) => json!({ "email": email, "details": flag }),
        };
        let reply = post(&account, &body).await;
        let expected =
            json!({ "email": email, "verdict": "deliverable", "status": true, "cached": false });
        assert_eq!(reply.parts(), (200, &expected));
    }
    let malformed = check(&account, "no address", &json!(false)).await;
    let expected =
        json!({ "email": "no address", "verdict": "undeliverable", "status": "invalid_format" });
    assert_eq!(malformed.parts(), (200, &expected));
}

#[tokio::test]
async fn a_flag_that_is_not_a_boolean_is_400_and_costs_nothing() {
    let account = World::account().await;
    let expected = json!({ "detail": { "error": "The 'details' field must be a boolean." }, "code": "invalid_body" });
    for flag in [json!("true"), json!(1), json!(null), json!([true]), json!({})] {
        let reply = check(&account, "accepts@sandbox.test", &flag).await;
        assert_eq!(reply.parts(), (400, &expected), "{flag}");
    }
    assert_eq!(account.email_checks().await.used_today, 0);
}

#[tokio::test]
async fn evidence_is_kept_with_the_verdict_but_for_the_servers_words() {
    let account = World::account().await;
    let email = "accepts+kept@sandbox.test";
    let plain = |cached: bool| json!({ "email": email, "verdict": "deliverable", "status": true, "cached": cached });
    let unasked = post(&account, &json!({ "email": email })).await;
    assert_eq!(unasked.parts(), (200, &plain(false)));
    // The evidence was kept although nobody had asked for it.
    let with_details = check(&account, email, &json!(true)).await;
    let details = &with_details.body["details"];
    assert_eq!((with_details.status, &with_details.body["cached"]), (200, &json!(true)));
    assert_eq!(
        [&details["reason"], &details["smtp_code"], &details["smtp_text"]],
        [&json!("accepted"), &json!(250), &json!(null)],
    );
    let unasked = post(&account, &json!({ "email": email })).await;
    assert_eq!(unasked.parts(), (200, &plain(true)));
}

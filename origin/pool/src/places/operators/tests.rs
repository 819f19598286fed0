//! Tests of the built-in table, and of files that extend it.

use std::time::Duration;

use super::Operators;

#[test]
fn a_new_table_keeps_the_numbers_of_the_one_before() {
    let table = |text: &str| Operators::with(text).unwrap();
    let row =
        |name: &str| format!("[[operator]]\nname = \"{name}\"\nmx = [\"in.{name}.example\"]\n");
    let before = table(&(row("first") + &row("second")));
    let number = |table: &Operators, name: &str| table.of_host(&format!("in.{name}.example"));
    let after = table(&(row("third") + &row("second"))).numbered_as(&before);
    assert_eq!(number(&after, "second"), number(&before, "second"));
    let google = "gmail-smtp-in.l.google.com";
    assert_eq!(after.of_host(google), before.of_host(google));
    assert_eq!(number(&after, "first"), None, "it is no operator any more");
    assert_eq!(number(&after, "third"), Some(before.rows().len()));
    // The operator gets its previous number back.
    let again = table(&(row("second") + &row("third") + &row("first"))).numbered_as(&after);
    for name in ["first", "second"] {
        assert_eq!(number(&again, name), number(&before, name), "{name}");
    }
    assert_eq!(number(&again, "third"), number(&after, "third"));
}

#[test]
fn hosts_of_one_operator_are_one() {
    let table = Operators::with("").unwrap();
    for (host, operator) in [
        ("contoso-com.mail.protection.outlook.com", "microsoft"),
        ("hotmail-com.olc.protection.outlook.com", "microsoft"),
        ("contoso-com.a-v1.mx.microsoft", "microsoft"),
        ("aspmx.l.google.com", "google"),
        ("alt1.gmail-smtp-in.l.google.com", "google"),
        ("mta5.am0.yahoodns.net", "yahoo"),
        ("mxa-00123.gslb.pphosted.com", "proofpoint"),
        ("eu-smtp-inbound-1.mimecast.com", "mimecast"),
        ("inbound-smtp.eu-west-1.amazonaws.com", "amazon"),
        ("mx00.ionos.de", "ionos"),
    ] {
        let row = table.of_host(host).and_then(|id| table.get(id));
        assert_eq!(row.map(|row| &*row.name), Some(operator), "{host}");
    }
}

#[test]
fn machines_of_an_operators_customers_are_not_the_operators() {
    let table = Operators::with("").unwrap();
    for host in [
        "ec2-192-0-2-1.compute-1.amazonaws.com",
        "x.inbound-smtp.amazonaws.com",
        "vps123.ovh.net",
        "ip-192-0-2-1.ip.secureserver.net",
        "s1.kundenserver.de",
        "1.2.0.192.bc.googleusercontent.com",
        "notgoogle.com",
        "mx.example.org",
        "google.com",
        "com",
        "mx00.ionos.lol",
        "h1.mx01.ionos.example.org",
    ] {
        assert_eq!(table.of_host(host), None, "{host}");
    }
    assert_eq!(&*table.label("mx.example.org"), "other");
}

#[test]
fn what_is_known_of_an_operator() {
    let table = Operators::with("").unwrap();
    let row = |host| table.of_host(host).and_then(|id| table.get(id)).unwrap();
    assert_eq!(row("mta5.am0.yahoodns.net").informative, Some(false));
    assert_eq!(row("aspmx.l.google.com").informative, Some(true));
    // A gateway's replies depend on the customer.
    assert_eq!(row("us-smtp-inbound-1.mimecast.com").informative, None);
    assert!(table.is_consumer_domain("gmail.com") && !table.is_consumer_domain("example.org"));
}

#[test]
fn a_file_adds_operators_and_changes_their_limits() {
    let table = Operators::with(
        r#"
        [[operator]]
        name = "google"
        mx = ["mx.corp.example"]
        sessions = 9
        [[operator]]
        name = "acme"
        mx = ["in.*.acme.example"]
        informative = false
        session_interval_ms = 0
        "#,
    )
    .unwrap();
    let row = |host| table.of_host(host).and_then(|id| table.get(id)).unwrap();
    assert_eq!(row("mx.corp.example").sessions, Some(9));
    assert_eq!(row("aspmx.l.google.com").sessions, Some(9));
    assert_eq!(row("aspmx.l.google.com").refused_per_hour, Some(1_000), "as it was");
    let acme = row("a.in.eu.acme.example");
    assert_eq!((acme.informative, acme.session_interval), (Some(false), Some(Duration::ZERO)));
}

#[test]
fn names_every_mistake_of_a_file() {
    let mistakes = Operators::with(
        r#"
        version = 1
        [[operator]]
        name = "Acme Mail"
        mx = ["com", "*.acme.*", 7, "a..b", "*.example"]
        consumer = "acme.example"
        informative = "no"
        sesions = 2
        [[operator]]
        sessions = 0
        session_interval_ms = -1
        "#,
    )
    .unwrap_err();
    let text: Vec<_> = mistakes.iter().map(ToString::to_string).collect();
    let expected = [
        "version: expected [[operator]] rows alone",
        "operator \"Acme Mail\": name: expected lower-case",
        "operator \"Acme Mail\": sesions: no such value; did you mean sessions?",
        "operator \"Acme Mail\": mx: expected names of hosts or their suffixes, two labels at least, got \"com\"",
        "operator \"Acme Mail\": mx: expected names of hosts or their suffixes, two labels at least, got \"*.acme.*\"",
        "operator \"Acme Mail\": mx: expected names of hosts or their suffixes, two labels at least, got 7",
        "operator \"Acme Mail\": mx: expected names of hosts or their suffixes, two labels at least, got \"a..b\"",
        "operator \"Acme Mail\": mx: expected names of hosts or their suffixes, two labels at least, got \"*.example\"",
        "operator \"Acme Mail\": consumer: expected a list",
        "operator \"Acme Mail\": informative: expected true or false",
        "operator \"number 2\": name: expected lower-case",
        "operator \"number 2\": sessions: expected a number, 1 to 1000000, got 0",
        "operator \"number 2\": session_interval_ms: expected a number",
    ];
    assert_eq!(text.len(), expected.len(), "{text:#?}");
    for (problem, expected) in text.iter().zip(expected) {
        assert!(problem.starts_with(expected), "{problem}\n{expected}");
    }
    let duplicate_mx =
        Operators::with("[[operator]]\nname = \"acme\"\nmx = [\"l.google.com\"]").unwrap_err();
    let problem = "operator \"acme\": l.google.com belongs to google already";
    assert_eq!(duplicate_mx[0].to_string(), problem);
    let garbage = Operators::with("[[operator").unwrap_err();
    let problem = garbage[0].to_string();
    assert!(problem.starts_with("not TOML at line 1"), "{garbage:?}");
}

//! `origin doctor`, on a machine with controlled DNS, mail servers and postmaster.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
    process::Output,
};

use crate::harness::{MailServer, SECRETS, obey, shut_port};
use hickory_resolver::proto::{
    op::{Message, ResponseCode},
    rr::{
        Name, RData, Record, RecordType,
        rdata::{A, MX, PTR, TXT},
    },
};
use serde_json::Value;
use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    net::{TcpListener, UdpSocket},
    process::Command,
    task::JoinHandle,
};

type Row = (&'static str, RecordType, &'static str);

/// Placeholder for an address of this machine; `PTR_OF_OURS` is the name of its PTR record.
const OURS: &str = "OURS";
const PTR_OF_OURS: &str = "PTR_OF_OURS";
/// Placeholder for `OURS` on a blocklist: the address with its bytes reversed.
const REVERSED: &str = "REVERSED";

/// A zone without any defects.
const ZONE: &[Row] = &[
    ("probe.op.org.", RecordType::A, OURS),
    ("probe.op.org.", RecordType::TXT, "v=spf1 a -all"),
    (PTR_OF_OURS, RecordType::PTR, "probe.op.org."),
    ("op.org.", RecordType::MX, "10 mx.op.org."),
    ("op.org.", RecordType::TXT, "some-verification=1"),
    ("op.org.", RecordType::TXT, "v=spf1 include:spf.op.org ~all"),
    ("spf.op.org.", RecordType::TXT, "v=spf1 ip4:OURS/30 -all"),
    ("mx.op.org.", RecordType::A, "127.0.0.3"),
    ("example.com.", RecordType::MX, "0 ."),
];

/// An address that isn't a loopback address: the resolver itself answers for loopback
/// addresses.
fn our_address() -> Ipv4Addr {
    let addresses = if_addrs::get_if_addrs().unwrap().into_iter().map(|interface| interface.ip());
    let v4 = addresses.filter_map(|ip| match ip {
        IpAddr::V4(ip) if !ip.is_loopback() => Some(ip),
        _ => None,
    });
    v4.into_iter().next().expect("a network interface")
}

fn rows_of<'a>(zone: &'a [Row], name: &'a str) -> impl Iterator<Item = &'a str> {
    let is_of = move |owner: &str| owner.strip_prefix('*').is_some_and(|zone| name.ends_with(zone));
    zone.iter().filter(move |(owner, ..)| is_of(owner)).map(|(.., data)| *data)
}

fn answer(zone: &[Row], query: Message) -> Vec<u8> {
    let query_name = query.queries[0].name().to_ascii().to_lowercase();
    let kind = query.queries[0].query_type();
    let mut response = query.into_response();
    let ours = our_address();
    let reverse = Name::from(IpAddr::V4(ours)).to_ascii();
    let [a, b, c, d] = ours.octets();
    let reversed = format!("{d}.{c}.{b}.{a}");
    if rows_of(zone, &query_name).any(|data| data == "SERVFAIL") {
        response.metadata.response_code = ResponseCode::ServFail;
        return response.to_vec().unwrap();
    }
    let rows: Vec<_> = zone
        .iter()
        .map(|(owner, of, data)| {
            let owner = owner.replace(PTR_OF_OURS, &reverse).replace(REVERSED, &reversed);
            (owner, *of, data.replace(OURS, &ours.to_string()))
        })
        .filter(|(owner, ..)| {
            owner.strip_prefix('*').map_or(*owner == query_name, |zone| query_name.ends_with(zone))
        })
        .collect();
    if rows.is_empty() && query_name != "." {
        response.metadata.response_code = ResponseCode::NXDomain;
    }
    for (owner, _, data) in rows.into_iter().filter(|(_, of, _)| *of == kind) {
        let name = |text: &str| Name::from_ascii(text).unwrap();
        let data = match kind {
            RecordType::A => RData::A(A(data.parse().unwrap())),
            RecordType::PTR => RData::PTR(PTR(name(&data))),
            RecordType::TXT => RData::TXT(TXT::new(vec![data])),
            _ => {
                let (preference, host) = data.split_once(' ').unwrap();
                RData::MX(MX::new(preference.parse().unwrap(), name(host)))
            }
        };
        let owner = if owner.starts_with('*') { query_name.clone() } else { owner };
        response.add_answer(Record::from_rdata(name(&owner), 60, data));
    }
    response.to_vec().unwrap()
}

/// An origin's machine, with the environment that the doctor sees.
struct Machine {
    environment: HashMap<&'static str, String>,
    running: Vec<JoinHandle<()>>,
    _greeting: MailServer,
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.running.iter().for_each(JoinHandle::abort);
    }
}

impl Machine {
    /// Starts a nameserver with the records of `zone`, and a mail server that answers every RCPT with `rcpt`.
    async fn with(zone: Vec<Row>, rcpt: &'static str) -> Self {
        let nameserver = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mail = TcpListener::bind("127.0.0.3:0").await.unwrap();
        let greeting = MailServer::answering("220 mx", "", "250 ok").await;
        let environment = HashMap::from([
            ("RCPT_HELO_NAME", "probe.op.org".to_owned()),
            ("RCPT_MAIL_FROM", "probe@op.org".to_owned()),
            ("RCPT_TICKET_SECRETS", SECRETS.to_owned()),
            ("RCPT_NAMESERVERS", nameserver.local_addr().unwrap().to_string()),
            ("RCPT_SOURCE_ADDRESSES", our_address().to_string()),
            ("RCPT_SMTP_PORT", mail.local_addr().unwrap().port().to_string()),
            ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8".to_owned()),
            ("RCPT_PORT_CHECK", greeting.address.to_string()),
            ("RCPT_DNS_TIMEOUT_MS", "2000".to_owned()),
        ]);
        let resolving = tokio::spawn(async move {
            let mut query = [0; 1_500];
            while let Ok((length, from)) = nameserver.recv_from(&mut query).await {
                let query = Message::from_vec(&query[..length]).unwrap();
                nameserver.send_to(&answer(&zone, query), from).await.unwrap();
            }
        });
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = mail.accept().await {
                let mut stream = BufReader::new(stream);
                stream.write_all(b"220 mx\r\n").await.unwrap();
                obey(&mut stream, "", "250 ok", rcpt).await;
            }
        });
        Self { environment, running: vec![resolving, serving], _greeting: greeting }
    }

    async fn fit() -> Self {
        Self::with(ZONE.to_vec(), "250 ok").await
    }

    /// Replaces the row of `owner` and `kind` by `data`, or removes it.
    async fn changed(owner: &str, kind: RecordType, data: Option<&'static str>) -> Self {
        let mut zone = ZONE.to_vec();
        let row = zone.iter().position(|row| row.0 == owner && row.1 == kind).unwrap();
        match data {
            Some(data) => zone[row].2 = data,
            None => drop(zone.remove(row)),
        }
        Self::with(zone, "250 ok").await
    }

    fn set(mut self, variable: &'static str, value: &str) -> Self {
        self.environment.insert(variable, value.to_owned());
        self
    }

    async fn doctor(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_origin"));
        command.env_clear().envs(&self.environment).arg("doctor").args(arguments);
        command.kill_on_drop(true).output().await.unwrap()
    }

    /// The exit code, and the findings of `check` as "health: about".
    async fn findings(&self, check: &str) -> (i32, Vec<String>) {
        let output = self.doctor(&["--json"]).await;
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
        let matching = findings
            .filter(|finding| finding["check"] == check)
            .map(|finding| format!("{}: {}", text(finding, "health"), text(finding, "about")))
            .map(|finding| finding.replace(&our_address().to_string(), OURS))
            .collect();
        (output.status.code().unwrap(), matching)
    }
}

#[tokio::test]
async fn a_machine_in_order_is_fit() {
    let output = Machine::fit().await.doctor(&[]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "ok      OURS is an address of this machine",
        "ok      a nameserver answers",
        "ok      nameserver 1 changes no answers",
        "ok      HELO name probe.op.org leads to OURS",
        "ok      OURS leads back to probe.op.org",
        "ok      HELO name probe.op.org: SPF passes for OURS",
        "ok      sender probe@op.org: its domain has MX records",
        "ok      sender's domain op.org: SPF passes for OURS",
        "ok      postmaster@op.org is accepted",
    ] {
        let line = line.replace(OURS, &our_address().to_string());
        assert!(text.lines().any(|finding| finding == line), "{line} not in\n{text}");
    }
    assert!(!text.contains("WRONG") && !text.contains("warning"), "{text}");
    assert_eq!(output.status.code(), Some(0));
}

#[tokio::test]
async fn a_nameserver_has_to_change_no_answers() {
    let machine = Machine::changed("example.com.", RecordType::MX, None).await;
    let (code, findings) = machine.findings("nameserver_answers").await;
    let due = "wrong: nameserver 1 leaves out the MX records of example.com";
    assert_eq!((code, &*findings), (1, &[due.to_owned()][..]));
    let zone = [ZONE, &[("*.com.", RecordType::A, "198.51.100.99")]].concat();
    let (code, findings) = Machine::with(zone, "250 ok").await.findings("nameserver_answers").await;
    let due = "wrong: nameserver 1 gives 198.51.100.99 to a name that doesn't exist";
    assert_eq!((code, &*findings), (1, &[due.to_owned()][..]));
}

#[tokio::test]
async fn the_senders_domain_has_to_take_mail() {
    let machine = Machine::changed("op.org.", RecordType::MX, Some("0 .")).await;
    let (code, findings) = machine.findings("mail_from").await;
    assert_eq!(findings, ["wrong: sender probe@op.org: its domain says that it takes no mail"]);
    assert_eq!(code, 1);
    let machine = Machine::fit().await.set("RCPT_MAIL_FROM", "probe@nowhere.org");
    let (_, findings) = machine.findings("mail_from").await;
    assert_eq!(findings, ["wrong: sender probe@nowhere.org: its domain does not exist"]);
    let machine = Machine::fit().await.set("RCPT_MAIL_FROM", "<>");
    let (code, findings) = machine.findings("mail_from").await;
    assert_eq!((code, &*findings), (3, &["warning: the sender is the null sender".to_owned()][..]));
}

#[tokio::test]
async fn spf_has_to_name_our_addresses() {
    for (owner, data, expected, exit) in [
        (
            "spf.op.org.",
            Some("v=spf1 ip4:203.0.113.0/24 -all"),
            "warning: sender's domain op.org: SPF is ~all for OURS",
            3,
        ),
        (
            "spf.op.org.",
            Some("v=spf1 mx:op.org/0 -all"),
            "fine: sender's domain op.org: SPF passes for OURS",
            0,
        ),
        (
            "spf.op.org.",
            Some("v=spf1 redirect=probe.op.org"),
            "fine: sender's domain op.org: SPF passes for OURS",
            0,
        ),
        (
            "spf.op.org.",
            Some("v=spf1 include:spf.op.org -all"),
            "wrong: sender's domain op.org: SPF record: it needs more than 10 questions to DNS",
            1,
        ),
        (
            "spf.op.org.",
            Some("v=spf1 ip4:nonsense -all"),
            "wrong: sender's domain op.org: SPF record: `ip4:nonsense` is not understood",
            1,
        ),
        (
            "spf.op.org.",
            None,
            "wrong: sender's domain op.org: SPF record: include:spf.op.org has none",
            1,
        ),
        (
            "probe.op.org.",
            Some("v=spf1 -all"),
            "wrong: HELO name probe.op.org: SPF fails for OURS",
            1,
        ),
        ("probe.op.org.", None, "warning: HELO name probe.op.org has no SPF record", 3),
    ] {
        let machine = Machine::changed(owner, RecordType::TXT, data).await;
        let (code, findings) = machine.findings("spf").await;
        assert!(
            findings.iter().any(|finding| finding == expected),
            "{expected} not in {findings:?}"
        );
        assert_eq!(code, exit, "{findings:?}");
    }
}

#[tokio::test]
async fn a_postmaster_that_is_refused_is_wrong() {
    let machine = Machine::with(ZONE.to_vec(), "550 5.1.1 no such user").await;
    let (code, findings) = machine.findings("postmaster").await;
    assert_eq!((code, &*findings), (1, &["wrong: postmaster@op.org is refused".to_owned()][..]));
}

#[tokio::test]
async fn names_have_to_lead_there_and_back() {
    let reverse = PTR_OF_OURS;
    let machine = Machine::changed(reverse, RecordType::PTR, None).await;
    let (code, findings) = machine.findings("reverse_name").await;
    assert_eq!((code, &*findings), (1, &["wrong: OURS has no reverse name".to_owned()][..]));

    let machine = Machine::changed(reverse, RecordType::PTR, Some("mx.op.org.")).await;
    let (_, findings) = machine.findings("reverse_name").await;
    assert_eq!(findings, ["wrong: OURS leads back to mx.op.org and not to probe.op.org"]);

    let machine = Machine::changed("probe.op.org.", RecordType::A, Some("127.0.0.9")).await;
    let (_, findings) = machine.findings("helo_name").await;
    let expected = "wrong: HELO name probe.op.org does not lead to OURS, which we connect from";
    assert_eq!(findings, [expected]);
}

#[tokio::test]
async fn a_blocklist_counts_only_while_it_works() {
    let entry = |owner, data| (owner, RecordType::A, data);
    let always = entry("2.0.0.127.bl.op.org.", "127.0.0.2");
    let ours = |data| entry("REVERSED.bl.op.org.", data);
    for (rows, expected, exit) in [
        (vec![always], "fine: OURS is not on bl.op.org", 0),
        (vec![always, ours("127.0.0.4")], "wrong: OURS is on bl.op.org", 1),
        (
            vec![entry("*.bl.op.org.", "127.0.0.2")],
            "unknown: bl.op.org lists everything: OURS isn't looked up",
            0,
        ),
        (
            vec![ours("127.0.0.2")],
            "unknown: bl.op.org doesn't list its own test entry: OURS isn't looked up",
            0,
        ),
        (
            vec![always, ours("198.51.100.80")],
            "unknown: bl.op.org answers what no blocklist answers: OURS isn't looked up",
            0,
        ),
        (
            vec![entry("*.bl.op.org.", "127.255.255.254")],
            "unknown: bl.op.org refuses our questions: OURS isn't looked up",
            0,
        ),
        (
            vec![entry("*.bl.op.org.", "SERVFAIL")],
            "unknown: bl.op.org doesn't answer: OURS isn't looked up",
            0,
        ),
    ] {
        let zone = ZONE.iter().copied().chain(rows).collect();
        let machine = Machine::with(zone, "250 ok").await.set("RCPT_BLOCKLISTS", "bl.op.org");
        assert_eq!(machine.findings("blocklist").await, (exit, vec![expected.to_owned()]));
    }
}

#[tokio::test]
async fn one_wound_does_not_end_the_examination() {
    let machine = Machine::fit().await.set("RCPT_SOURCE_ADDRESSES", "198.51.100.7");
    let output = machine.doctor(&["--json"]).await;
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["health"], "wrong");
    let checks: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|finding| &finding["check"]).collect();
    for check in ["source_address", "nameserver", "port_25", "clock", "helo_name", "reverse_name"] {
        assert!(checks.iter().any(|finding| *finding == check), "{check} not in {checks:?}");
    }
}

#[tokio::test]
async fn one_silent_server_of_several_is_a_warning_and_all_are_a_failure() {
    let shut = shut_port().await;
    let machine = Machine::fit().await;
    let both = format!("{},{shut}", machine.environment["RCPT_PORT_CHECK"]);
    let (code, findings) = machine.set("RCPT_PORT_CHECK", &both).findings("port_25").await;
    assert_eq!(code, 3);
    assert_eq!(findings[1], format!("warning: {shut} cannot be connected to"));
    let (code, findings) =
        Machine::fit().await.set("RCPT_PORT_CHECK", "").findings("port_25").await;
    assert_eq!((code, &*findings), (3, &["warning: port 25 outward: not checked".to_owned()][..]));
    let machine = Machine::fit().await.set("RCPT_PORT_CHECK", &shut);
    let (code, findings) = machine.findings("port_25").await;
    assert_eq!((code, &*findings), (1, &[format!("wrong: {shut} cannot be connected to")][..]));
}

#[tokio::test]
async fn a_machine_without_network_is_told_from_one_with_a_fault() {
    let shut = shut_port().await;
    let machine = Machine::fit()
        .await
        .set("RCPT_PORT_CHECK", &shut)
        .set("RCPT_NAMESERVERS", "127.0.0.1:9")
        .set("RCPT_SOURCE_ADDRESSES", "");
    let output = machine.doctor(&[]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with("WRONG   there is no network") || first.contains("no route"),
        "{text}"
    );
    assert!(text.contains("names, sender and blocklists: not examined"), "{text}");
}

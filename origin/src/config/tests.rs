//! Tests of reading the configuration: the example, the defaults, and each mistake by name.

use std::{collections::HashMap, time::Duration};

use super::{Config, Families, Mistakes, Route, StartTls, reference, settings, unknown_variables};

const EXAMPLE: &str = include_str!("../../origin.example.toml");
const SECRETS: &str = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE";

const REQUIRED: [(&str, &str); 3] = [
    ("RCPT_HELO_NAME", "probe.example.com"),
    ("RCPT_MAIL_FROM", "postmaster@example.com"),
    ("RCPT_TICKET_SECRETS", SECRETS),
];

fn parse(text: &str, environment: &[(&str, &str)]) -> Result<Config, Mistakes> {
    let environment: HashMap<_, _> = environment.iter().copied().collect();
    Config::parse(text, &|name| environment.get(name).map(ToString::to_string))
}

fn with(environment: &[(&str, &str)]) -> Result<Config, Mistakes> {
    parse("", &[&REQUIRED[..], environment].concat())
}

fn names(mistakes: &Mistakes) -> Vec<&str> {
    mistakes.0.iter().map(|mistake| mistake.name.as_str()).collect()
}

#[test]
fn the_example_is_a_configuration_once_its_made_up_values_are_replaced() {
    let nameservers = ("RCPT_NAMESERVERS", "192.0.2.53");
    let config = parse(EXAMPLE, &[&REQUIRED[..], &[nameservers]].concat()).unwrap();
    assert_eq!(config.helo_name, "probe.example.com");
    let mistakes = parse(EXAMPLE, &[nameservers]).unwrap_err();
    assert_eq!(names(&mistakes), ["helo_name", "mail_from", "ticket_secrets"]);
    let text = mistakes.to_string();
    assert!(text.contains("helo_name: still the example's"), "{text}");
    assert!(!text.contains("RVhBT"), "{text}");
}

#[test]
fn the_secret_of_the_example_is_refused_alone_and_beside_another() {
    for secrets in [
        "RVhBTVBMRS1PTkxZLURPLU5PVC1VU0UtVEhJUy1LRVkhIQ",
        "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE,RVhBTVBMRS1PTkxZLURPLU5PVC1VU0UtVEhJUy1LRVkhIQ",
    ] {
        let mistakes = with(&[("RCPT_TICKET_SECRETS", secrets)]).unwrap_err();
        assert_eq!(names(&mistakes), ["ticket_secrets"]);
    }
}

#[test]
fn a_sender_is_required_and_the_null_sender_is_said() {
    assert_eq!(with(&[("RCPT_MAIL_FROM", "<>")]).unwrap().mail_from, "");
    for nothing in ["", "postmaster", "postmaster@", "<postmaster@example.com>"] {
        let mistakes = with(&[("RCPT_MAIL_FROM", nothing)]).unwrap_err();
        assert_eq!(names(&mistakes), ["mail_from"], "{nothing}");
    }
    let missing = parse("", &[REQUIRED[0], REQUIRED[2]]).unwrap_err().to_string();
    assert!(
        missing.starts_with("mail_from: missing; expected an ASCII email address"),
        "{missing}"
    );
}

#[test]
fn values_that_contradict_each_other_are_named() {
    let mistakes = with(&[
        ("RCPT_CONNECT_TIMEOUT_MS", "90000"),
        ("RCPT_DNS_TIMEOUT_MS", "10001"),
        ("RCPT_SOURCE_ADDRESSES", "192.0.2.1,192.0.2.2,2001:db8::1"),
        ("RCPT_FAMILIES", "ipv4"),
    ]);
    assert!(with(&[("RCPT_BUDGET_MS", "300")]).is_ok(), "the defaults end with it");
    let pair = with(&[("RCPT_SOURCE_ADDRESSES", "192.0.2.1,2001:db8::1")]);
    assert!(pair.is_ok(), "one of each family: there is no choice");
    let expected = "connect_timeout_ms: 90000 is longer than budget_ms, which is 10000\n\
                    dns_timeout_ms: 10001 is longer than budget_ms, which is 10000\n\
                    source_key: missing; it assigns domains to the source_addresses, 16 characters or more\n\
                    families: leaves out 2001:db8::1 of source_addresses";
    assert_eq!(mistakes.unwrap_err().to_string(), expected);
}

#[test]
fn variables_that_are_no_settings_are_named() {
    let names = ["RCPT_BUDGET", "RCPT_CONFIG", "RCPT_LISTEN", "PATH", "RCPT_ORIGIN_BIN"];
    let unknown = unknown_variables(names);
    let slip = "unknown variable `RCPT_BUDGET`; did you mean `RCPT_BUDGET_MS`?";
    assert_eq!(unknown.slips.to_string(), slip);
    let stranger = "unknown variable `RCPT_ORIGIN_BIN`; `origin --help` lists those there are";
    assert_eq!(unknown.strangers.to_string(), stranger);
}

#[test]
fn the_example_shows_every_value_with_its_default() {
    // A comment shows a setting if it begins with a setting's name and ` = `.
    let uncommented = EXAMPLE.replace("\n# [routes]\n# ", "\n[routes]\n");
    let uncommented: String = uncommented
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(setting)
                if settings::ALL.iter().any(|known| {
                    setting.strip_prefix(known.name).is_some_and(|rest| rest.starts_with(" = "))
                }) =>
            {
                format!("{setting}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    let table: toml::Table = uncommented.parse().unwrap();
    for setting in settings::ALL {
        let shown = table.get(setting.name).unwrap_or_else(|| panic!("{} missing", setting.name));
        let default = setting.default.unwrap_or_default();
        if !default.is_empty() {
            let number = shown.as_integer().map(|number| number.to_string());
            let items = shown.as_array().map(|items| {
                items.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>().join(",")
            });
            let text = number.as_deref().or(shown.as_str()).or(items.as_deref());
            assert_eq!(text, Some(default), "{}", setting.name);
        }
    }
    // The example's certificate doesn't exist in tests.
    let mut environment = REQUIRED.to_vec();
    environment.extend([("RCPT_TLS_CERT", ""), ("RCPT_TLS_KEY", "")]);
    parse(&uncommented, &environment).unwrap();
}

#[test]
fn the_defaults_are_those_of_the_design() {
    let config = with(&[("RCPT_NAMESERVERS", "192.0.2.53")]).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8788");
    assert_eq!(config.nameservers, ["192.0.2.53:53".parse().unwrap()]);
    assert_eq!(config.smtp_port, 25);
    assert!(config.allow_networks.is_empty());
    assert_eq!(config.budget, Duration::from_secs(10));
    assert_eq!(config.max_probes, 512);
    assert_eq!(config.starttls, StartTls::OnDemand);
    assert!(config.source_addresses.is_empty());
    assert_eq!((config.operator_sessions, config.session_recipients), (2, 10));
    assert_eq!((config.machine_sessions, config.network_sessions), (2, 8));
    assert_eq!((config.families, config.dialled_families()), (None, Families::BOTH));
    assert!(config.port_check.is_empty() && config.time_server.is_none());
}

#[test]
fn the_environment_wins_over_the_file() {
    let file = r#"
        helo_name = "file.example.com"
        smtp_port = 2525
        mail_from = "probe@example.com"
        nameservers = ["192.0.2.1", "[2001:db8::1]:5353"]
        [routes]
        "sandbox.test" = "127.0.0.1:2525"
    "#;
    let config = parse(
        file,
        &[
            ("RCPT_TICKET_SECRETS", SECRETS),
            ("RCPT_HELO_NAME", "Env.Example.Com"),
            ("RCPT_MAIL_FROM", "<>"),
            ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8, fd00::/8,192.0.2.9"),
            ("RCPT_STARTTLS", "always"),
            ("RCPT_SOURCE_ADDRESSES", "192.0.2.1, 192.0.2.2=Two.Example.com"),
            ("RCPT_SOURCE_KEY", "sixteen characters"),
            ("RCPT_SESSION_INTERVAL_MS", "0"),
            ("RCPT_PORT_CHECK", "mx.example.com:25,[2001:db8::1]:25"),
        ],
    )
    .unwrap();
    assert_eq!(config.helo_name, "env.example.com");
    assert_eq!(config.mail_from, "");
    assert_eq!(config.smtp_port, 2525);
    assert_eq!(config.nameservers[1].to_string(), "[2001:db8::1]:5353");
    assert_eq!(config.allow_networks.len(), 3);
    let Some(Route::Server(server)) = config.routes.of("x.sandbox.test") else {
        panic!("a server")
    };
    assert_eq!(server.port, 2525);
    assert_eq!(config.starttls, StartTls::Always);
    let names: Vec<_> =
        config.source_addresses.iter().map(|source| source.helo_name.as_deref()).collect();
    assert_eq!(names, [None, Some("two.example.com")]);
    assert!(config.session_interval.is_zero());
    assert_eq!(config.port_check[1].host, "2001:db8::1");
}

#[test]
fn names_every_mistake_at_once() {
    let file = r#"
        listen = "nowhere"
        helo_name = ["probe.example.com"]
        mail_form = "typo"
        routes = "not a table"
        nameservers = ["192.0.2.1", 53]
        source_addresses = ["here"]
        budget_ms = -1
        tls_cert = ["cert.pem"]
        tls_key = 1.5
    "#;
    let environment = [
        ("RCPT_ADMIN_LISTEN", "8789"),
        ("RCPT_NEIGHBOUR_LISTEN", "80"),
        ("RCPT_CONTACT", "nobody"),
        ("RCPT_OPT_OUTS", "com"),
        ("RCPT_SMTP_PORT", "0"),
        ("RCPT_MAIL_FROM", "nobody"),
        ("RCPT_ALLOW_NETWORKS", "10.0.0.0/33"),
        ("RCPT_CONNECT_TIMEOUT_MS", "soon"),
        ("RCPT_DNS_TIMEOUT_MS", "0"),
        ("RCPT_MAX_PROBES", "0"),
        ("RCPT_STARTTLS", "never"),
        ("RCPT_SOURCE_KEY", "too short"),
        ("RCPT_FAMILIES", "ipv4,ipv5"),
        ("RCPT_OPERATOR_SESSIONS", "0"),
        ("RCPT_MACHINE_SESSIONS", "0"),
        ("RCPT_NETWORK_SESSIONS", "many"),
        ("RCPT_RECIPIENTS_PER_MINUTE", "-1"),
        ("RCPT_REFUSED_PER_HOUR", "0"),
        ("RCPT_TENANT_SHARE_PERCENT", "101"),
        ("RCPT_OPERATORS_FILE", "/nonexistent/operators.toml"),
        ("RCPT_SESSION_INTERVAL_MS", "-1"),
        ("RCPT_SESSION_RECIPIENTS", "101"),
        ("RCPT_PORT_CHECK", "mx.example.com"),
        ("RCPT_BLOCKLISTS", "a b"),
        ("RCPT_TIME_SERVER", "ntp.example.com"),
        ("RCPT_LOG_LEVEL", "3"),
    ];
    let mistakes = parse(file, &environment).unwrap_err();
    let mut expected = vec!["mail_form"];
    expected.extend(settings::ALL.iter().map(|setting| setting.name));
    // The operators' file is read after all settings.
    expected.retain(|name| *name != "operators_file");
    expected.push("operators_file");
    // A lists file that can't be read is ignored.
    expected.retain(|name| *name != "lists_file");
    assert_eq!(names(&mistakes), expected);
    let text = mistakes.to_string();
    assert_eq!(text.lines().count(), expected.len());
    assert!(text.contains("unknown key `mail_form`; did you mean `mail_from`?"), "{text}");
    assert!(text.contains(r#"listen: expected ip:port, got "nowhere""#), "{text}");
    assert!(
        text.contains("ticket_secrets: missing; expected secrets separated by commas"),
        "{text}"
    );
}

#[test]
fn of_a_long_list_the_wrong_item_is_named() {
    let text = "opt_outs = [\"example.org\", \"mx:example.org\", \"example\", \"192.0.2.0/24\"]";
    let mistakes = parse(text, &[&REQUIRED[..], &[("RCPT_NAMESERVERS", "192.0.2.53")]].concat());
    let text = mistakes.unwrap_err().to_string();
    assert!(text.ends_with(", got \"example\"") && text.starts_with("opt_outs: "), "{text}");
}

#[test]
fn values_that_would_end_the_guard_or_the_memory_are_mistakes() {
    let nameservers = ("RCPT_NAMESERVERS", "192.0.2.53");
    for (name, value) in [
        ("RCPT_ALLOW_NETWORKS", "10.0.0.0/8,0.0.0.0/0"),
        ("RCPT_ALLOW_NETWORKS", "128.0.0.0/1"),
        ("RCPT_ALLOW_NETWORKS", "::/0"),
        ("RCPT_MAX_PROBES", "1000000"),
        ("RCPT_ADMIN_LISTEN", "127.0.0.1:8788"),
        ("RCPT_NEIGHBOUR_LISTEN", "127.0.0.1:8788"),
    ] {
        let mistakes = with(&[(name, value), ("RCPT_CONTACT", "ann@example.org"), nameservers]);
        let setting = name.trim_start_matches("RCPT_").to_lowercase();
        assert_eq!(names(&mistakes.unwrap_err()), [setting], "{value}");
    }
    let fine = [("RCPT_ALLOW_NETWORKS", "10.0.0.0/8,fc00::/7"), ("RCPT_MAX_PROBES", "10000")];
    let own_port = [("RCPT_LISTEN", "127.0.0.1:0"), ("RCPT_ADMIN_LISTEN", "127.0.0.1:0")];
    with(&[&fine[..], &own_port, &[nameservers]].concat()).unwrap();
}

#[test]
fn an_operators_file_is_read_and_its_mistakes_are_named() {
    let path = std::env::temp_dir().join(format!("rcpt-operators-{}.toml", std::process::id()));
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        with(&[("RCPT_OPERATORS_FILE", path.to_str().unwrap()), ("RCPT_NAMESERVERS", "192.0.2.53")])
    };
    let config = read("[[operator]]\nname = \"acme\"\nmx = [\"in.acme.example\"]").unwrap();
    assert_eq!(&*config.operators.label("a.in.acme.example"), "acme");
    let mistakes = read("[[operator]]\nname = \"acme\"\nsessions = 0\nmx = 1").unwrap_err();
    assert_eq!(names(&mistakes), ["operators_file"; 2], "{mistakes}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn helo_name_is_a_fully_qualified_domain_name() {
    for bad in ["localhost", "", "a b.example", "[192.0.2.1]", "192.0.2.1", "a_b.example.com"] {
        let mistakes = with(&[("RCPT_HELO_NAME", bad)]).unwrap_err();
        assert_eq!(names(&mistakes), ["helo_name"], "{bad}");
    }
}

#[test]
fn no_secret_is_shown_by_debug_or_by_a_mistake() {
    let config = with(&[("RCPT_NAMESERVERS", "192.0.2.53")]).unwrap();
    let shown = format!("{config:?}");
    assert!(shown.contains("probe.example.com"), "{shown}");
    assert!(!shown.contains("QUFB") && !shown.contains("65, 65"), "{shown}");

    let mistakes = with(&[("RCPT_TICKET_SECRETS", "c2VjcmV0")]).unwrap_err();
    assert!(!mistakes.to_string().contains("c2VjcmV0"), "{mistakes}");
    let mistakes = parse("helo_name = 1\nticket_secrets = 'c2VjcmV0", &[]).unwrap_err();
    assert!(mistakes.to_string().starts_with("config: not TOML at line 2"), "{mistakes}");
    assert!(!mistakes.to_string().contains("c2VjcmV0"), "{mistakes}");
}

#[test]
fn a_file_that_cannot_be_read_is_a_mistake() {
    let path = std::path::Path::new("/nonexistent/origin.toml");
    let mistakes = Config::read(Some(path), &|_| None).unwrap_err();
    assert_eq!(names(&mistakes), ["config"]);
    assert!(mistakes.to_string().contains("/nonexistent/origin.toml"));
}

#[test]
fn the_reference_lists_every_value() {
    let text = reference();
    for setting in settings::ALL {
        assert!(text.contains(&format!("{} ({})", setting.name, setting.variable())));
    }
}

#[test]
fn every_setting_is_on_the_page() {
    let page = include_str!("../../../docs/configuration.md");
    for setting in settings::ALL {
        let name = format!("`{}`", setting.name);
        assert!(page.contains(&name), "docs/configuration.md has no {name}");
    }
}

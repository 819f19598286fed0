//! Checks parts of the package's units that otherwise only systemd would reject. `make lab ONLY=boot` starts the unit.

use clap::Parser as _;
use rcpt_origin::cli::{Cli, Command, ListsAction};

const UNIT: &str = include_str!("../../../dist/debian/rcpt-origin.service");
const GROUPS: &str = include_str!("../../../dist/systemd/rcpt-origin.conf");

const LISTS: &str = include_str!("../../../dist/systemd/rcpt-lists.service");

fn value(key: &str) -> &'static str {
    value_of(UNIT, key)
}

fn value_of(unit: &'static str, key: &str) -> &'static str {
    let mut values = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    values.next().unwrap_or_else(|| panic!("no {key}="))
}

#[test]
fn the_dynamic_user_has_no_name_of_a_group() {
    assert_eq!(value("DynamicUser"), "yes");
    let groups: Vec<_> =
        GROUPS.lines().filter_map(|line| line.strip_prefix("g ")?.split(' ').next()).collect();
    assert_eq!(groups, [value("SupplementaryGroups")]);
    assert!(!groups.contains(&value("User")), "the user would be named like its group");
}

#[test]
fn the_lists_belong_to_a_user_of_their_own_whose_state_the_origin_can_read() {
    let user = value_of(LISTS, "User");
    assert!(GROUPS.lines().any(|line| line.starts_with(&format!("u {user} "))), "{user}");
    // The state of a dynamic user would be in /var/lib/private.
    assert!(!LISTS.contains("DynamicUser="));
    assert_eq!((value_of(LISTS, "StateDirectoryMode"), value_of(LISTS, "UMask")), ("0755", "0022"));
    let words = value_of(LISTS, "ExecStart").split(' ');
    let Some(Command::Lists { action: ListsAction::Update { into, key, source } }) =
        Cli::try_parse_from(words).unwrap().command
    else {
        panic!("another command");
    };
    let folder = format!("/var/lib/{}/", value_of(LISTS, "StateDirectory"));
    assert!(into.starts_with(&folder), "{into:?}");
    assert_eq!(source, "${LISTS_URL}");
    assert!(key.starts_with("${CREDENTIALS_DIRECTORY}"));
}

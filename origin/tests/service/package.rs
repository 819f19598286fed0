//! Checks parts of the package's units that otherwise only systemd would reject. `make lab ONLY=boot` starts the unit.

const UNIT: &str = include_str!("../../../dist/debian/rcpt-origin.service");
const GROUPS: &str = include_str!("../../../dist/systemd/rcpt-origin.conf");

fn value(key: &str) -> &'static str {
    let mut values = UNIT.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
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

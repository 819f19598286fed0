//! `make test` runs each test program in one part.

use std::{collections::BTreeMap, process::Command};

use rcpt_tests::process::folder;

/// The words of a variable of the Makefile.
fn variable(name: &str) -> Vec<String> {
    let rule = format!("print: ; @echo $({name})");
    let mut make = Command::new("make");
    make.args(["--silent", "--no-print-directory", "--eval", &rule, "print"]);
    // Flags of a make that runs this test would be flags of this one.
    make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("ONLY");
    let output = make.current_dir(folder::repository()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
}

#[test]
fn each_test_program_runs_in_exactly_one_part() {
    let listed = Command::new(folder::repository().join("tools/test-programs")).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut runs: BTreeMap<&str, usize> = listed.lines().map(|name| (name, 0)).collect();
    assert_eq!(runs.len(), listed.lines().count(), "two programs have one name: {listed}");
    assert!(runs.contains_key("command") && runs.contains_key("service"), "{listed}");

    let unit = variable("UNIT");
    let unit = unit.windows(2).filter(|pair| pair[0] == "--test").map(|pair| pair[1].clone());
    let parts = variable("PARTS");
    let run = variable("ALL");
    for name in unit.chain(parts.iter().filter(|part| run.contains(part)).cloned()) {
        *runs.get_mut(name.as_str()).unwrap_or_else(|| panic!("there is no program {name}")) += 1;
    }
    assert!(runs.values().all(|times| *times == 1), "{runs:?}");
}

//! `rcpt scan` under interruptions: kills, a lost network, two concurrent runs, a file that changes. The stand-in for
//! the service enforces the API's rules: a part that is sent again is unchanged, and a list is one scan.

mod world;

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Stdio},
    thread::sleep,
    time::Duration,
};

use rcpt_client::{Client, idempotency_key};

use super::{KEY, at, run};
use world::{OURS, World, assert_right, list, ours, verdict_of};

/// A process's peak memory in bytes.
fn peak(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024)
}

#[test]
fn a_list_survives_five_kills_and_two_cuts_and_each_row_is_there_once() {
    let rows = if env::var_os("PROOF").is_some() { 100_000 } else { 10_000 };
    let world = World::new(&list(rows));
    // Number of requests of an undisturbed run: the start, the parts, three polls, the results.
    let whole = 2 * rows / 1_000 + 4;
    let mut most = 0;
    // Kills before the scan's id is known, while parts are sent, during the scan, and in the results.
    for (kill, requests) in [1, whole / 8, whole / 8, whole / 6, whole / 2].into_iter().enumerate()
    {
        let until = world.requests() + requests;
        let mut service = world.service.lock();
        service.held_after = Some(until);
        service.unanswered_requests = if kill % 2 == 1 { 2 } else { 0 };
        drop(service);
        let mut child = world.start();
        while world.requests() < until {
            most = most.max(peak(&child));
            assert!(child.try_wait().unwrap().is_none(), "kill {kill} came too late");
            sleep(Duration::from_millis(1));
        }
        // Bytes already sent but not yet read by the service arrive after the process has ended.
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!world.output().exists() && world.journal().exists());
        let journal = fs::read_to_string(world.journal()).unwrap();
        assert!(!journal.contains("list.example"), "the journal holds an address");
    }
    world.service.lock().held_after = None;
    let mut child = world.start();
    let ended = loop {
        most = most.max(peak(&child));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        sleep(Duration::from_millis(2));
    };
    assert_eq!(ended.code(), Some(0));
    assert_right(&world.output(), rows);
    assert!(!world.journal().exists());
    assert!(most > 1 << 20 && most <= 100 << 20, "{most} bytes");
    println!("rcpt scan of {rows} rows: {} MiB at most", most >> 20);
}

#[test]
fn what_cannot_go_on_says_so_and_loses_nothing() {
    let world = World::new(&list(30));
    let mut first = world.start();
    while world.requests() < 1 {
        sleep(Duration::from_millis(1));
    }
    first.kill().unwrap();
    first.wait().unwrap();

    let file = fs::read_to_string(&world.file).unwrap();
    fs::write(&world.file, file.replace("user2@", "other@")).unwrap();
    world.run(&[]).fails(11, "isn't the one that this scan was started with");
    fs::write(&world.file, &file).unwrap();

    let lock_file = fs::File::open(&world.file).unwrap();
    lock_file.lock().unwrap();
    world.run(&[]).fails(11, "Another rcpt is at work");
    // Not only dropped: a process that another test has just forked has the lock too until it runs its program.
    lock_file.unlock().unwrap();

    world.service.lock().unanswered_requests = 1_000;
    let away = world.run(&["--timeout", "1"]);
    away.fails(6, "Run the same command again to continue.");
    world.service.lock().unanswered_requests = 0;

    let full = run(world.command().args(["--output", "/dev/full/list.csv"]), b"");
    assert_eq!(full.code, 10, "{}", full.stderr);
    assert_eq!(world.run(&[]).code, 0);
    assert_right(&world.output(), 30);

    world.run(&[]).fails(2, "is there already");
    assert_right(&world.output(), 30);
}

#[test]
fn a_start_whose_answer_is_lost_is_found_again_and_starts_no_second_scan() {
    let world = World::new(&list(30));
    world.service.lock().lost_responses = 3;
    assert_eq!(world.run(&[]).code, 0);
    assert_right(&world.output(), 30);
}

#[test]
fn a_scan_that_was_cancelled_elsewhere_ends_it() {
    let world = World::new(&list(30));
    world.service.lock().state = Some("cancelled");
    world.run(&[]).fails(
        11,
        "The scan is cancelled. What is known: rcpt results scan_1 --interim. Start over with --restart.",
    );
}

#[test]
fn a_list_without_any_address_costs_no_scan() {
    let world = World::new("name,email\nAnn,nobody\nBob,\n");
    let ran = world.run(&["--column", "email"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = fs::read_to_string(world.output()).unwrap();
    let ours = "not_an_address,There is no @ in it.,,,,,";
    assert_eq!(text, format!("name,email,{OURS}\nAnn,nobody,{ours}\nBob,,,,,,,,\n"));
    assert_eq!(world.requests(), 0);
}

#[test]
fn the_output_has_the_mark_and_the_line_ends_of_the_file() {
    let mark = "\u{feff}";
    for (start, delimiter, end) in
        [(mark, ";", "\r\n"), ("", ",", "\r\n"), (mark, "\t", "\n"), ("", ",", "\r")]
    {
        let row = |fields: &[&str]| fields.join(delimiter) + end;
        let file = row(&["Name", "Email"]) + &row(&["Jörg", "user0@list.example"]);
        let world = World::new(&(start.to_owned() + &file));
        let ran = world.run(&[]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let header = row(&["Name", "Email", &OURS.replace(',', delimiter)]);
        let address = "user0@list.example";
        let verdict = row(&["Jörg", address, &ours(address).replace(',', delimiter)]);
        let written = fs::read_to_string(world.output()).unwrap();
        assert_eq!(written, start.to_owned() + &header + &verdict);
    }
}

#[test]
fn a_list_that_the_plan_never_takes_leaves_nothing_and_promises_nothing() {
    let world = World::new(&list(30));
    world.service.lock().most = Some(20);
    let ran = world.run(&[]);
    ran.fails(12, "A scan of this plan has at most 20 addresses.");
    ran.fails(12, "28 addresses in 30 rows (1 repeated, 1 not an address)");
    assert!(!ran.stderr.contains("continue"), "{}", ran.stderr);
    assert!(!world.journal().exists() && !world.output().exists());
    world.service.lock().most = None;
    assert_eq!(world.run(&[]).code, 0);
}

#[test]
fn standard_input_is_scanned_like_a_file() {
    let world = World::new("");
    let scan = |arguments: &[&str]| {
        let arguments = [&["scan", "-"], arguments].concat();
        run(&mut at(&world.home, &world.stand_in.url, &arguments), list(30).as_bytes())
    };
    let ran = scan(&[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let output = world.home.path().join("out.csv");
    fs::write(&output, ran.out).unwrap();
    assert_right(&output, 30);
    fs::remove_file(&output).unwrap();
    world.service.lock().scans.clear();
    assert_eq!(scan(&["--output", output.to_str().unwrap()]).code, 0);
    assert_right(&output, 30);
    scan(&["--output", output.to_str().unwrap()]).fails(2, "is there already");
}

#[test]
fn a_file_as_people_have_it_is_read_and_what_is_odd_about_it_is_said() {
    let text = b"name;email;note\r\nJ\xf6rg;user0@list.example\r\n\"Bob\" Jones;user1@list.example;a;b\r\n\r\n\
                 Cid;USER0@list.example, user2@list.example;\n;x@other.example;\n";
    let world = World::new("");
    fs::write(&world.file, text).unwrap();
    let ran = world.run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for said in [
        "Read as windows-1252 (Jörg). If that's wrong, name it with --encoding.\n",
        "Line 3: a quotation mark is out of place, so it's read as a character.\n",
        "One line is empty.\n",
        "4 addresses in 4 rows (1 repeated, 1 with several addresses)",
    ] {
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    let of = |address: &str| ours(address).replace(',', ";");
    let several = "user0@list.example deliverable: accepted; user2@list.example unknown: blocked";
    let written = fs::read(world.output()).unwrap();
    let expected = [
        format!("name;email;note;;{}\r\n", OURS.replace(',', ";")).into_bytes(),
        b"J\xf6rg".to_vec(),
        format!(";user0@list.example;;;{}\r\n", of("user0@list.example")).into_bytes(),
        format!(
            "\"\"\"Bob\"\" Jones\";user1@list.example;a;b;{}\r\n\r\n",
            of("user1@list.example")
        )
        .into_bytes(),
        b"Cid;USER0@list.example, user2@list.example;;;".to_vec(),
        format!("unknown;\"{several}\";;;false;;true\n").into_bytes(),
        format!(";x@other.example;;;{}\n", of("x@other.example")).into_bytes(),
    ];
    assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(&expected.concat()));
    // Another plan is another scan, and an option that doesn't exist is none.
    world.run(&["--encoding", "windows-1253"]).fails(2, "is there already");
    world.run(&["--encoding", "klingon"]).fails(2, "give one of UTF-8, windows-1252");
    world.run(&["--delimiter", "x"]).fails(2, "give comma, semicolon, tab or bar");
}

#[test]
fn a_file_that_is_no_list_costs_nothing_and_says_what_it_is() {
    let world = World::new("");
    for (bytes, said) in [
        (&b"\x89PNG\r\n\x1a\n"[..], "list.csv: This is a PNG picture, not a list."),
        (b"", "list.csv: This has no text in it."),
        (b"a,b\n1,2\n", "list.csv has no column with addresses. Name it with --column."),
    ] {
        fs::write(&world.file, bytes).unwrap();
        world.run(&[]).fails(8, said);
    }
    fs::write(&world.file, "a,b\n1,ann@x.example\n").unwrap();
    world.run(&["--column", "c"]).fails(8, "list.csv has no column c.");
    assert_eq!(world.requests(), 0);
}

#[test]
fn repeats_are_checked_each_time_and_case_matters_where_that_is_wanted() {
    let text = "email\nuser0@list.example\nUser0@list.example\nuser0@LIST.example\n";
    for (options, addresses) in [
        (&[][..], "1 address in 3 rows (2 repeated)"),
        (&["--case-matters"], "2 addresses in 3 rows (1 repeated)"),
        (&["--repeats"], "3 addresses in 3 rows (2 repeated)"),
    ] {
        let world = World::new(text);
        let ran = world.run(options);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains(addresses), "{}", ran.stderr);
        assert_eq!(fs::read_to_string(world.output()).unwrap().matches(",true\n").count(), 3);
    }
}

#[test]
fn a_scan_that_exists_is_cancelled_deleted_and_printed() {
    let world = World::new(&list(3));
    let ran = world.run(&[]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("\n3 deliverable.\n"), "{}", ran.stderr);
    let act = |arguments: &[&str]| run(&mut at(&world.home, &world.stand_in.url, arguments), b"");
    let csv = act(&["results", "scan_1", "--format", "csv"]);
    assert_eq!(csv.code, 0, "{}", csv.stderr);
    let lines: Vec<_> = csv.out.lines().collect();
    assert!(lines[0].starts_with("position,status,verdict,confidence,reason,"), "{}", csv.out);
    assert!(lines[1].starts_with("0,true,deliverable,,accepted,"), "{}", csv.out);
    assert_eq!(lines.len(), 4);
    let ndjson = act(&["results", "scan_1", "--interim"]);
    assert_eq!(ndjson.out.lines().count(), 3);
    let requests = world.stand_in.requests();
    assert!(requests.last().unwrap().line.contains("&interim=true"), "{requests:?}");
    let cancelled = act(&["scans", "cancel", "scan_1"]);
    assert_eq!(
        (cancelled.code, &*cancelled.stderr),
        (0, "scan_1 is cancelled: 3 of 3 have a verdict.\n")
    );
    let deleted = act(&["scans", "delete", "scan_1"]);
    assert_eq!((deleted.code, &*deleted.stderr), (0, "scan_1 is gone, with its results.\n"));
    assert!(world.service.lock().deleted);
    assert_eq!(act(&["scans"]).out.lines().count(), 1, "the list goes on working");
    act(&["scans", "cancel"]).fails(2, "<ID>");
}

#[test]
fn without_scans_a_person_reads_how_to_start_one_and_a_program_reads_nothing() {
    let world = World::new("");
    let mut rcpt = at(&world.home, &world.stand_in.url, &["scans"]);
    let by_program = run(&mut rcpt, b"");
    assert_eq!((by_program.code, &*by_program.out, &*by_program.stderr), (0, "", ""));
    // `script` runs a command on a terminal, with both outputs in one.
    let mut terminal = std::process::Command::new("script");
    terminal.args([
        "--quiet",
        "--return",
        "--command",
        &format!("{} scans", env!("CARGO_BIN_EXE_rcpt")),
    ]);
    terminal.arg("/dev/null").env_clear();
    terminal.envs(rcpt.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let by_person = run(&mut terminal, b"");
    let expected = "No scans yet. Start one with `rcpt scan FILE`.";
    assert_eq!((by_person.code, by_person.out.trim()), (0, expected), "{}", by_person.stderr);
}

#[test]
fn ctrl_c_says_that_the_scan_goes_on_and_how_to_stop_it() {
    let world = World::new(&list(30));
    // Two requests get a response: the start and the part. The first poll doesn't.
    world.service.lock().held_after = Some(2);
    let mut child = world.command().stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while world.requests() < 2 {
        sleep(Duration::from_millis(1));
    }
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("as scan_1") {
        assert!(stderr.read_line(&mut line).unwrap() > 0, "{line}");
    }
    // The handler of Ctrl-C is installed before the first part is sent.
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ended = child.wait().unwrap();
    stderr.read_to_string(&mut line).unwrap();
    assert_eq!(ended.code(), Some(130), "{line}");
    assert!(line.contains("The scan continues at the service."), "{line}");
    assert!(line.contains("rcpt scans cancel scan_1"), "{line}");
    world.service.lock().held_after = None;
    assert_eq!(world.run(&[]).code, 0);
    assert_right(&world.output(), 30);
}

#[test]
fn the_library_joins_the_list_that_was_scanned_and_no_other() {
    let world = World::new("");
    let client = Client::new(&world.stand_in.url, KEY).unwrap();
    let addresses: Vec<_> = (0..2_001).map(|n| format!("user{n}@list.example")).collect();
    let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
    let scan = client.start_scan(&addresses, "list", &idempotency_key()).unwrap();
    let mut looks = 0;
    let ended = client.wait_for_scan(&scan.id, |_| looks += 1).unwrap();
    assert_eq!((&*ended.state, looks > 1), ("completed", true));
    let joined = client.join_scan(&scan.id, &addresses).unwrap();
    assert_eq!(joined.len(), 2_001);
    for (row, address) in joined.iter().zip(&addresses) {
        let result = row.result.as_ref().unwrap();
        assert_eq!(&row.address, address);
        assert_eq!(result.further["reason"], verdict_of(address).1);
    }
    let refused =
        |addresses: &[&str]| client.join_scan(&scan.id, addresses).unwrap_err().to_string();
    let mut swapped = addresses.clone();
    swapped.swap(1_500, 1_501);
    assert!(refused(&swapped).contains("addresses 1001 to 2000 differ"));
    assert!(
        refused(&addresses[1..]).contains("The scan is of 2001 addresses, and the list has 2000")
    );
}

/// The list of the given rows, with their verdicts beside them.
fn verdicts_of(output: &str) -> Vec<(String, String)> {
    let row = |line: &str| {
        let cells: Vec<_> = line.split(',').collect();
        (cells[0].to_owned(), cells[1].to_owned())
    };
    output.lines().skip(1).map(row).collect()
}

#[test]
fn a_list_that_is_sorted_cut_and_enlarged_while_its_scan_runs_finds_its_verdicts_row_by_row() {
    let address = |n: usize| format!("user{n}@list.example");
    let file = |rows: &[usize]| {
        let rows = rows.iter().map(|n| address(*n) + "\n");
        format!("email\n{}", rows.collect::<String>())
    };
    let world = World::new(&file(&(0..30).collect::<Vec<_>>()));
    // The start and the only part are answered; then the list is at the service.
    world.service.lock().held_after = Some(2);
    let mut first = world.start();
    while !fs::read_to_string(world.journal()).is_ok_and(|text| text.contains("\"parts\": 1")) {
        sleep(Duration::from_millis(1));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    world.service.lock().held_after = None;
    let changed: Vec<usize> = (40..44).chain((0..20).rev()).collect();
    fs::write(&world.file, file(&changed)).unwrap();
    let ran = world.run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("The file has changed. Its rows are found again in scan_1."));
    let expected = changed.iter().map(|n| {
        let word = if *n < 30 {
            ours(&address(*n)).split(',').next().unwrap().to_owned()
        } else {
            String::new()
        };
        (address(*n), word)
    });
    let expected: Vec<_> = expected.collect();
    assert_eq!(verdicts_of(&fs::read_to_string(world.output()).unwrap()), expected);

    // Again after the end, another time and into another file.
    let other = world.home.path().join("other.csv");
    let join = |further: &[&str]| {
        fs::remove_file(&other).unwrap_or_default();
        world.run(&[&["--join", "scan_1", "--output", other.to_str().unwrap()], further].concat())
    };
    assert_eq!(join(&[]).code, 0);
    assert_eq!(verdicts_of(&fs::read_to_string(&other).unwrap()), expected);
    assert_eq!(join(&["--only", "deliverable,unknown"]).code, 0);
    let some: Vec<_> = verdicts_of(&fs::read_to_string(&other).unwrap());
    assert!(!some.is_empty() && some.iter().all(|(_, it)| it == "deliverable" || it == "unknown"));
    join(&["--only", "good"]).fails(2, "give some of deliverable, undeliverable, risky, unknown");

    // No address is kept, and sign-out leaves nothing.
    let kept = || {
        let folder = world.home.path().join(".config/rcpt/scans");
        fs::read_dir(folder)
            .map_or_else(|_| vec![], |files| files.map(|it| it.unwrap().path()).collect())
    };
    let [tags] = &kept()[..] else { panic!("{:?}", kept()) };
    assert_eq!(fs::read(tags).unwrap().len(), 1 + 30 * 8);
    let old = fs::metadata(tags).unwrap().modified().unwrap();
    let old = old - Duration::from_secs(9 * 24 * 60 * 60 + 60);
    fs::File::open(tags).unwrap().set_modified(old).unwrap();
    join(&[]).fails(11, "This machine keeps nothing of scan_1");
    assert_eq!(kept(), [] as [std::path::PathBuf; 0]);
}

#[test]
fn sign_out_leaves_nothing_of_scans_on_the_machine() {
    let world = World::new(&list(30));
    assert_eq!(world.run(&[]).code, 0);
    let folder = world.home.path().join(".config/rcpt/scans");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    let ran = run(&mut at(&world.home, &world.stand_in.url, &["sign-out"]), b"");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!folder.exists());
    // Another file's name is no scan's id.
    world.run(&["--restart", "--join", "scan_/../../key"]).fails(11, "keeps nothing");
}

#[test]
fn a_workbook_comes_back_as_a_workbook() {
    let world = World::new("");
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../workbooks/tests/files/customers.xlsx");
    let file = world.home.path().join("customers.xlsx");
    fs::copy(sample, &file).unwrap();
    let scan = |file: &std::path::Path| {
        run(&mut at(&world.home, &world.stand_in.url, &["scan", file.to_str().unwrap()]), b"")
    };
    let ran = scan(&file);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let output = world.home.path().join("customers.verdicts.xlsx");
    let copy =
        rcpt_lists::read(fs::read(&output).unwrap(), &rcpt_lists::Choices::default()).unwrap();
    let mut headings = vec!["Name", "E-Mail", "Since", "Number", "Sum"];
    headings.extend(rcpt_lists::COLUMNS);
    assert_eq!(copy.headings().unwrap(), headings);
    let first = ours("joerg@example.org");
    assert_eq!(copy.cells(0)[5..], first.split(',').collect::<Vec<_>>());
    assert_eq!(copy.sheets().unwrap().0, ["Read me", "Customers", "Old"]);
}

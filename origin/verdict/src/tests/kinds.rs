//! Refusals in our own wording, by kind: `kinds.txt`, and a part that was set aside before the words were chosen.

use rcpt_shared::{Stage, Status};
use rcpt_smtp::Reply;

use super::judge;

const KINDS: &str = include_str!("kinds.txt");
const HELD_OUT: &str = include_str!("kinds_held_out.txt");

/// How many dead mailboxes of `file` are read as such, and how many there are. No other reply may be read so.
fn dead(file: &'static str) -> (usize, usize) {
    let (mut read, mut all) = (0, 0);
    for row in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, raw) = row.split_once(" | ").unwrap();
        let reply = Reply::parse(&(raw.replace("\\n", "\r\n") + "\r\n")).unwrap();
        let is_refused = judge(Stage::Rcpt, &reply).status == Status::Refused;
        match name.split_once(": ") {
            Some(("dead", _)) => {
                all += 1;
                read += usize::from(is_refused);
            }
            Some(("us" | "trouble", _)) => assert!(!is_refused, "{row}"),
            _ => panic!("no label: {row}"),
        }
    }
    (read, all)
}

#[test]
fn each_kind_is_read_as_what_it_is_about() {
    let (read, all) = dead(KINDS);
    println!("{read} of {all} dead mailboxes are told");
    assert!(all >= 90 && read * 100 >= all * 88, "{read} of {all}");
}

#[test]
fn kinds_are_read_where_the_words_were_not_chosen_for_them() {
    let (read, all) = dead(HELD_OUT);
    println!("{read} of {all} dead mailboxes are told");
    assert!(all >= 80 && read * 100 >= all * 75, "{read} of {all}");
}

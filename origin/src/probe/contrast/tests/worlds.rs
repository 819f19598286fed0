//! The rule against mail servers that behave as their replies' labels say, and against servers that mislead: a list of
//! some living and some dead addresses, asked in random order.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use rcpt_pool::HashKey;
use rcpt_shared::{Stage, Status};
use rcpt_smtp::Reply;
use rcpt_verdict::{Parties, Wording, judge};

use super::super::{Evidence, Invented};

const CORPORA: [&str; 3] = [
    include_str!("../../../../verdict/src/tests/seen/pages.txt"),
    include_str!("../../../../verdict/src/tests/kinds.txt"),
    include_str!("../../../../verdict/src/tests/kinds_held_out.txt"),
];
const KNOWN: &str = "550 5.1.1 User unknown";
const ACCEPTED: &str = "250 2.1.5 Ok";
/// Recipients per session, as the pool asks unknown machines.
const PER_SESSION: usize = 10;

/// Label, the columns before the text, and text of each reply with a permanent code.
fn corpus() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let rows = CORPORA.into_iter().flat_map(str::lines);
    let rows = rows.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let columns = rows.filter_map(|row| {
        let (label, rest) = row.split_once(':')?;
        let (columns, raw) = rest.rsplit_once(" | ")?;
        Some((label, columns, raw))
    });
    columns.filter(|(.., raw)| raw.starts_with('5'))
}

fn dead() -> impl Iterator<Item = (&'static str, &'static str)> {
    corpus().filter(|(label, ..)| *label == "dead").map(|(_, columns, raw)| (columns, raw))
}

#[derive(Debug, Clone, Copy)]
enum Read {
    Accepted,
    No,
    Undecided(Wording),
    Other,
}

thread_local! {
    /// Each text is read once.
    static READ: RefCell<HashMap<&'static str, Read>> = RefCell::default();
}

fn read(raw: &'static str) -> Read {
    READ.with_borrow_mut(|known| *known.entry(raw).or_insert_with(|| read_anew(raw)))
}

fn read_anew(raw: &str) -> Read {
    let keys = HashKey::new([1, 2]);
    let reply = Reply::parse(&(raw.replace("\\n", "\r\n") + "\r\n")).unwrap();
    let parties = Parties { sender: Some("check@rcpt.example"), ..Parties::default() };
    let finding = judge(Stage::Rcpt, &reply, &parties);
    let wording = || Wording::of(&reply, &finding, &parties, |text| keys.hash_one(text));
    match finding.status {
        Status::Accepted => Read::Accepted,
        Status::Refused => Read::No,
        _ => wording().map_or(Read::Other, Read::Undecided),
    }
}

fn undecided(labels: &[&str]) -> Vec<&'static str> {
    let rows = corpus().filter(|(label, ..)| labels.contains(label));
    let rows = rows.filter(|(.., raw)| matches!(read(raw), Read::Undecided(_)));
    rows.map(|(.., raw)| raw).collect()
}

/// Xorshift.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Who {
    /// With a number below 100 that says which share of the living they belong to.
    Living(usize, usize),
    Dead(usize),
    Invented,
}

/// `us` is said instead of an answer, `nobody` to names that don't exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conduct {
    Honest,
    RefusesAll,
    RefusesAfterLookup,
    /// A share of the living is exempt from the refusal; the flag: recipients are looked up first.
    Spares(usize, bool),
    /// Recipients in a session, refused ones in a session, recipients of our address.
    Session(usize),
    Failures(usize),
    Address(usize),
    /// Accepts everything, up to a number of recipients in a session.
    AcceptsAll(usize),
    /// Accepts everything but a share of the names.
    AcceptsMany(usize),
    /// A share of the living takes mail from members only.
    Members(usize),
    /// Every second session meets a machine that refuses us.
    TwoMachines,
    /// Refuses everybody after some unknown names.
    Bans(usize),
    /// From a question on, for a number of questions.
    Outage(usize, usize),
    /// Refuses a recipient whom we ask for the first time; a share has been asked before.
    Greylists(usize),
}

struct Simulated {
    habit: Conduct,
    us: &'static str,
    nobody: &'static str,
    asked: usize,
    unknown: usize,
    seen: HashSet<Who>,
    sessions: HashMap<usize, (usize, usize)>,
}

impl Simulated {
    fn new(habit: Conduct, us: &'static str, nobody: &'static str) -> Self {
        let (seen, sessions) = (HashSet::new(), HashMap::new());
        Self { habit, us, nobody, asked: 0, unknown: 0, seen, sessions }
    }

    fn rcpt(&mut self, who: Who, session: usize) -> &'static str {
        let (in_session, failed) = self.sessions.get(&session).copied().unwrap_or_default();
        let is_new = self.seen.insert(who);
        let looked_up = match who {
            Who::Living(..) => ACCEPTED,
            Who::Dead(_) | Who::Invented => self.nobody,
        };
        let share = match who {
            Who::Living(_, share) => share,
            Who::Dead(number) => (number * 37) % 100,
            Who::Invented => 0,
        };
        let is_living = matches!(who, Who::Living(..));
        let reply = match self.habit {
            Conduct::RefusesAll => self.us,
            Conduct::RefusesAfterLookup if is_living => self.us,
            Conduct::Spares(spared, true) if is_living && share >= spared => self.us,
            Conduct::Spares(spared, false) if !is_living || share >= spared => self.us,
            Conduct::Session(most) | Conduct::AcceptsAll(most) if in_session >= most => self.us,
            Conduct::Failures(most) if failed >= most => self.us,
            Conduct::Address(most) if self.asked >= most => self.us,
            Conduct::AcceptsAll(_) => ACCEPTED,
            Conduct::AcceptsMany(refused) if !is_living && share >= refused => ACCEPTED,
            Conduct::Members(members) if is_living && share < members => self.us,
            Conduct::TwoMachines if session % 2 == 1 => self.us,
            Conduct::Bans(most) if self.unknown >= most => self.us,
            Conduct::Outage(from, long) if (from..from + long).contains(&self.asked) => self.us,
            Conduct::Greylists(known) if is_new && (share >= known || !is_living) => self.us,
            _ => looked_up,
        };
        self.asked += 1;
        self.unknown += usize::from(!is_living);
        let failed = failed + usize::from(reply != ACCEPTED);
        self.sessions.insert(session, (in_session + 1, failed));
        reply
    }
}

/// Parts of the rule that can be left out, to show that each is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Guards {
    first_acceptance: bool,
    second_acceptance: bool,
    /// More neighbours than are refused so.
    more: bool,
    again_now: bool,
}

const ALL: Guards =
    Guards { first_acceptance: true, second_acceptance: true, more: true, again_now: true };

#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    /// Living addresses that were refused in undecided words, and those of them that became a `false`.
    living: usize,
    living_no: usize,
    dead: usize,
    dead_no: usize,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.living += other.living;
        self.living_no += other.living_no;
        self.dead += other.dead;
        self.dead_no += other.dead_no;
    }

    fn percent_of_living(self) -> f64 {
        100.0 * f64::from(u32::try_from(self.living_no).unwrap())
            / f64::from(u32::try_from(self.living.max(1)).unwrap())
    }
}

/// One list of `living` and `dead` addresses of one domain, asked in `sessions` sessions at once. `early`: the invented
/// name was asked earlier that day, after a single check.
struct List {
    living: usize,
    dead: usize,
    sessions: usize,
    early: bool,
}

fn ask(list: &List, server: &mut Simulated, guards: Guards, dice: &mut Dice) -> Tally {
    let mut all: Vec<Who> = (0..list.living).map(|it| Who::Living(it, dice.below(100))).collect();
    all.extend((0..list.dead).map(Who::Dead));
    dice.shuffle(&mut all);
    // In a list the lead was accepted some time ago, and is asked again first.
    let invent = |server: &mut Simulated, lead: Who, session: usize, is_accepted: bool| {
        let is_accepted = is_accepted || !guards.first_acceptance;
        if !is_accepted && !matches!(read(server.rcpt(lead, session)), Read::Accepted) {
            return Invented::Unknown;
        }
        match read(server.rcpt(Who::Invented, session)) {
            Read::Accepted => Invented::Accepted,
            Read::No => Invented::Known,
            Read::Undecided(said) => {
                let again = read(server.rcpt(lead, session));
                if matches!(again, Read::Accepted) || !guards.second_acceptance {
                    Invented::Undecided(said)
                } else {
                    Invented::Unknown
                }
            }
            Read::Other => Invented::Unknown,
        }
    };
    let mut invented = None;
    let lead = all.iter().find(|who| matches!(who, Who::Living(..))).copied();
    if let (true, Some(lead)) = (list.early, lead) {
        if matches!(read(server.rcpt(lead, 1_000)), Read::Accepted) {
            invented = Some(invent(server, lead, 1_000, true));
        }
        // Hours pass.
        (server.asked, server.unknown) = (0, 0);
    }
    let (mut accepted, mut held, mut outcome) = (Vec::new(), Vec::new(), Tally::default());
    let mut last = 0;
    for (number, who) in all.into_iter().enumerate() {
        let lane = number % list.sessions;
        let session = lane + list.sessions * (number / list.sessions / PER_SESSION);
        last = last.max(session);
        let is_living = matches!(who, Who::Living(..));
        match read(server.rcpt(who, session)) {
            Read::Accepted => accepted.push((who, session)),
            Read::Undecided(said) => held.push((is_living, said)),
            Read::No if is_living => panic!("the words alone are a no"),
            Read::No => {
                outcome.dead += 1;
                outcome.dead_no += 1;
            }
            Read::Other if is_living => {}
            Read::Other => outcome.dead += 1,
        }
    }
    let mut again = !guards.again_now;
    if let Some((lead, session)) = accepted.last().copied().filter(|_| !held.is_empty()) {
        if invented.is_none() {
            invented = Some(invent(server, lead, session, false));
            again = true;
        } else {
            again |= matches!(read(server.rcpt(lead, last)), Read::Accepted);
        }
    }
    let evidence = Evidence {
        invented: invented.unwrap_or(Invented::Unknown),
        accepted: if guards.more { accepted.len() } else { usize::MAX },
        is_accepted_again: again,
    };
    let words: Vec<_> = held.iter().map(|(_, said)| *said).collect();
    for ((is_living, _), is_nobody) in held.iter().zip(evidence.decide(&words)) {
        if *is_living {
            outcome.living += 1;
            outcome.living_no += usize::from(is_nobody);
        } else {
            outcome.dead += 1;
            outcome.dead_no += usize::from(is_nobody);
        }
    }
    outcome
}

/// Lists of all kinds, at a server with each pair of texts.
fn run(habit: impl Fn(&mut Dice) -> Conduct, says_us_to_nobody: bool, guards: Guards) -> Tally {
    let us = undecided(&["us", "trouble"]);
    let nobody = undecided(&["dead"]);
    assert!(us.len() >= 20 && nobody.len() >= 10, "{} {}", us.len(), nobody.len());
    let (mut dice, mut outcome) = (Dice(0x9e37_79b9_7f4a_7c15), Tally::default());
    for us in &us {
        for round in 0..60 {
            let nobody = match round % 3 {
                _ if says_us_to_nobody => us,
                0 => KNOWN,
                _ => nobody[dice.below(nobody.len())],
            };
            let mut server = Simulated::new(habit(&mut dice), us, nobody);
            let list = List {
                living: 1 + dice.below(12),
                dead: dice.below(6),
                sessions: 1 + dice.below(2),
                early: dice.below(2) == 0,
            };
            outcome.add(ask(&list, &mut server, guards, &mut dice));
        }
    }
    outcome
}

type Roll = fn(&mut Dice) -> Conduct;

/// Worlds in which a living address must never become a `false`.
const MISLEADING: [(&str, Roll); 16] = [
    ("refuses all", |_| Conduct::RefusesAll),
    ("refuses after the look-up", |_| Conduct::RefusesAfterLookup),
    ("spares a tenth, looks up first", |_| Conduct::Spares(10, true)),
    ("spares a third, looks up first", |_| Conduct::Spares(33, true)),
    ("one recipient a session", |_| Conduct::Session(1)),
    ("four recipients a session", |_| Conduct::Session(4)),
    ("two failures a session", |_| Conduct::Failures(2)),
    ("three recipients of our address", |_| Conduct::Address(3)),
    ("accepts all, three a session", |_| Conduct::AcceptsAll(3)),
    ("accepts all, as backups do", |_| Conduct::AcceptsAll(usize::MAX)),
    ("accepts all but some", |_| Conduct::AcceptsMany(30)),
    ("members only", |_| Conduct::Members(30)),
    ("two machines of a name", |_| Conduct::TwoMachines),
    ("bans after two unknown names", |_| Conduct::Bans(2)),
    ("a short outage", |dice| Conduct::Outage(dice.below(12), 2)),
    ("a longer outage", |dice| Conduct::Outage(dice.below(12), 4)),
];

#[test]
fn no_living_address_is_a_no_in_a_world_that_misleads() {
    for (name, habit) in MISLEADING {
        let outcome = run(habit, false, ALL);
        println!("{name}: {outcome:?}");
        assert_eq!(outcome.living_no, 0, "{name}: {outcome:?}");
    }
    // Here the ban and the limit use the words for nobody.
    for habit in [Conduct::Bans(2), Conduct::Address(3)] {
        let outcome = run(|_| habit, true, ALL);
        assert!(outcome.living_no == 0 && outcome.living > 1_000, "{habit:?}: {outcome:?}");
    }
}

#[test]
fn where_a_minority_is_exempt_at_most_three_in_a_hundred_are_a_no() {
    // A greylist with a permanent code and unknown words, for a list that was partly asked before, is such a world.
    for habit in [Conduct::Spares(10, false), Conduct::Spares(33, false), Conduct::Greylists(30)] {
        let outcome = run(|_| habit, false, ALL);
        println!("{habit:?}: {outcome:?}, {:.1} %", outcome.percent_of_living());
        assert!(outcome.percent_of_living() <= 3.0, "{habit:?}: {outcome:?}");
    }
    let outcome = run(|_| Conduct::Greylists(0), false, ALL);
    assert_eq!(outcome.living_no, 0, "a list that nobody asked before: {outcome:?}");
}

#[test]
fn each_guard_is_needed_in_some_world() {
    let outage: Roll = |dice| Conduct::Outage(dice.below(12), 2);
    let without: [(&str, Guards, Roll, bool); 4] = [
        ("an acceptance before", Guards { first_acceptance: false, ..ALL }, outage, false),
        ("one behind", Guards { second_acceptance: false, ..ALL }, |_| Conduct::Session(4), false),
        ("more neighbours", Guards { more: false, ..ALL }, |_| Conduct::Spares(10, false), false),
        ("one of them again", Guards { again_now: false, ..ALL }, |_| Conduct::Bans(2), true),
    ];
    for (name, guards, habit, same) in without {
        assert!(run(habit, same, guards).living_no > 20, "{name}");
    }
}

#[test]
fn at_an_honest_server_nearly_every_dead_address_among_enough_neighbours_is_a_no() {
    let outcome = run(|_| Conduct::Honest, false, ALL);
    let without_count = run(|_| Conduct::Honest, false, Guards { more: false, ..ALL });
    println!("{outcome:?}; without the number of neighbours {without_count:?}");
    assert_eq!(outcome.living, 0);
    assert!(outcome.dead_no * 100 >= outcome.dead * 75, "{outcome:?}");
    assert_eq!(without_count.dead_no, without_count.dead);
}

/// Dead mailboxes of the corpora with a permanent code, each with two living neighbours at a server that says the reply
/// to names that don't exist, if that is what the reply's label says.
#[test]
fn most_dead_mailboxes_with_two_living_neighbours_are_recognised() {
    const NOBODY: [&str; 3] = ["cause", "software", "no_such_mailbox"];
    let (mut all, mut by_words, mut by_contrast) = (0, 0, 0);
    for (name, raw) in dead() {
        all += 1;
        let is_nobody = NOBODY.iter().any(|kind| name.contains(kind));
        match read(raw) {
            Read::No => by_words += 1,
            Read::Undecided(_) if is_nobody => {
                let mut server = Simulated::new(Conduct::Honest, KNOWN, raw);
                let list = List { living: 2, dead: 1, sessions: 1, early: false };
                by_contrast += ask(&list, &mut server, ALL, &mut Dice(7)).dead_no;
            }
            _ => println!("missed: {name}: {raw}"),
        }
    }
    println!("of {all} dead mailboxes {by_words} by words, {by_contrast} more by contrast");
    assert!(
        all > 250 && (by_words + by_contrast) * 100 >= all * 90,
        "{by_words} {by_contrast} {all}"
    );
}

//! A file of operators is accepted, or rejected with a sentence for each mistake. Renumbered rows keep their hosts, and
//! built-in rows their numbers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rcpt_pool::operators::Operators;

const NAMES: [&str; 4] = ["aspmx.l.google.com", "mx00.ionos.de", "mx.example.org", "localhost"];

fuzz_target!(|text: &str| {
    let built_in = Operators::with("").expect("the built-in rows");
    match Operators::with(text) {
        Ok(operators) => {
            let again = Operators::with(text).expect("the same text").numbered_as(&built_in);
            for name in NAMES {
                let row = operators.of_host(name).and_then(|id| operators.get(id));
                let renumbered = again.of_host(name).and_then(|id| again.get(id));
                assert_eq!(row.map(|row| &row.name), renumbered.map(|row| &row.name), "{name}");
                let _ = (operators.label(name), operators.is_consumer_domain(name));
            }
            for (before, after) in built_in.rows().iter().zip(again.rows()) {
                assert_eq!(before.name, after.name, "what was learnt is kept by number");
            }
        }
        Err(mistakes) => {
            assert!(!mistakes.is_empty());
            assert!(mistakes.iter().all(|mistake| !mistake.trim().is_empty()));
        }
    }
});

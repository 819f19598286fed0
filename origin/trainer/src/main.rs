//! `make reader`: trains the reader, writes its weights and prints its accuracy.

use std::{collections::HashSet, env, fs, path::Path};

use anyhow::Result;
use rcpt_trainer::{
    corpus::{self, Label},
    inputs,
    measure::{self, Scope},
    regression,
};

fn main() -> Result<()> {
    let rows = corpus::rows()?;
    let judged = measure::out_of_fold(&rows, regression::WORDS_MIN);
    let all = corpus::all_rows()?;
    let sources: HashSet<_> = all.iter().map(|row| &row.source).collect();
    let dead = rows.iter().filter(|row| row.is_dead()).count();
    println!(
        "{} rows of {} sources; {} texts, {dead} of dead mailboxes",
        all.len(),
        sources.len(),
        rows.len()
    );
    for (scope, name) in
        [(Scope::Collected, "collected"), (Scope::Whole, "whole"), (Scope::Apart, "set apart")]
    {
        for (figure, share) in measure::figures(&judged, scope) {
            let [from, to] = share.interval.map(|bound| bound * 100.0);
            println!(
                "{name:<10} {figure:<16} {:>4} of {:>4} {:>5.1} % ({from:.1} to {to:.1})",
                share.part,
                share.whole,
                share.value() * 100.0
            );
        }
    }
    if env::args().any(|argument| argument == "--words") {
        for words_min in 1..=5 {
            let judged = measure::out_of_fold(&rows, words_min);
            let [_, reader, both, _, added, _] = measure::figures(&judged, Scope::Others);
            println!(
                "{words_min} known words: reader {} of {}, both {}, refusals called dead beyond the rules {} of {}",
                reader.1.part, reader.1.whole, both.1.part, added.1.part, added.1.whole
            );
        }
        return Ok(());
    }
    if env::args().any(|argument| argument == "--rows") {
        for row in judged.iter().filter(|row| !row.is_of_rules) {
            let is_wrong = row.is_refused != (row.label == Label::Dead);
            if is_wrong || row.is_asked {
                println!(
                    "fold {} fragment={} {:?} refused={} asked={} {:?} of {}, {} words | {} | {}",
                    row.fold,
                    row.is_fragment,
                    row.label,
                    row.is_refused,
                    row.is_asked,
                    row.percent,
                    row.threshold,
                    row.known_words,
                    row.source,
                    row.raw
                );
            }
        }
        return Ok(());
    }
    let mut model = regression::train(&rows);
    model.threshold = measure::threshold_for(&judged);
    model.inputs = inputs(&rows);
    let octets = model.write();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../verdict/data/reader/model.bin");
    fs::write(file, &octets)?;
    println!(
        "{} octets of weights, threshold {} %, inputs {}",
        octets.len(),
        model.threshold,
        hex::encode(model.inputs)
    );
    Ok(())
}

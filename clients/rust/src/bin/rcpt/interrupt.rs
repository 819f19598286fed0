//! Ctrl-C: ends the command and prints which work continues without it.

use std::{process, sync::Once};

use parking_lot::Mutex;

const EXIT_CODE: i32 = 130;

static SENTENCE: Mutex<String> = Mutex::new(String::new());
static HANDLER: Once = Once::new();

pub fn say(sentence: String) {
    *SENTENCE.lock() = sentence;
    HANDLER.call_once(|| {
        // Without a handler, Ctrl-C ends the command too, but prints nothing.
        let _ = ctrlc::set_handler(|| {
            let sentence = SENTENCE.lock();
            anstream::eprintln!("\nrcpt: {sentence}");
            process::exit(EXIT_CODE);
        });
    });
}

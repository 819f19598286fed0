//! Ctrl-C: ends the command and prints which work continues without it.

use std::{process, sync::Once};

use parking_lot::Mutex;

/// 128 and SIGINT.
const CODE: i32 = 130;

static SENTENCE: Mutex<String> = Mutex::new(String::new());
static HANDLER: Once = Once::new();

/// From now on Ctrl-C says this, and ends the command.
pub fn say(sentence: String) {
    *SENTENCE.lock() = sentence;
    HANDLER.call_once(|| {
        // Without a handler it ends the command too, without a word.
        let _ = ctrlc::set_handler(|| {
            let sentence = SENTENCE.lock();
            anstream::eprintln!("\nrcpt: {sentence}");
            process::exit(CODE);
        });
    });
}

//! Ctrl-C: ends the command and prints which work continues without it.

use std::{
    process,
    sync::{Mutex, Once, PoisonError},
};

/// 128 and SIGINT.
const CODE: i32 = 130;

static SENTENCE: Mutex<String> = Mutex::new(String::new());
static HANDLER: Once = Once::new();

/// From now on Ctrl-C says this, and ends the command.
pub fn say(sentence: String) {
    *SENTENCE.lock().unwrap_or_else(PoisonError::into_inner) = sentence;
    HANDLER.call_once(|| {
        // Without a handler it ends the command too, without a word.
        let _ = ctrlc::set_handler(|| {
            let sentence = SENTENCE.lock().unwrap_or_else(PoisonError::into_inner);
            anstream::eprintln!("\nrcpt: {sentence}");
            process::exit(CODE);
        });
    });
}

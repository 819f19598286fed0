//! The clients end to end: the command `rcpt`, and one table of cases for all clients.

mod cases;
mod command;
mod examples;
mod guard_examples;
mod hostile;
mod own_key;
mod packages;
mod scanning;

use rcpt_tests::Stack;
use tokio::sync::OnceCell;

/// The service shared by most of these tests.
async fn stack() -> &'static Stack {
    static STACK: OnceCell<Stack> = OnceCell::const_new();
    STACK.get_or_init(Stack::start).await
}

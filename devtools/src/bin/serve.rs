//! The whole service for a test that is not written in Rust: see `rcpt_devtools::serve`.

use tokio::task::LocalSet;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    LocalSet::new().run_until(rcpt_devtools::serve::run()).await
}

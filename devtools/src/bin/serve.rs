//! The whole service for tests in other languages: see `rcpt_devtools::serve`.

use tokio::task::LocalSet;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    LocalSet::new().run_until(rcpt_devtools::serve::run()).await
}

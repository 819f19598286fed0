//! What `make bench` runs.

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    rcpt_tests::bench::run().await
}

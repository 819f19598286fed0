//! What `make bench` runs; `bench comparison` is the part beside the JavaScript Worker alone.

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("comparison") => rcpt_tests::bench::comparison().await.map(drop),
        _ => rcpt_tests::bench::run().await,
    }
}

//! What `make bench` runs; `bench comparison` is the part beside the JavaScript Worker alone, and
//! `bench profile` tells where a cached check's CPU time goes in either; `bench tarpits` is trust P3 alone.

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("comparison") => rcpt_tests::bench::comparison().await.map(drop),
        Some("tarpits") => {
            println!("ratio {:.2}", rcpt_tests::bench::tarpits().await?.value);
            Ok(())
        }
        Some("profile") => rcpt_tests::bench::profile().await,
        None => rcpt_tests::bench::run().await,
        Some(other) => anyhow::bail!("no part is called {other:?}: comparison, profile or tarpits"),
    }
}

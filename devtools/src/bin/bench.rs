//! What `make bench` runs; `bench comparison` is the part beside the JavaScript Worker alone, and
//! `bench profile` tells where a cached check's CPU time goes in either; `bench tarpits` is trust P3 alone.

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("comparison") => rcpt_devtools::bench::comparison().await.map(drop),
        Some("tarpits") => {
            println!("ratio {:.2}", rcpt_devtools::bench::tarpits().await?.value);
            Ok(())
        }
        Some("profile") => rcpt_devtools::bench::profile().await,
        None => rcpt_devtools::bench::run().await,
        Some(other) => anyhow::bail!("no part is called {other:?}: comparison, profile or tarpits"),
    }
}

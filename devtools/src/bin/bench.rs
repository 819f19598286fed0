//! What `make bench` runs; `bench comparison` is the part beside the JavaScript Worker alone, and
//! `bench databases` is rows, dollars and what more databases give;
//! `bench profile` tells where a cached check's CPU time goes in either; `bench tarpits` is P3 of docs/trust.md alone,
//! and `bench scans` what scans cost.

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("comparison") => rcpt_devtools::bench::comparison().await.map(drop),
        Some("tarpits") => {
            println!("ratio {:.2}", rcpt_devtools::bench::tarpits().await?.value);
            Ok(())
        }
        Some("databases") => rcpt_devtools::bench::databases().await,
        Some("profile") => rcpt_devtools::bench::profile().await,
        Some("scans") => rcpt_devtools::bench::scans().await,
        None => rcpt_devtools::bench::run().await,
        Some(other) => {
            anyhow::bail!(
                "no part is called {other:?}: comparison, databases, profile, scans or tarpits"
            )
        }
    }
}

//! The program of `make bench`; an argument selects one part.

const HELP: &str = "\
Usage: bench [PART]

Without a part, all figures of the edge: as a table, and in target/bench/edge.json.

  comparison     cached checks beside an empty Worker
  databases      rows and dollars of a check, and what more databases give
  accounts       what account operations cost, and whether their times tell members from strangers
  scans          what scans cost
  conversations  100 to 2,000 probes at once, on one core
  deadlines      how late answers by a deadline are beside mail servers that never answer
  month          the cost of a month, of the figures that were measured last
  tarpits        probes beside mail servers that never answer
";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("comparison") => {
            for figure in rcpt_devtools::bench::comparison().await? {
                println!("{} {:.2}", figure.name, figure.value);
            }
            Ok(())
        }
        Some("deadlines") => {
            for figure in rcpt_devtools::bench::deadlines().await? {
                println!("{} {:.1}", figure.name, figure.value);
            }
            Ok(())
        }
        Some("tarpits") => {
            println!("ratio {:.2}", rcpt_devtools::bench::tarpits().await?.value);
            Ok(())
        }
        Some("conversations") => rcpt_devtools::bench::conversations().await,
        Some("month") => rcpt_devtools::bench::month(),
        Some("databases") => rcpt_devtools::bench::databases().await,
        Some("accounts") => rcpt_devtools::bench::accounts().await,
        Some("scans") => rcpt_devtools::bench::scans().await,
        Some("--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        None => rcpt_devtools::bench::run().await,
        Some(other) => {
            eprint!("bench: no part is called {other:?}\n\n{HELP}");
            std::process::exit(2);
        }
    }
}

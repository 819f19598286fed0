//! Checks one address.

fn main() -> Result<(), rcpt_client::Error> {
    let client = rcpt_client::Client::new("https://rcpt.example.net", "rcpt_live_…")?;
    let answer = client.check("ann@example.org")?;
    println!("{} {:?}", answer.email, answer.verdict);
    Ok(())
}

//! Checks a list in the background. Results have positions, not addresses, so keep the list.

fn main() -> Result<(), rcpt_client::Error> {
    let client = rcpt_client::Client::new("https://rcpt.example.net", "rcpt_live_…")?;
    let addresses = ["ann@example.org", "bob@example.com"];
    let scan = client.start_scan(&addresses, "customers", &rcpt_client::idempotency_key())?;
    client.wait_for_scan(&scan.id, |scan| println!("{} of {}", scan.answered, scan.total))?;
    for row in client.join_scan(&scan.id, &addresses)? {
        println!("{} {:?}", row.address, row.result.map(|result| result.verdict));
    }
    Ok(())
}

//! A sign-up form asks the guard, and lets the person sign up if there is no answer.

use std::time::Duration;

fn main() -> Result<(), rcpt_client::Error> {
    let client = rcpt_client::Client::new("https://rcpt.example.net", "rcpt_live_…")?;
    match client.within(Duration::from_secs(5)).decide("ann@example.org") {
        Ok(decision) if decision.decision == rcpt_client::Choice::Refuse => {
            println!("{}", decision.message.unwrap_or_default());
        }
        Ok(decision) => println!("store {}", decision.email),
        Err(_) => println!("store what was typed"),
    }
    Ok(())
}

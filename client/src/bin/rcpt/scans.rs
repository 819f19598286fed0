//! `rcpt scans` and `rcpt results`.

use std::io::{self, IsTerminal as _};

use crate::{
    args::Service,
    credentials,
    failure::{Ended, Failure},
    output::print,
};

pub fn list(service: &Service) -> Result<Ended, Failure> {
    let client = credentials::client(service, 30)?;
    let is_read_by_people = io::stdout().is_terminal();
    let mut before = None;
    loop {
        let page = client.scans(before.as_deref())?;
        for scan in &page.scans {
            if is_read_by_people {
                print(&format!(
                    "{}  {:<9}  {:>7} of {:>7}  {}",
                    scan.id, scan.state, scan.answered, scan.total, scan.name
                ))?;
            } else {
                print(&serde_json::to_string(scan).unwrap_or_default())?;
            }
        }
        before = page.next;
        if before.is_none() {
            return Ok(Ended::Good);
        }
    }
}

pub fn results(service: &Service, id: &str) -> Result<Ended, Failure> {
    let client = credentials::client(service, 30)?;
    let mut after = None;
    loop {
        let page = client.results(id, after)?;
        for result in &page.results {
            print(&serde_json::to_string(result).unwrap_or_default())?;
        }
        after = page.next;
        if after.is_none() {
            return Ok(Ended::Good);
        }
    }
}

//! The email at the end of scans: counts, and no address.

use super::{Mail, Paragraph};

/// A scan that has ended, as its owner is told.
#[derive(Debug)]
pub struct EndedScan {
    pub id: String,
    pub name: String,
    pub state: String,
    pub total: u32,
    pub accepted: u32,
    pub refused: u32,
    /// Other verdicts that say that no mail arrives: no such domain, no mail server, no address at all.
    pub undeliverable: u32,
}

/// Tells of the scans, the last one first, at least one; `ended` is how many there were in all.
pub fn scans_ended(portal_url: &str, name: &str, scans: &[EndedScan], ended: u64) -> Mail {
    let (subject, list) = match scans {
        [only] if ended <= 1 => ("Your scan has ended", format!("/scans?id={}", only.id)),
        _ => ("Your scans have ended", "/scans".to_owned()),
    };
    let mut mail = Mail::new(subject, portal_url, name);
    for scan in scans {
        mail = mail.paragraph(facts(scan));
    }
    let more = ended.saturating_sub(scans.len() as u64);
    if more > 0 {
        mail = mail.text(format!("And {more} more."));
    }
    mail.button("See the results", format!("{portal_url}{list}"))
        .text("Results are kept for seven days. You can turn these emails off in the settings.")
}

fn facts(scan: &EndedScan) -> Paragraph {
    let mut rows = Vec::new();
    if !scan.name.is_empty() {
        rows.push(("Scan", scan.name.clone()));
    }
    rows.push(("Addresses", scan.total.to_string()));
    if scan.state == "expired" {
        rows.push((
            "Result",
            "Nothing could be asked within a day. The scan wasn't counted.".into(),
        ));
        return Paragraph::Facts(rows);
    }
    let no = scan.refused.saturating_add(scan.undeliverable);
    let unknown = scan.total.saturating_sub(scan.accepted).saturating_sub(no);
    rows.push(("Can receive mail", scan.accepted.to_string()));
    rows.push(("Can't", no.to_string()));
    rows.push(("Not known", unknown.to_string()));
    Paragraph::Facts(rows)
}

#[cfg(test)]
mod tests {
    use super::{EndedScan, scans_ended};

    fn scan(name: &str, state: &str) -> EndedScan {
        let (id, name, state) = ("scan_1".into(), name.into(), state.into());
        EndedScan { id, name, state, total: 10, accepted: 5, refused: 2, undeliverable: 1 }
    }

    #[test]
    fn one_scan_is_told_with_its_counts_and_several_with_how_many_more() {
        let one = scans_ended("https://p.example", "Ann", &[scan("May <b>", "completed")], 1);
        let said = "Scan: May <b>\nAddresses: 10\nCan receive mail: 5\nCan't: 3\nNot known: 2";
        assert!(one.to_text().contains(said), "{}", one.to_text());
        assert!(
            one.to_text().contains("\nhttps://p.example/scans?id=scan_1\n"),
            "{}",
            one.to_text()
        );
        assert!(!one.to_html().contains("<b>"));
        let two = [scan("", "completed"), scan("b", "expired")];
        let many = scans_ended("https://p.example", "", &two, 7).to_text();
        assert!(many.contains("And 5 more.") && many.contains("wasn't counted"), "{many}");
    }
}

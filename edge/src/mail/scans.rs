//! The email about ended scans: counts, and no address.

use rcpt_shared::Deliverability;

use super::{Mail, Paragraph};

#[derive(Debug)]
pub struct EndedScan {
    pub id: String,
    pub state: String,
    pub total: u32,
    /// Number of addresses per verdict, in the order of [`Deliverability::ALL`].
    pub by_verdict: [u32; Deliverability::ALL.len()],
}

/// `scans`, at least one, are listed, the latest first; `ended` is the number of all.
pub fn scans_ended(portal_url: &str, scans: &[EndedScan], ended: u64) -> Mail {
    let (subject, list) = match scans {
        [only] if ended <= 1 => ("Your scan has ended", format!("/scans?id={}", only.id)),
        _ => ("Your scans have ended", "/scans".to_owned()),
    };
    let mut mail = Mail::new(subject, portal_url);
    for scan in scans {
        mail = mail.paragraph(facts(scan));
    }
    let more = ended.saturating_sub(scans.len() as u64);
    if more > 0 {
        mail = mail.text(format!("And {more} more."));
    }
    let risky = Deliverability::ALL.iter().position(|word| *word == Deliverability::Risky);
    if scans.iter().any(|scan| risky.and_then(|nth| scan.by_verdict.get(nth)) > Some(&0)) {
        mail = mail.text("Risky: accepted, but the server may accept every address.");
    }
    mail.button("See the results", format!("{portal_url}{list}")).text(
        "Results are kept for seven days. Keep a copy of the file: we don't have your addresses. \
             You can turn these emails off in the settings.",
    )
}

fn facts(scan: &EndedScan) -> Paragraph {
    let mut rows = vec![("Addresses", scan.total.to_string())];
    if scan.state == "expired" {
        rows.push((
            "Result",
            "We couldn't ask about any address in time. The scan wasn't counted.".into(),
        ));
        return Paragraph::Facts(rows);
    }
    for (verdict, number) in Deliverability::ALL.into_iter().zip(scan.by_verdict) {
        rows.push((label(verdict), number.to_string()));
    }
    Paragraph::Facts(rows)
}

const fn label(verdict: Deliverability) -> &'static str {
    match verdict {
        Deliverability::Deliverable => "Deliverable",
        Deliverability::Undeliverable => "Undeliverable",
        Deliverability::Risky => "Risky",
        Deliverability::Unknown => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::{EndedScan, scans_ended};

    fn scan(state: &str) -> EndedScan {
        let (id, state) = ("scan_1".into(), state.into());
        EndedScan { id, state, total: 10, by_verdict: [4, 3, 1, 2] }
    }

    #[test]
    fn one_scan_is_told_with_its_counts_and_several_with_how_many_more() {
        let one = scans_ended("https://p.example", &[scan("completed")], 1);
        let text = "Addresses: 10\nDeliverable: 4\n\
            Undeliverable: 3\nRisky: 1\nUnknown: 2";
        assert!(one.to_text(None).contains(text), "{}", one.to_text(None));
        assert!(
            one.to_text(None).contains("\nhttps://p.example/scans?id=scan_1\n"),
            "{}",
            one.to_text(None)
        );
        let two = [scan("completed"), scan("expired")];
        let many = scans_ended("https://p.example", &two, 7).to_text(None);
        assert!(many.contains("And 5 more.") && many.contains("wasn't counted"), "{many}");
    }
}

//! The sites of blocklists: where one is named, the refusal is of our address, whatever the words.

/// Domains whose names and pages are about listed addresses.
const SITES: &[&str] = &[
    "abuseat.org",
    "barracudacentral.com",
    "barracudacentral.org",
    "cleanip.paran.com",
    "csi.cloudmark.com",
    "csi.mimecast.org",
    "dnsbl.info",
    "fabel.dk",
    "invaluement.com",
    "ipcheck.proofpoint.com",
    "junkemailfilter.com",
    "kisarbl.or.kr",
    "kloth.net",
    "mailspike.net",
    "mailspike.org",
    "manitu.net",
    "nixspam.net",
    "realip.naver.com",
    "rbl.jp",
    "senderbase.org",
    "sender.office.com",
    "senderscore.org",
    "sorbs.net",
    "spamcop.net",
    "spamhaus.com",
    "spamhaus.org",
    "spamrats.com",
    "surriel.com",
    "talosintelligence.com",
    "trustedsource.org",
    "uceprotect.net",
];

/// First labels of the zones in which addresses are looked up.
const ZONES: &[&str] = &["bl", "cbl", "dnsbl", "dnsrbl", "pbl", "rbl", "sbl", "xbl", "zen"];

pub(super) fn has(host: &str) -> bool {
    let host = host.trim_matches('.').to_ascii_lowercase();
    let below = |site: &&str| {
        host.strip_suffix(*site).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let zone = host.split_once('.').is_some_and(|(label, _)| ZONES.contains(&label));
    zone || SITES.iter().any(below)
}

#[cfg(test)]
mod tests {
    use super::has;

    #[test]
    fn a_site_and_the_names_below_it_and_nothing_like_it() {
        for host in ["zen.spamhaus.org", "SPAMHAUS.org", "www.sorbs.net", "bl.example.net"] {
            assert!(has(host), "{host}");
        }
        for host in ["notspamhaus.org", "spamhaus.org.example.com", "ess.barracudanetworks.com", ""]
        {
            assert!(!has(host), "{host}");
        }
    }
}

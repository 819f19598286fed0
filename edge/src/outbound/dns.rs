//! Whether a domain can receive mail, as far as DNS says: over HTTPS, in the JSON of Cloudflare's and Google's public
//! resolvers. The Worker asks, and no origin: accounts can be created while every origin is down, and no origin works
//! for strangers.
//!
//! Only the domain leaves us. A resolver that fails or is slow keeps no domain out.

use serde::Deserialize;

use crate::cf::{fetch::OutgoingRequest, log};

/// Milliseconds. A registration takes about 40 of hashing, and a healthy resolver some tens.
const PATIENCE_MS: u32 = 1_000;
/// RFC 8484 and the resolvers' JSON: types of records, and the code of NXDOMAIN.
const A: u16 = 1;
const MX: u16 = 15;
const AAAA: u16 = 28;
const NXDOMAIN: u8 = 3;

/// DNS facts about a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailDomain {
    /// It may get mail, or DNS did not say.
    Fine,
    /// There is no such domain.
    Missing,
    /// It says that it gets none (RFC 7505).
    NullMx,
}

/// A resolver's response.
#[derive(Deserialize)]
pub(super) struct DnsDocument {
    #[serde(rename = "Status")]
    status: u8,
    #[serde(rename = "Answer", default)]
    answer: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "type")]
    kind: u16,
    /// Preference and host of an MX record; the address of an address record.
    data: String,
}

impl DnsDocument {
    /// The addresses among its records.
    pub(super) fn addresses(&self) -> impl Iterator<Item = &str> {
        let records = self.answer.iter().filter(|record| [A, AAAA].contains(&record.kind));
        records.map(|record| record.data.as_str())
    }
}

impl MailDomain {
    /// Asks the resolver at `url`. `domain` in A-labels.
    pub async fn look_up(url: &str, domain: &str) -> Self {
        match resolve(url, domain, "MX").await {
            Some(document) => Self::of(&document),
            None => {
                log::failure("dns", &"the resolver did not answer");
                Self::Fine
            }
        }
    }

    fn of(document: &DnsDocument) -> Self {
        let mut hosts = document.answer.iter().filter(|record| record.kind == MX);
        match document.status {
            NXDOMAIN => Self::Missing,
            // With any other record beside it, it is a mistake, and mail may pass.
            0 => match (hosts.next(), hosts.next()) {
                (Some(only), None) if only.data.split_whitespace().nth(1) == Some(".") => {
                    Self::NullMx
                }
                _ => Self::Fine,
            },
            _ => Self::Fine,
        }
    }
}

/// Asks for records of this type. `None` when the resolver does not answer in time.
pub(super) async fn resolve(url: &str, domain: &str, kind: &str) -> Option<DnsDocument> {
    let question = OutgoingRequest {
        // A domain in A-labels has no character that a URL would read otherwise.
        url: &format!("{url}?name={domain}&type={kind}"),
        headers: &[("Accept", "application/dns-json")],
        body: None,
        timeout_ms: PATIENCE_MS,
    };
    let reply = question.send().await?;
    if reply.status() != 200 {
        return None;
    }
    serde_json::from_slice(reply.text().await?.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::{DnsDocument, MailDomain};

    fn read(document: &str) -> MailDomain {
        MailDomain::of(&serde_json::from_str::<DnsDocument>(document).unwrap())
    }

    #[test]
    fn only_nxdomain_and_a_lone_null_mx_say_that_no_mail_arrives() {
        for (document, expected) in [
            (r#"{"Status":3}"#, MailDomain::Missing),
            (r#"{"Status":0}"#, MailDomain::Fine),
            (r#"{"Status":2}"#, MailDomain::Fine),
            (r#"{"Status":0,"Answer":[{"type":15,"data":"0 ."}]}"#, MailDomain::NullMx),
            (r#"{"Status":0,"Answer":[{"type":15,"data":"10 mx.example."}]}"#, MailDomain::Fine),
            (
                r#"{"Status":0,"Answer":[{"type":15,"data":"0 ."},{"type":15,"data":"1 mx.example."}]}"#,
                MailDomain::Fine,
            ),
            (r#"{"Status":0,"Answer":[{"type":16,"data":"0 ."}]}"#, MailDomain::Fine),
        ] {
            assert_eq!(read(document), expected, "{document}");
        }
    }
}

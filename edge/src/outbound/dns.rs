//! Asks DNS if a domain can receive mail, in the JSON format of public resolvers. The Worker asks rather than an
//! origin: accounts can be created while every origin is down.
//!
//! Only the domain is sent. If the resolver fails or is slow, no domain is rejected.

use serde::Deserialize;

use crate::{
    cf::{fetch::OutgoingRequest, log},
    json,
};

/// A registration spends about 40 ms on hashing, and a healthy resolver takes tens of ms.
const PATIENCE_MS: u32 = 1_000;
const A: u16 = 1;
const MX: u16 = 15;
const AAAA: u16 = 28;
const NXDOMAIN: u8 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailDomain {
    Fine,
    Missing,
    /// The domain declares that it receives no mail (RFC 7505).
    NullMx,
}

#[derive(Deserialize)]
pub struct DnsDocument {
    #[serde(rename = "Status")]
    status: u8,
    #[serde(rename = "Answer", default)]
    answer: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "type")]
    kind: u16,
    data: String,
}

impl DnsDocument {
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let records = self.answer.iter().filter(|record| [A, AAAA].contains(&record.kind));
        records.map(|record| record.data.as_str())
    }
}

impl MailDomain {
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
            // A null MX next to other records is a mistake, and mail may be accepted.
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

pub async fn resolve(url: &str, domain: &str, kind: &str) -> Option<DnsDocument> {
    let question = OutgoingRequest {
        // A-labels contain no character with a meaning in URLs.
        url: &format!("{url}?name={domain}&type={kind}"),
        headers: &[("Accept", "application/dns-json")],
        body: None,
        timeout_ms: PATIENCE_MS,
    };
    let reply = question.send().await?;
    if reply.status() != 200 {
        return None;
    }
    json::read(reply.text().await?.as_bytes()).ok()
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

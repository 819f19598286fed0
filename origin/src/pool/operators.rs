//! The table of operators: who runs a mail host. Limits and refusals are the operator's, however many hosts it has.

use std::{collections::HashMap, sync::LazyLock};

/// Suffixes of the names of mail hosts, each with its operator. The names are also metric labels.
const OPERATORS: &[(&str, &str)] = &[
    ("protection.outlook.com", "microsoft"),
    ("olc.protection.outlook.com", "microsoft"),
    ("mx.microsoft", "microsoft"),
    ("outlook.com", "microsoft"),
    ("hotmail.com", "microsoft"),
    ("office365.us", "microsoft"),
    ("google.com", "google"),
    ("googlemail.com", "google"),
    ("smtp.goog", "google"),
    ("yahoodns.net", "yahoo"),
    ("yahoo.com", "yahoo"),
    ("yahoo.co.jp", "yahoo_japan"),
    ("icloud.com", "apple"),
    ("apple.com", "apple"),
    ("pphosted.com", "proofpoint"),
    ("ppe-hosted.com", "proofpoint"),
    ("gpphosted.com", "proofpoint"),
    ("mimecast.com", "mimecast"),
    ("mimecast.co.za", "mimecast"),
    ("mimecast-offshore.com", "mimecast"),
    ("iphmx.com", "cisco"),
    ("barracudanetworks.com", "barracuda"),
    ("messagelabs.com", "broadcom"),
    ("trendmicro.com", "trend_micro"),
    ("trendmicro.eu", "trend_micro"),
    ("sophos.com", "sophos"),
    ("mailcontrol.com", "forcepoint"),
    ("fireeyecloud.com", "trellix"),
    ("fortimailcloud.com", "fortinet"),
    ("hornetsecurity.com", "hornetsecurity"),
    ("antispameurope.com", "hornetsecurity"),
    ("spamexperts.com", "n_able"),
    ("antispamcloud.com", "n_able"),
    ("amazonaws.com", "amazon"),
    ("awsapps.com", "amazon"),
    ("zoho.com", "zoho"),
    ("zoho.eu", "zoho"),
    ("zoho.in", "zoho"),
    ("zohomail.com", "zoho"),
    ("protonmail.ch", "proton"),
    ("messagingengine.com", "fastmail"),
    ("secureserver.net", "godaddy"),
    ("emailsrvr.com", "rackspace"),
    ("registrar-servers.com", "namecheap"),
    ("privateemail.com", "namecheap"),
    ("hostinger.com", "hostinger"),
    ("titan.email", "titan"),
    ("ovh.net", "ovh"),
    ("ionos.com", "ionos"),
    ("kundenserver.de", "ionos"),
    ("1and1.com", "ionos"),
    ("perfora.net", "ionos"),
    ("gmx.net", "united_internet"),
    ("web.de", "united_internet"),
    ("mail.com", "united_internet"),
    ("t-online.de", "t_online"),
    ("strato.de", "strato"),
    ("rzone.de", "strato"),
    ("gandi.net", "gandi"),
    ("mail.ru", "vk"),
    ("yandex.ru", "yandex"),
    ("yandex.net", "yandex"),
    ("qq.com", "tencent"),
    ("exmail.qq.com", "tencent"),
    ("netease.com", "netease"),
    ("163.com", "netease"),
    ("qiye.aliyun.com", "alibaba"),
    ("mxhichina.com", "alibaba"),
    ("naver.com", "naver"),
    ("daum.net", "kakao"),
    ("comcast.net", "comcast"),
    ("charter.net", "charter"),
    ("cox.net", "cox"),
    ("att.net", "att"),
    ("orange.fr", "orange"),
    ("free.fr", "free"),
    ("laposte.net", "la_poste"),
    ("sfr.fr", "sfr"),
    ("libero.it", "italiaonline"),
    ("aruba.it", "aruba"),
    ("wp.pl", "wp"),
    ("onet.pl", "onet"),
    ("seznam.cz", "seznam"),
    ("migadu.com", "migadu"),
    ("improvmx.com", "improvmx"),
    ("forwardemail.net", "forward_email"),
    ("cloudflare.net", "cloudflare"),
    ("mailgun.org", "sinch"),
    ("sendgrid.net", "twilio"),
];

/// Every probe looks its host up, label by label.
static BY_SUFFIX: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| OPERATORS.iter().copied().collect());

/// The metric label of those without a row.
pub const OTHER: &str = "other";

/// The operator of `host` (lower-case); `None` when the table does not know it. The longest suffix of
/// whole labels that is known decides.
pub fn known(host: &str) -> Option<&'static str> {
    let mut suffix = host;
    loop {
        if let Some(operator) = BY_SUFFIX.get(suffix) {
            return Some(operator);
        }
        suffix = suffix.split_once('.')?.1;
    }
}

/// Whose limits apply to `host`: the known operator's, else the host stands for itself.
pub fn of(host: &str) -> &str {
    known(host).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::{OPERATORS, known, of};

    #[test]
    fn hosts_of_one_operator_are_one() {
        for (host, operator) in [
            ("contoso-com.mail.protection.outlook.com", "microsoft"),
            ("hotmail-com.olc.protection.outlook.com", "microsoft"),
            ("contoso-com.a-v1.mx.microsoft", "microsoft"),
            ("aspmx.l.google.com", "google"),
            ("alt1.gmail-smtp-in.l.google.com", "google"),
            ("mta5.am0.yahoodns.net", "yahoo"),
            ("mxa-00123.gslb.pphosted.com", "proofpoint"),
            ("eu-smtp-inbound-1.mimecast.com", "mimecast"),
            ("mx.example.org", "mx.example.org"),
            ("notgoogle.com", "notgoogle.com"),
            ("com", "com"),
        ] {
            assert_eq!(of(host), operator, "{host}");
        }
        assert_eq!(known("mx.example.org"), None);
    }

    #[test]
    fn every_suffix_is_lower_case_and_stands_once() {
        for (position, (suffix, operator)) in OPERATORS.iter().enumerate() {
            assert!(
                suffix
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b))
            );
            assert!(
                operator.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit())
            );
            assert!(OPERATORS[..position].iter().all(|(other, _)| other != suffix), "{suffix}");
        }
    }
}

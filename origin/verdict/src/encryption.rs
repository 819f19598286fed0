//! Decides whether encrypting the session would satisfy a refusal.

use rcpt_smtp::Reply;

use super::{Reading, phrases::Meaning};

/// Enhanced code x.7.10, "encryption needed" (RFC 5248).
const ENCRYPTION_NEEDED: (u16, u16) = (7, 10);

/// True if `reply`, received without TLS, demands TLS, by its code or by any word about encryption. Sendmail
/// (`encryption too weak`), Exchange, Mimecast and Gmail use other codes.
pub(super) fn is_demanded(reply: &Reply, reading: &Reading<'_>) -> bool {
    if reply.is_positive() {
        return false;
    }
    // `530 Must issue a STARTTLS command first` (RFC 3207 §4) may use any words. The code can also demand a password
    // (RFC 4954 §6), which encryption doesn't replace.
    let unnamed = reply.code == 530 && !reading.speaks_of(Meaning::Policy);
    reading.enhanced == Some(ENCRYPTION_NEEDED) || reading.speaks_of(Meaning::Encryption) || unnamed
}

#[cfg(test)]
mod tests {
    use rcpt_shared::Stage;

    use rcpt_smtp::Reply;

    use crate::tests::judge;

    fn demanded(raw: &str) -> bool {
        judge(Stage::Rcpt, &Reply::parse(&format!("{raw}\r\n")).unwrap()).demands_tls
    }

    #[test]
    fn a_refusal_that_names_encryption_demands_it() {
        for reply in [
            "530 Must issue a STARTTLS command first",
            "530 5.7.0 no",
            "400 STARTTLS is required first.",
            "451 5.7.3 STARTTLS is required to send mail",
            "550 5.7.1 Session encryption is required",
            "503 5.7.0 encryption too weak 0 less than 112",
            "421 4.7.0 TLS required for RCPT domain, closing connection.",
            "550 5.7.29 This message was not sent over a TLS connection.",
            "554 5.7.10 nope",
            "553 Must use SSL.",
            "550 Verschl\u{fc}sselung erforderlich",
            "550 Only encrypted sessions (https://example.org/help)",
        ] {
            assert!(demanded(reply), "{reply}");
        }
    }

    #[test]
    fn no_other_refusal_does() {
        for reply in [
            "250 2.1.5 TLS is fine",
            "530 5.7.1 Authentication required",
            "550 5.1.1 No such user",
            "550 5.1.1 encryption.example.org: no such user",
            "550 see https://starttls.example.org/encryption",
            "550 <tls@example.org> unknown",
            "550 5.1.1 title settled",
        ] {
            assert!(!demanded(reply), "{reply}");
        }
    }
}

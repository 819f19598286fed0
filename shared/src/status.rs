//! The `status` of a validation result.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::names::names;

/// Status of an address (docs/api.md, POST /validate_email): in JSON `true`, `false` or one
/// of seven strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// `true`: the mail server accepts the address.
    Accepted,
    /// `false`: the mail server refuses the address.
    Refused,
    InvalidFormat,
    DomainNotFound,
    NoMxRecords,
    SmtpConnectError,
    SmtpTimeout,
    /// The mail server refused *us*, which says nothing about the mailbox.
    BlockedByProvider,
    /// A failure on our side; never charged.
    FatalException,
}

names! { Status:
    Accepted = "true",
    Refused = "false",
    InvalidFormat = "invalid_format",
    DomainNotFound = "domain_not_found",
    NoMxRecords = "no_mx_records",
    SmtpConnectError = "smtp_connect_error",
    SmtpTimeout = "smtp_timeout",
    BlockedByProvider = "blocked_by_provider",
    FatalException = "fatal_exception",
}

impl Status {
    #[must_use]
    pub const fn counts(self) -> bool {
        !matches!(self, Self::FatalException)
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Accepted => serializer.serialize_bool(true),
            Self::Refused => serializer.serialize_bool(false),
            other => serializer.serialize_str(other.as_str()),
        }
    }
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Status;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("true, false or one of the seven status strings")
            }

            fn visit_bool<E: de::Error>(self, accepted: bool) -> Result<Status, E> {
                Ok(if accepted { Status::Accepted } else { Status::Refused })
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Status, E> {
                Status::ALL
                    .into_iter()
                    // In JSON these two are booleans, so the strings "true" and "false" aren't
                    // statuses.
                    .filter(|status| !matches!(status, Status::Accepted | Status::Refused))
                    .find(|status| status.as_str() == name)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(name), &self))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn serialises_exactly_as_the_interface_says() {
        let wire = Status::ALL.map(|status| serde_json::to_string(&status).unwrap());
        assert_eq!(
            wire,
            [
                "true",
                "false",
                "\"invalid_format\"",
                "\"domain_not_found\"",
                "\"no_mx_records\"",
                "\"smtp_connect_error\"",
                "\"smtp_timeout\"",
                "\"blocked_by_provider\"",
                "\"fatal_exception\"",
            ]
        );
    }

    #[test]
    fn reads_back_what_it_wrote_and_nothing_else() {
        for status in Status::ALL {
            let wire = serde_json::to_string(&status).unwrap();
            assert_eq!(serde_json::from_str::<Status>(&wire).unwrap(), status);
        }
        for junk in ["\"true\"", "\"false\"", "\"unknown\"", "null", "1", "[]", "\"\""] {
            assert!(serde_json::from_str::<Status>(junk).is_err(), "{junk}");
        }
    }

    #[test]
    fn only_a_failure_of_ours_is_not_counted() {
        let uncounted: Vec<_> = Status::ALL.into_iter().filter(|status| !status.counts()).collect();
        assert_eq!(uncounted, [Status::FatalException]);
    }
}

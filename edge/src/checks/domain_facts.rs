//! The facts about a domain, as the API shows them.

use rcpt_shared::{DomainEvidence, DomainFacts, DomainKind, EvidenceSource};
use serde::{Deserialize, Serialize};
use utoipa::{
    ToSchema,
    openapi::{Object, Schema, Type},
};

/// The kind of a domain, with the evidence for it.
#[derive(Debug, Serialize, ToSchema)]
pub struct DomainDetails {
    /// The domain, in lower case and in ASCII.
    pub name: String,
    #[schema(schema_with = kind_schema)]
    pub kind: DomainKind,
    /// True if DNS names a server for the domain's mail. Null when this couldn't be determined.
    pub accepts_mail: Option<bool>,
    /// Operator of the forwarding service or the mail server, such as `duckduckgo` or `google`. Null when it isn't a
    /// known operator.
    pub operator: Option<String>,
    #[schema(schema_with = suspected_schema)]
    pub suspected: Option<DomainKind>,
    /// The evidence for `kind`, `accepts_mail` and `suspected`.
    pub evidence: Vec<Evidence>,
}

/// A piece of evidence.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Evidence {
    #[schema(schema_with = source_schema)]
    pub source: EvidenceSource,
    /// The list that has the domain or its mail servers.
    pub list: Option<String>,
    /// The day of that list.
    pub as_of: Option<String>,
}

pub(super) fn kind_schema() -> Schema {
    Object::builder()
        .schema_type(Type::String)
        .description(Some(
            "`provider`: anybody, or any customer of a network, can have a mailbox there. `relay`: forwards \
             to a real mailbox. `disposable`: throw-away mailboxes. `parked`: its mail servers are a parking \
             service's, which accept everything. `organization`: mail at its own servers or at an operator's \
             for businesses. `unknown`: none of this is known. New kinds may be added.",
        ))
        .enum_values(Some(DomainKind::ALL.map(DomainKind::as_str)))
        .examples(["organization"])
        .build()
        .into()
}

pub(super) fn suspected_schema() -> Schema {
    Object::builder()
        .schema_type(utoipa::openapi::schema::SchemaType::from_iter([Type::String, Type::Null]))
        .description(Some(
            "`disposable` when the domain's mail server is a throw-away service's. Null otherwise: it's a \
             suspicion, and never the `kind`.",
        ))
        .build()
        .into()
}

fn source_schema() -> Schema {
    Object::builder()
        .schema_type(Type::String)
        .description(Some(
            "`list`: one of our lists. `mx`: the domain's mail servers. `dns`: DNS says that the domain \
             doesn't exist or accepts no mail. `sandbox`: it's a domain of the sandbox. New sources may be \
             added.",
        ))
        .enum_values(Some(EvidenceSource::ALL.map(EvidenceSource::as_str)))
        .examples(["sandbox"])
        .build()
        .into()
}

impl DomainDetails {
    pub fn new(name: &str, facts: DomainFacts) -> Self {
        let DomainFacts { kind, accepts_mail, operator, suspected, evidence } = facts;
        let evidence = evidence.into_iter().map(Evidence::from).collect();
        Self { name: name.to_owned(), kind, accepts_mail, operator, suspected, evidence }
    }
}

impl From<DomainEvidence> for Evidence {
    fn from(evidence: DomainEvidence) -> Self {
        let DomainEvidence { source, list, as_of } = evidence;
        Self { source, list, as_of }
    }
}

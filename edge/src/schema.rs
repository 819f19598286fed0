//! Schemas of the API description that several rooms share.

use rcpt_shared::Status;
use utoipa::openapi::{Object, OneOf, Schema, Type};

/// Schema of `true`, `false` or one of the seven strings.
pub fn status_schema() -> Schema {
    let strings =
        Status::ALL.into_iter().map(Status::as_str).filter(|s| !matches!(*s, "true" | "false"));
    let boolean = Object::builder().schema_type(Type::Boolean).build();
    let string = Object::builder().schema_type(Type::String).enum_values(Some(strings)).build();
    OneOf::builder()
        .item(boolean)
        .item(string)
        .description(Some(
            "`true`: the mail server accepts the address. `false`: it refuses it. `invalid_format`, \
             `domain_not_found` and `no_mx_records`: the address can't receive mail either. The \
             other strings: it isn't known, and the mailbox may well exist. Compare with `true` and \
             `false` themselves: a non-empty string counts as true in many languages.",
        ))
        .build()
        .into()
}

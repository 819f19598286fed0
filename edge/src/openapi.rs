//! The OpenAPI 3.1 document, generated from the route table and the types that the handlers use.
//!
//! Native only: `make openapi` writes `edge/openapi.json`, a test compares it, the Worker serves it.

use rcpt_shared::Status;
use utoipa::openapi::{
    Components, Info, License, Object, OneOf, OpenApi, OpenApiBuilder, Paths, Schema, Tag, Type,
    security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
};

use crate::routes::table;

mod description;
mod operations;

const API_KEY: &str = "ApiKey";
const SESSION: &str = "Session";

/// The whole document.
///
/// # Panics
/// When an operation of the route table is not described, or the other way round.
#[must_use]
pub fn document() -> OpenApi {
    let mut components = Components::new();
    components.add_security_scheme(
        API_KEY,
        SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("X-API-Key"))),
    );
    components.add_security_scheme(
        SESSION,
        SecurityScheme::Http(
            HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build(),
        ),
    );
    let mut paths = Paths::new();
    let mut described = operations::describe();
    for route in table() {
        let position = described
            .iter()
            .position(|d| (d.method, d.path) == (route.method.as_str(), route.path));
        let description = position.map(|position| described.swap_remove(position));
        #[expect(clippy::expect_used, reason = "runs in tests only")]
        let description = description.expect("every route is described");
        let method = description.http_method();
        let operation = description.into_operation(route.access, &mut components);
        paths.add_path_operation(route.path, vec![method], operation);
    }
    assert!(described.is_empty(), "every description has a route");
    let mut info = Info::new("rcpt", "1.0");
    info.description = Some(
        "Tells whether an email address can receive mail, and runs the accounts, keys and allowances \
         around that question."
            .to_owned(),
    );
    info.license = Some(License::new("MIT OR Apache-2.0"));
    OpenApiBuilder::new()
        .info(info)
        .paths(paths)
        .components(Some(components))
        .tags(Some([
            Tag::new("Validation"),
            Tag::new("Account"),
            Tag::new("Two-factor"),
            Tag::new("Quota"),
            Tag::new("Health"),
        ]))
        .build()
}

/// The schema of [`Status`]: `true`, `false` or one of the seven strings (interface §2.1).
#[must_use]
pub fn status() -> Schema {
    let strings =
        Status::ALL.into_iter().map(Status::as_str).filter(|s| !matches!(*s, "true" | "false"));
    let boolean = Object::builder().schema_type(Type::Boolean).build();
    let string = Object::builder().schema_type(Type::String).enum_values(Some(strings)).build();
    OneOf::builder().item(boolean).item(string).build().into()
}

#[cfg(test)]
mod tests {
    use super::document;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");

    /// `make openapi` sets the variable and so writes the file instead.
    #[test]
    fn the_served_document_is_the_one_that_the_types_generate() {
        let generated = document().to_pretty_json().unwrap() + "\n";
        if std::env::var_os("WRITE_OPENAPI").is_some() {
            std::fs::write(FILE, &generated).unwrap();
        }
        let served = std::fs::read_to_string(FILE).unwrap();
        assert!(served == generated, "edge/openapi.json is not up to date: run `make openapi`");
    }

    #[test]
    fn the_document_is_openapi_3_1_and_describes_every_route() {
        let document = serde_json::to_value(document()).unwrap();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
        for route in crate::routes::table() {
            let method = route.method.as_str().to_lowercase();
            assert!(document["paths"][route.path][&method].is_object(), "{method} {}", route.path);
        }
    }
}

//! The two OpenAPI 3.1 documents, assembled from the handlers' descriptions only in tests: `make openapi` writes them,
//! a test compares them, and the Worker serves them.

mod completion;
mod customers;
mod examples;
mod webhooks;

use serde_json::Value;
use utoipa::{
    __dev::{SchemaReferences, Tags},
    PartialSchema, Path, ToSchema,
    openapi::{
        Components, Content, Header, HttpMethod, Info, License, Object, OpenApi, OpenApiBuilder,
        Paths, Ref, RefOr, Required, Response, ResponseBuilder, Schema, Server, Tag, Type,
        path::Operation,
        security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use super::descriptions;
use crate::{
    error::{LimitError, PlainError},
    extract::{caller, json_body::limit_of},
};

const HEALTH: &str = "Health";

const TAGS: [(&str, &str); 9] = [
    ("Validation", "Check whether an address can receive mail."),
    (
        "Guard",
        "Keep addresses out of your sign-up forms that you don't want, without turning anybody away by mistake.",
    ),
    ("Scans", "Send a list of addresses, and come back to the verdicts."),
    ("Quota", "Your plan, and what is left of it."),
    ("Account", "Sign up, sign in, and manage the account. The portal uses these."),
    ("Two-factor", "Two-factor authentication for signing in."),
    ("Passkeys", "Sign in with a device or a security key in place of the password."),
    ("Service", "Whom to ask, and what each plan allows."),
    (HEALTH, "Whether the service works, and its description."),
];

/// The operation whose handler reads the body itself: a body that is too long gets 200, and a wrong signature gets
/// 401.
const READS_ITS_BODY: &str = "supabaseHook";

/// An operation as described by its handler's attributes.
pub struct Description {
    path: String,
    methods: Vec<HttpMethod>,
    operation: Operation,
    schemas: Vec<(String, RefOr<Schema>)>,
}

impl Description {
    pub fn of<P: Path + SchemaReferences + Tags<'static>>() -> Self {
        let mut schemas = Vec::new();
        P::schemas(&mut schemas);
        let mut operation = P::operation();
        operation.tags = Some(P::tags().into_iter().map(str::to_owned).collect());
        // Line breaks in a doc comment belong to the source, not to the text. An operation without
        // credentials gets an explicitly empty `security` list.
        operation.security.get_or_insert_default();
        let text =
            |text: String| text.replace("\n\n", "\r").replace('\n', " ").replace('\r', "\n\n");
        operation.description = operation.description.map(text);
        Self { path: P::path(), methods: P::methods(), operation, schemas }
    }

    /// A missing body counts as an object without members, unless one of its members is required.
    fn needs_a_body(&self) -> bool {
        let body = self.operation.request_body.as_ref();
        let body = serde_json::to_value(body).unwrap();
        let name = body["content"]["application/json"]["schema"]["$ref"].as_str().unwrap_or("");
        self.schemas.iter().any(|(schema, shape)| {
            let shape = serde_json::to_value(shape).unwrap();
            name.ends_with(&format!("/{schema}")) && shape["required"].is_array()
        })
    }

    fn complete(mut self) -> Self {
        let mut common = Vec::new();
        let is_needed = self.needs_a_body();
        if let Some(RefOr::T(body)) = &mut self.operation.request_body {
            body.required = Some(if is_needed { Required::True } else { Required::False });
            if self.operation.operation_id.as_deref() != Some(READS_ITS_BODY) {
                common.push(("400", "The body is malformed".to_owned()));
                let most = limit_of(&self.path) / 1024;
                common.push(("413", format!("The body is larger than {most} KiB")));
            }
        }
        match serde_json::to_string(&self.operation.security).unwrap() {
            security if security.contains("ApiKey") => {
                common.push(("401", "No valid key or session".to_owned()));
                let refused =
                    "The key doesn't have the right, or is a test key outside the sandbox";
                common.push(("403", refused.to_owned()));
            }
            security if security.contains("Session") => {
                common.push(("401", "The session token is missing or no longer valid".to_owned()));
            }
            _ => {}
        }
        let is_health = self.operation.tags.iter().flatten().any(|tag| tag == HEALTH);
        if !is_health {
            common.push(("429", "Too many requests".to_owned()));
            common.push(("503", "Temporarily unavailable. Nothing has changed".to_owned()));
        }
        let responses = &mut self.operation.responses.responses;
        for (status, description) in common {
            let usual = || RefOr::T(plain_error(&description));
            responses.entry(status.to_owned()).or_insert_with(usual);
        }
        // An operation that describes `LimitError` uses an allowance, so its responses report what is left.
        let uses_allowance = responses.get("429").is_some_and(|response| {
            let response = serde_json::to_string(response).unwrap();
            response.contains(&format!("/{}\"", LimitError::name()))
        });
        let id = self.operation.operation_id.as_deref();
        // The guard answers 200 where a check would get the error of a used-up allowance.
        let tells_left = uses_allowance || id == Some("showQuota") || id == Some("decideSignUp");
        for (status, response) in responses {
            let RefOr::T(response) = response else { continue };
            if tells_left && ["200", "201", "429"].contains(&status.as_str()) {
                for (name, description) in RATE_LIMIT {
                    response.headers.insert(name.to_owned(), RefOr::T(text_header(description)));
                }
            }
            if !is_health && ["429", "502", "503"].contains(&status.as_str()) {
                response.headers.insert("Retry-After".to_owned(), RefOr::T(retry_after()));
            }
        }
        self
    }
}

fn plain_error(description: &str) -> Response {
    let content = Content::new(Some(Ref::from_schema_name(PlainError::name())));
    ResponseBuilder::new().description(description).content("application/json", content).build()
}

/// Both headers are absent if nothing is limited, or the remainder isn't known.
const RATE_LIMIT: [(&str, &str); 2] = [
    (
        "RateLimit",
        "What is left (IETF draft ratelimit-headers), such as `\"daily\";r=50;t=3600`: 50 for the next 3,600 \
         seconds. Absent on an unlimited plan, and where it isn't known or nothing was counted",
    ),
    ("RateLimit-Policy", "The allowances it is left of, such as `\"daily\";q=100;w=86400`"),
];

fn text_header(description: &str) -> Header {
    let mut header = Header::new(Object::builder().schema_type(Type::String).build());
    header.description = Some(description.to_owned());
    header
}

fn retry_after() -> Header {
    let mut seconds = Header::new(Object::builder().schema_type(Type::Integer).build());
    seconds.description = Some("Seconds after which to try again".to_owned());
    seconds
}

fn document() -> Value {
    let mut document = serde_json::to_value(described()).unwrap();
    document["components"]["schemas"]["WebhookEvent"] = webhooks::schema();
    // Nothing refers to this schema: the webhook's schema also allows the empty data of a test.
    document["components"]["schemas"].as_object_mut().unwrap().remove("EndedScanData");
    completion::complete(&mut document);
    examples::add(&mut document);
    document
}

fn described() -> OpenApi {
    let mut components = Components::new();
    components.add_security_scheme(
        "ApiKey",
        SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("X-API-Key"))),
    );
    components.add_security_scheme(
        "Session",
        SecurityScheme::Http(
            HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build(),
        ),
    );
    components.schemas.insert(PlainError::name().into_owned(), PlainError::schema());
    let mut paths = Paths::new();
    for description in descriptions() {
        let Description { path, methods, operation, schemas } = description.complete();
        components.schemas.extend(schemas);
        paths.add_path_operation(path, methods, operation);
    }
    let mut info = Info::new("rcpt", "1.0");
    info.description = Some(
        "Tells whether an email address can receive mail. Send your API key in `X-API-Key`. Every \
         response has an `X-Request-Id`: quote it when you report a problem."
            .to_owned(),
    );
    let mut license = License::new("MIT OR Apache-2.0");
    license.identifier = Some("MIT OR Apache-2.0".to_owned());
    info.license = Some(license);
    // The portal's build replaces this by the service's URL.
    let mut server = Server::new("/");
    server.description = Some("The host that serves this document".to_owned());
    OpenApiBuilder::new()
        .info(info)
        .paths(paths)
        .components(Some(components))
        .servers(Some([server]))
        .tags(Some(TAGS.map(|(name, description)| {
            let mut tag = Tag::new(name);
            tag.description = Some(description.to_owned());
            tag
        })))
        .build()
}

const CUSTOMERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
const WHOLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi-account.json");

/// With the variable that `make openapi` sets, the test writes the files.
#[test]
fn the_served_documents_are_those_that_the_handlers_describe() {
    let whole = document();
    for (file, document) in [(CUSTOMERS, customers::part_of(&whole)), (WHOLE, whole)] {
        let generated = serde_json::to_string_pretty(&document).unwrap() + "\n";
        if std::env::var_os("WRITE_OPENAPI").is_some() {
            std::fs::write(file, &generated).unwrap();
        }
        let served = std::fs::read_to_string(file).unwrap();
        assert!(served == generated, "{file} is not up to date: run `make openapi`");
    }
}

#[test]
fn every_operation_is_described_under_a_path_and_a_name_of_its_own() {
    let all = descriptions();
    let mut names = std::collections::BTreeSet::new();
    for Description { path, methods, operation, .. } in &all {
        assert!(path.starts_with("/v1/") && methods.len() == 1, "{path}");
        assert!(operation.summary.is_some() && operation.tags.is_some(), "{path}");
        assert!(names.insert(operation.operation_id.clone().unwrap()), "{path}");
    }
    let document = document();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = document["paths"].as_object().unwrap();
    let described: usize = paths.values().map(|path| path.as_object().unwrap().len()).sum();
    assert_eq!(described, all.len());
}

#[test]
fn every_operation_describes_what_its_credentials_and_its_body_can_be_refused_for() {
    let document = document();
    let mut of_keys = Vec::new();
    for Description { path, methods, operation, .. } in descriptions() {
        let id = operation.operation_id.unwrap();
        let method = match methods[0] {
            HttpMethod::Get => "GET",
            HttpMethod::Put => "PUT",
            HttpMethod::Delete => "DELETE",
            _ => "POST",
        };
        let described = &document["paths"][&path][method.to_lowercase()];
        let responses = described["responses"].as_object().unwrap();
        let has = |statuses: &[&str]| {
            for status in statuses {
                assert!(responses.contains_key(*status), "{id}: {status}");
            }
        };
        if operation.request_body.is_some() && id != READS_ITS_BODY {
            has(&["400", "413"]);
            let text = responses["413"]["description"].as_str().unwrap();
            let most = limit_of(&path) / 1024;
            assert!(text.contains(&format!("larger than {most} KiB")), "{id}: {text}");
        }
        let security = described["security"].to_string();
        if security.contains("ApiKey") {
            has(&["401", "403", "429", "503"]);
            of_keys.push(format!("{method} {path}"));
        } else if security.contains("Session") {
            has(&["401", "429", "503"]);
        }
        let parameters = described["parameters"].as_array().into_iter().flatten();
        let is_repeatable =
            parameters.into_iter().any(|parameter| parameter["name"] == "Idempotency-Key");
        if is_repeatable && let Some(conflict) = responses.get("409") {
            assert!(conflict["headers"]["Retry-After"].is_object(), "{id}: {conflict}");
        }
        if responses.get("429").is_some_and(|error| error.to_string().contains("LimitError")) {
            for status in ["200", "201", "429"].into_iter().filter_map(|code| responses.get(code)) {
                assert!(status["headers"]["RateLimit"].is_object(), "{id}: {status}");
            }
        }
    }
    let rights = caller::operations();
    let mut of_rights: Vec<_> = rights.map(|(method, path)| format!("{method} {path}")).collect();
    of_keys.sort();
    of_rights.sort();
    assert_eq!(of_keys, of_rights, "operations that take keys, and those with a right");
}

#[test]
fn no_public_text_sends_the_reader_to_our_own_papers() {
    let text = std::fs::read_to_string(WHOLE).unwrap();
    for word in ["§", "interface", "architecture", "trust", "docs/"] {
        assert!(!text.contains(word), "{word}");
    }
}

//! The OpenAPI 3.1 document, generated from the route table and the types that the handlers use.
//!
//! Native only: `make openapi` writes `edge/openapi.json`, a test compares it, the Worker serves it.

use rcpt_shared::Status;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Components, Content, Header, Info, License, Object, OneOf, OpenApi, OpenApiBuilder, Paths,
        Ref, RefOr, Required, Response, ResponseBuilder, Schema, Tag, Type,
        path::{HttpMethod, Operation, OperationBuilder},
        request_body::RequestBodyBuilder,
        security::{
            ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
        },
    },
};

use crate::{
    error::{LimitError, PlainError, ValidationError},
    quota::QuotaReport,
    routes::{
        Access, auth, health, profile, table,
        validate_email::{CheckRequest, ValidationResult},
    },
    store::accounts::Profile,
};

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
    let mut described = describe();
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

/// One operation, told with the types of its handler.
struct Description {
    method: &'static str,
    path: &'static str,
    operation: OperationBuilder,
    schemas: Vec<(String, RefOr<Schema>)>,
    has_body: bool,
}

fn describe() -> Vec<Description> {
    let check = "Looks up the MX records of the domain and asks the mail server. Takes up to about 10 \
                 seconds when the recipient's server is slow.";
    vec![
        Description::new(
            "POST",
            "/v1/validate_email",
            "Validation",
            "validateEmail",
            "Check an address",
        )
        .details(check)
        .body::<CheckRequest>()
        .answer::<ValidationResult>(
            200,
            "The verdict, including when the address cannot receive mail",
        )
        .answer::<ValidationError>(
            400,
            "`email` is missing, empty or cannot be reduced, or the body is not JSON",
        )
        .answer::<ValidationError>(401, "The key is missing, wrong, replaced or deactivated")
        .retry::<LimitError>(429, "Daily allowance and welcome checks are used up")
        .retry::<PlainError>(502, "The validation component did not respond; not counted"),
        Description::new("POST", "/v1/auth/register", "Account", "register", "Register")
            .details(
                "Mails a confirmation link, valid for 24 hours and once. Registering again before \
                      confirmation replaces the password and the link.",
            )
            .body::<auth::Credentials>()
            .answer::<auth::RegistrationResult>(
                201,
                "A link was mailed; the same answer where the address has an account",
            )
            .answer::<PlainError>(400, "Not an email address, or a password that breaks a rule"),
        Description::new(
            "POST",
            "/v1/auth/verify-email",
            "Account",
            "verifyEmail",
            "Confirm an address",
        )
        .body::<auth::Confirmation>()
        .answer::<auth::SessionCredentials>(200, "Confirmed and signed in")
        .answer::<PlainError>(400, "Unknown, used, replaced or expired token"),
        Description::new("POST", "/v1/auth/login", "Account", "login", "Sign in")
            .body::<auth::Login>()
            .answer::<auth::SessionCredentials>(200, "Signed in")
            .answer::<PlainError>(400, "The body does not fit")
            .answer::<PlainError>(401, "Wrong address or password")
            .answer::<PlainError>(
                403,
                "The address is not confirmed, or the account is deactivated",
            ),
        Description::new(
            "POST",
            "/v1/auth/rotate-api-key",
            "Account",
            "rotateApiKey",
            "Replace the API key",
        )
        .details("The old key stops working at once.")
        .body::<profile::Rotation>()
        .answer::<profile::NewApiKey>(200, "The new key")
        .answer::<PlainError>(400, "The body does not fit")
        .answer::<PlainError>(401, "No valid session"),
        Description::new(
            "PUT",
            "/v1/auth/settings",
            "Account",
            "updateSettings",
            "Set the display name",
        )
        .body::<profile::Settings>()
        .answer::<Profile>(200, "The profile")
        .answer::<PlainError>(400, "Not 1 to 100 characters without control characters")
        .answer::<PlainError>(401, "No valid session"),
        Description::new("GET", "/v1/me/quota", "Quota", "quota", "Plan and allowances")
            .answer::<QuotaReport>(200, "The report")
            .answer::<PlainError>(401, "No valid key or session"),
        Description::new("GET", "/v1/health", "Health", "health", "Liveness")
            .answer::<health::Health>(200, "The service runs"),
        Description::new("GET", "/v1/health/ready", "Health", "ready", "Readiness")
            .answer::<health::Readiness>(200, "Everything is up")
            .answer::<health::Readiness>(503, "Something is down"),
        Description::new("GET", "/v1/openapi.json", "Health", "openapi", "This document")
            .answer::<Document>(200, "An OpenAPI 3.1 document"),
    ]
}

/// The OpenAPI document itself, as far as this document describes it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its shape is of interest")]
struct Document {
    openapi: String,
}

impl Description {
    fn new(method: &'static str, path: &'static str, tag: &str, id: &str, summary: &str) -> Self {
        let operation =
            OperationBuilder::new().tag(tag).operation_id(Some(id)).summary(Some(summary));
        Self { method, path, operation, schemas: Vec::new(), has_body: false }
    }

    fn details(mut self, text: &str) -> Self {
        self.operation = self.operation.description(Some(text));
        self
    }

    fn body<T: ToSchema + PartialSchema>(mut self) -> Self {
        let content = self.content::<T>();
        let body = RequestBodyBuilder::new()
            .content("application/json", content)
            .required(Some(Required::True))
            .build();
        self.operation = self.operation.request_body(Some(body));
        self.has_body = true;
        self
    }

    fn answer<T: ToSchema + PartialSchema>(self, status: u16, description: &str) -> Self {
        self.response::<T>(status, ResponseBuilder::new().description(description))
    }

    /// An answer that says when to try again.
    fn retry<T: ToSchema + PartialSchema>(self, status: u16, description: &str) -> Self {
        let mut seconds = Header::new(Object::builder().schema_type(Type::Integer).build());
        seconds.description = Some("Seconds after which to try again".to_owned());
        let response =
            ResponseBuilder::new().description(description).header("Retry-After", seconds);
        self.response::<T>(status, response)
    }

    fn response<T: ToSchema + PartialSchema>(
        mut self,
        status: u16,
        response: ResponseBuilder,
    ) -> Self {
        let response: Response = response.content("application/json", self.content::<T>()).build();
        self.operation = self.operation.response(status.to_string(), response);
        self
    }

    fn content<T: ToSchema + PartialSchema>(&mut self) -> Content {
        self.schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(&mut self.schemas);
        Content::new(Some(Ref::from_schema_name(T::name())))
    }

    fn http_method(&self) -> HttpMethod {
        match self.method {
            "GET" => HttpMethod::Get,
            "PUT" => HttpMethod::Put,
            "DELETE" => HttpMethod::Delete,
            _ => HttpMethod::Post,
        }
    }

    /// Adds what follows from the route: credentials, and the answers any such route can give.
    fn into_operation(self, access: Access, components: &mut Components) -> Operation {
        let uses_storage = self.path != "/v1/health" && self.path != "/v1/openapi.json";
        let mut described = self;
        if described.has_body {
            described = described.answer::<PlainError>(413, "The body is larger than 16 KiB");
        }
        if uses_storage && described.path != "/v1/health/ready" {
            described =
                described.retry::<PlainError>(503, "Temporarily unavailable; nothing was changed");
        }
        components.schemas.extend(described.schemas);
        let schemes: &[&str] = match access {
            Access::Anyone => &[],
            Access::Session => &[SESSION],
            Access::KeyOrSession => &[API_KEY, SESSION],
        };
        let scopes: [&str; 0] = [];
        schemes
            .iter()
            .fold(described.operation, |operation, scheme| {
                operation.security(SecurityRequirement::new(*scheme, scopes))
            })
            .build()
    }
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

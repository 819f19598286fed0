//! One operation of the API, told with the types of its handler.

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Components, Content, Header, Object, Ref, RefOr, Required, Response, ResponseBuilder,
        Schema, Type,
        path::{HttpMethod, Operation, OperationBuilder},
        request_body::RequestBodyBuilder,
        security::SecurityRequirement,
    },
};

use super::{API_KEY, SESSION};
use crate::{error::PlainError, routes::Access};

/// One operation, told with the types of its handler.
pub struct Description {
    pub method: &'static str,
    pub path: &'static str,
    operation: OperationBuilder,
    schemas: Vec<(String, RefOr<Schema>)>,
    has_body: bool,
}

impl Description {
    pub fn new(
        method: &'static str,
        path: &'static str,
        tag: &str,
        id: &str,
        summary: &str,
    ) -> Self {
        let operation =
            OperationBuilder::new().tag(tag).operation_id(Some(id)).summary(Some(summary));
        Self { method, path, operation, schemas: Vec::new(), has_body: false }
    }

    pub fn details(mut self, text: &str) -> Self {
        self.operation = self.operation.description(Some(text));
        self
    }

    pub fn body<T: ToSchema + PartialSchema>(self) -> Self {
        self.with_body::<T>(Required::True)
    }

    /// As [`Self::body`], where no member is needed and so no body either.
    pub fn optional_body<T: ToSchema + PartialSchema>(self) -> Self {
        self.with_body::<T>(Required::False)
    }

    fn with_body<T: ToSchema + PartialSchema>(mut self, required: Required) -> Self {
        let content = self.content::<T>();
        let body = RequestBodyBuilder::new()
            .content("application/json", content)
            .required(Some(required))
            .build();
        self.operation = self.operation.request_body(Some(body));
        self.has_body = true;
        self
    }

    pub fn answer<T: ToSchema + PartialSchema>(self, status: u16, description: &str) -> Self {
        self.response::<T>(status, ResponseBuilder::new().description(description))
    }

    /// An answer that says when to try again.
    pub fn retry<T: ToSchema + PartialSchema>(self, status: u16, description: &str) -> Self {
        let mut seconds = Header::new(Object::builder().schema_type(Type::Integer).build());
        seconds.description = Some("Seconds after which to try again".to_owned());
        let response =
            ResponseBuilder::new().description(description).header("Retry-After", seconds);
        self.response::<T>(status, response)
    }

    pub fn empty(mut self, description: &str) -> Self {
        let response = ResponseBuilder::new().description(description).build();
        self.operation = self.operation.response("204", response);
        self
    }

    pub fn throttled(self) -> Self {
        self.retry::<PlainError>(429, "Too many attempts")
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

    pub fn http_method(&self) -> HttpMethod {
        match self.method {
            "GET" => HttpMethod::Get,
            "PUT" => HttpMethod::Put,
            "DELETE" => HttpMethod::Delete,
            _ => HttpMethod::Post,
        }
    }

    /// Adds what follows from the route: credentials, and the answers any such route can give.
    pub fn into_operation(self, access: Access, components: &mut Components) -> Operation {
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

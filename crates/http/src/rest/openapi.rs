//! The description of the interface, completed with what all operations share.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::{Method, header};
use axum::response::IntoResponse;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, Paths};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, Required, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

use super::conditions;
use super::wire::Problem;

/// The document before any operation is in it.
pub fn frame() -> OpenApi {
    let basic = SecurityScheme::Http(Http::new(HttpAuthScheme::Basic));
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let components = ComponentsBuilder::new()
        .schema(Problem::name(), Problem::schema())
        .security_scheme("basic", basic)
        .security_scheme("bearer", bearer)
        .build();
    let info = InfoBuilder::new()
        .title("Strongroom")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(ABOUT))
        .license(Some(utoipa::openapi::License::new("Apache-2.0")))
        .build();
    let either = ["basic", "bearer"].map(|scheme| SecurityRequirement::new(scheme, Vec::<String>::new()));
    OpenApiBuilder::new().info(info).components(Some(components)).security(Some(either)).build()
}

const ABOUT: &str = "Documents of a Strongroom farm. Every error is `application/problem+json` with a stable `code`; \
its `detail` is in the language of `Accept-Language` where the farm speaks it. Lists are `{items, next}`; `next` is the \
`cursor` of the page that follows. Identifiers are strings, times are RFC 3339, \
sizes are bytes. Unknown fields are refused. Whoever holds a lock shows its token in the field `Lock-Token` of each change; several are \
separated by commas.";

/// The finished document.
pub fn document() -> OpenApi {
    let mut document = super::described().into_openapi();
    let paths = std::mem::replace(&mut document.paths, Paths::new());
    for (path, mut item) in paths.paths {
        for (method, operation) in operations(&mut item) {
            complete(operation);
            describe_bytes(operation);
            if conditions::heeds(&method, &path) {
                let fields = [
                    ("If-Match", "Only when the document is still one of these: tags in quotes, or `*` for any"),
                    ("If-None-Match", "Only when it is none of these; `*`: only when there is no such document yet"),
                    ("If-Unmodified-Since", "Only when the document was not changed after this time"),
                ];
                operation.parameters.get_or_insert_default().extend(fields.map(|(name, about)| field(name, about)));
            }
        }
        // The router writes a path of any depth with a star, which OpenAPI does not know.
        document.paths.paths.insert(path.replace("{*", "{"), item);
    }
    document
}

/// Operations of one path.
fn operations(item: &mut utoipa::openapi::PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    [
        (Method::GET, &mut item.get),
        (Method::HEAD, &mut item.head),
        (Method::PUT, &mut item.put),
        (Method::POST, &mut item.post),
        (Method::PATCH, &mut item.patch),
        (Method::DELETE, &mut item.delete),
        (Method::OPTIONS, &mut item.options),
    ]
    .into_iter()
    .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn field(name: &str, about: &str) -> RefOr<Parameter> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Header).required(Required::False);
    RefOr::T(parameter.description(Some(about)).schema(Some(text)).build())
}

/// A body of bytes is no list of numbers, which is what the type in its description says.
fn describe_bytes(operation: &mut Operation) {
    let Some(RefOr::T(body)) = &mut operation.request_body else { return };
    for (kind, content) in &mut body.content {
        if let (true, RefOr::T(content)) = (kind.ends_with("octet-stream"), content) {
            let format = SchemaFormat::KnownFormat(KnownFormat::Binary);
            content.schema = Some(ObjectBuilder::new().schema_type(Type::String).format(Some(format)).into());
        }
    }
    if operation.operation_id.as_deref() == Some("create_upload") {
        body.required = Some(Required::False);
    }
}

fn complete(operation: &mut Operation) {
    let schema = Ref::from_schema_name(Problem::name());
    let problem = ResponseBuilder::new()
        .description("Refused or failed")
        .content("application/problem+json", ContentBuilder::new().schema(Some(schema)).build())
        .build();
    operation.responses.responses.insert("default".to_owned(), RefOr::T(problem));
}

/// Answers with the document; everybody may read it. It is written once.
pub async fn serve() -> impl IntoResponse {
    static TEXT: LazyLock<Bytes> = LazyLock::new(|| document().to_json().unwrap_or_default().into());
    ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "public, max-age=300")], TEXT.clone())
}

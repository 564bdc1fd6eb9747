//! The description of the interface, completed with what all operations share.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::header;
use axum::response::IntoResponse;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::{Operation, Paths};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

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

const ABOUT: &str = "Documents of a Strongroom farm. Every error is `application/problem+json` with a stable `code`. \
Lists are `{items, next}`; `next` is the `cursor` of the page that follows. Identifiers are strings, times are RFC 3339, \
sizes are bytes. Unknown fields are refused.";

/// The finished document.
pub fn document() -> OpenApi {
    let mut document = super::described().into_openapi();
    let paths = std::mem::replace(&mut document.paths, Paths::new());
    for (path, mut item) in paths.paths {
        for operation in operations(&mut item) {
            complete(operation);
        }
        // The router writes a path of any depth with a star, which OpenAPI does not know.
        document.paths.paths.insert(path.replace("{*", "{"), item);
    }
    document
}

/// Operations of one path.
fn operations(item: &mut utoipa::openapi::PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.head, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete, &mut item.options]
        .into_iter()
        .filter_map(Option::as_mut)
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

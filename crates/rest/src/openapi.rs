//! The OpenAPI document, completed with what all operations share.

use axum::http::Method;
use serde_json::Value;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, Paths};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, Required, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

use super::preconditions;
use super::wire::{Problem, rules};

/// The document without any operations.
pub fn frame() -> OpenApi {
    let basic = SecurityScheme::Http(Http::new(HttpAuthScheme::Basic));
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let mut components = ComponentsBuilder::new()
        .schema(Problem::name(), Problem::schema())
        .response("Refused", refusal("The request was refused or failed"))
        .security_scheme("basic", basic)
        .security_scheme("bearer", bearer);
    for (status, about) in REFUSALS {
        components = components.response(format!("Refused{status}"), refusal(about));
    }
    for (name, rule) in rules::all() {
        components = components.schema(name, rule);
    }
    let components = components.build();
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
its `detail` is in the language of `Accept-Language` if the farm supports it, otherwise in English. Lists are \
`{items, next}`; `next` is the `cursor` of the next page. Identifiers are strings, times are RFC 3339, sizes are in \
bytes. Unknown fields are refused. The holder of a lock sends its token in the header field `Lock-Token` with each \
change; several tokens are separated by commas.";

/// Completes the document that has all operations in it.
pub fn complete(mut document: OpenApi) -> Value {
    let paths = std::mem::replace(&mut document.paths, Paths::new());
    for (path, mut item) in paths.paths {
        // The router writes a parameter of any depth with a star, which OpenAPI does not know.
        let plain = path.replace("{*", "{");
        for (method, operation) in operations(&mut item) {
            describe_words(&plain, operation);
            describe_bytes(operation);
            let heeds = preconditions::evaluates_preconditions(&method, &path);
            if heeds {
                let fields = [
                    ("If-Match", "Proceed only if the document has one of these entity tags, in quotes; `*`: any"),
                    ("If-None-Match", "Proceed only if it has none of these; `*`: only if there is no document yet"),
                    ("If-Unmodified-Since", "Proceed only if the document was not changed after this time"),
                ];
                operation.parameters.get_or_insert_default().extend(fields.map(|(name, about)| field(name, about)));
            }
            describe_refusals(&method, &plain, heeds, operation);
        }
        document.paths.paths.insert(plain, item);
    }
    let mut document = serde_json::to_value(document).unwrap_or_default();
    bound_integers(&mut document);
    let items = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    let operations = items.filter_map(Value::as_object_mut).flat_map(|item| item.values_mut());
    let parameters = operations.filter_map(|operation| operation.get_mut("parameters")?.as_array_mut());
    parameters.flatten().filter_map(|parameter| parameter.get_mut("schema")).for_each(refuse_null);
    document
}

/// Removes null from the schema of a parameter. An absent parameter is left out, since text has no null.
fn refuse_null(schema: &mut Value) {
    if let Some(either) = schema.get_mut("oneOf").and_then(Value::as_array_mut) {
        either.retain(|one| one["type"] != "null");
        if let [one] = either.as_mut_slice() {
            *schema = one.take();
        }
    } else if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_mut_slice() {
            schema["type"] = kind.take();
        }
    }
}

/// Operations of one path.
pub fn operations(item: &mut utoipa::openapi::PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
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
    let schema = match name {
        "If-Unmodified-Since" => ObjectBuilder::new().schema_type(Type::String).into(),
        _ => rules::EntityTags::schema(),
    };
    let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Header).required(Required::False);
    RefOr::T(parameter.description(Some(about)).schema(Some(schema)).build())
}

/// Gives each path parameter the schema for its name.
fn describe_words(path: &str, operation: &mut Operation) {
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter
            && parameter.parameter_in == ParameterIn::Path
            && let Some(rule) = rules::of_path(path, &parameter.name)
        {
            parameter.schema = Some(rule);
        }
    }
}

/// Describes bodies of bytes as binary. The type in the handler's description would make them a list of numbers. They
/// are sent and received under the media type of the document.
fn describe_bytes(operation: &mut Operation) {
    let bytes = || {
        let format = SchemaFormat::KnownFormat(KnownFormat::Binary);
        ObjectBuilder::new().schema_type(Type::String).format(Some(format))
    };
    for response in operation.responses.responses.values_mut() {
        let RefOr::T(response) = response else { continue };
        for (kind, content) in &mut response.content {
            if let ("*/*" | "application/zip", RefOr::T(content)) = (kind.as_str(), content) {
                content.schema = Some(bytes().into());
            }
        }
    }
    let Some(RefOr::T(body)) = &mut operation.request_body else { return };
    for (kind, content) in &mut body.content {
        if let (true, RefOr::T(content)) = (kind.ends_with("octet-stream"), content) {
            content.schema = Some(bytes().into());
        }
    }
    if operation.operation_id.as_deref() == Some("create_upload") {
        body.required = Some(Required::False);
    }
}

/// Adds every error response that an operation can give, derived from its method, its path, its preconditions and its
/// body.
fn describe_refusals(method: &Method, path: &str, heeds: bool, operation: &mut Operation) {
    let reads = method.is_safe();
    let delivers = operation.responses.responses.contains_key("206");
    let of_tus = path.contains("/uploads") && *method != Method::OPTIONS;
    let mut statuses = vec![400, 401, 403, 429, 431, 500, 503];
    if path.contains('{') || operation.parameters.as_ref().is_some_and(|all| !all.is_empty()) || !reads {
        statuses.extend([404, 409]);
    }
    if !reads || of_tus {
        statuses.extend([423, 507]);
    }
    if operation.request_body.is_some() {
        statuses.extend([408, 413, 415]);
        if path.ends_with(".xlsx") {
            statuses.push(422);
        }
    }
    if heeds || delivers || of_tus {
        statuses.push(412);
    }
    if delivers {
        statuses.push(416);
        let same = ResponseBuilder::new().description("The client has this version already").build();
        operation.responses.responses.insert("304".to_owned(), RefOr::T(same));
    }
    if of_tus && operation.request_body.is_some() {
        statuses.extend([411, 460]);
    }
    let refused = |name: &str| RefOr::Ref(Ref::from_response_name(name));
    for status in statuses {
        operation.responses.responses.insert(status.to_string(), refused(&format!("Refused{status}")));
    }
    operation.responses.responses.insert("default".to_owned(), refused("Refused"));
}

/// The meaning of each error status. All have the same form.
const REFUSALS: [(u16, &str); 20] = [
    (400, "The request is not valid for this operation"),
    (401, "The request has no credentials, or wrong ones"),
    (403, "The caller may not do this"),
    (404, "There is no such object, or the caller may not know of it"),
    (405, "The address does not support that method"),
    (408, "The body arrived too slowly"),
    (409, "The request conflicts with the current state"),
    (411, "The length must be given"),
    (412, "A precondition does not hold"),
    (413, "The body is too large"),
    (415, "The media type of the body is not supported here"),
    (416, "The document has no bytes in the requested range"),
    (422, "The content cannot be processed"),
    (423, "It is locked or checked out by another user"),
    (429, "Too many requests or attempts: `Retry-After` says when to try again"),
    (431, "The header fields are too large"),
    (460, "The part does not match the announced checksum; none of it was kept"),
    (500, "The server failed, or stored data is damaged"),
    (503, "A required component does not answer: `Retry-After` says when to try again"),
    (507, "A limit is reached, such as the quota of the site"),
];

fn refusal(about: &str) -> ResponseBuilder {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(Problem::name()))).build();
    ResponseBuilder::new().description(about).content("application/problem+json", content)
}

/// Adds the bounds of the server's integer types where the description gives none.
fn bound_integers(value: &mut Value) {
    match value {
        Value::Array(each) => each.iter_mut().for_each(bound_integers),
        Value::Object(fields) => {
            let unsigned = fields.get("minimum").and_then(Value::as_u64).is_some();
            if let (true, Some(format)) = (unsigned, fields.get("format").and_then(Value::as_str)) {
                let most = match format {
                    "int32" => Some(("uint32", u64::from(u32::MAX))),
                    "int64" => Some(("uint64", u64::MAX)),
                    _ => None,
                };
                if let Some((format, most)) = most {
                    fields.insert("format".to_owned(), format.into());
                    fields.entry("maximum").or_insert(most.into());
                }
            }
            fields.values_mut().for_each(bound_integers);
        }
        _ => {}
    }
}

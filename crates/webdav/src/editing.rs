//! One document at `/edit/<secret>/<name>`: the address that an office program gets from a page. The secret stands for
//! the credentials. The name is for the program only: a document that was renamed or moved meanwhile is saved all the
//! same.

use axum::body::Body;
use axum::extract::{FromRequestParts, Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Code, Error, Id, NodeKind, NodePath};
use repository::Session;

use http_core::identity::{self, Authenticated};
use http_core::server::error::Problem;
use http_core::server::state::AppState;

use super::error::{DavResult, xml_response};
use super::request::DavRequest;
use super::verbs;
use super::wire::multistatus::{BEGIN, END, Properties};

/// Methods of the document.
const METHODS: &str = "OPTIONS, GET, HEAD, PUT, PROPFIND, LOCK, UNLOCK";
/// Methods of the address above it, which programs visit on their way.
const METHODS_ABOVE: &str = "OPTIONS, PROPFIND";

/// Answers at the address of a document.
pub async fn document(State(state): State<AppState>, secret: Path<(String, String)>, request: Request) -> Response {
    let Path((secret, _)) = secret;
    if request.method() == Method::OPTIONS {
        return options(METHODS);
    }
    if !METHODS.split(", ").any(|method| method == request.method().as_str()) {
        return not_allowed(METHODS);
    }
    let (mut parts, body) = request.into_parts();
    match session(&state, &secret, &mut parts).await {
        Ok((session, document)) => answer(&state, session, document, parts, body).await.into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// Answers at the address above a document: an empty collection, whatever the secret is.
pub async fn above(request: Request) -> Response {
    match request.method().as_str() {
        "OPTIONS" => options(METHODS_ABOVE),
        "PROPFIND" => {
            let mut out = BEGIN.to_owned();
            let mut properties = Properties::default();
            properties.live("resourcetype", "<D:collection/>");
            properties.response(&mut out, &format!("{}/", request.uri().path().trim_end_matches('/')));
            out.push_str(END);
            xml_response(StatusCode::MULTI_STATUS, out)
        }
        _ => not_allowed(METHODS_ABOVE),
    }
}

/// Returns the session that the secret stands for, limited to its document. When the secret has ended, credentials take
/// its place.
async fn session(state: &AppState, secret: &str, parts: &mut Parts) -> Result<(Session, Id), Problem> {
    let access = state.repository().edit_access(secret).await?.ok_or_else(|| {
        Error::not_found("this address does not exist any more: open the document from its page again")
    })?;
    let session = match access.caller {
        Some(caller) => identity::session_of(state, caller)?,
        None => Authenticated::from_request_parts(parts, state).await?.session,
    };
    Ok((session, access.document))
}

async fn answer(state: &AppState, session: Session, document: Id, parts: Parts, body: Body) -> DavResult {
    let item = session.item(&document.into()).await?;
    if item.kind != NodeKind::Document {
        return Err(Error::not_found("there is no document at this address").into());
    }
    let path = NodePath::parse(&item.path)?;
    let ask = DavRequest::at_edit_address(session, document, path, parts).await?;
    let href = ask.href.clone();
    let answer = match ask.parts.method.as_str() {
        "GET" | "HEAD" => verbs::content::read(ask).await,
        "PUT" => verbs::content::store(ask, body).await,
        "PROPFIND" => verbs::propfind::answer(ask, body, state.lists_trees()).await,
        "LOCK" => verbs::locking::lock(ask, body).await,
        _ => verbs::locking::unlock(ask).await,
    };
    answer.map_err(|failure| failure.locked_at(&href))
}

fn options(methods: &'static str) -> Response {
    let mut response = verbs::options::answer();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    response.headers_mut().remove("dasl");
    response
}

fn not_allowed(methods: &'static str) -> Response {
    let error = Error::invalid("this address does not support that method").with_code(Code::MethodNotAllowed);
    let mut response = Problem::from(error).into_response();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    response
}

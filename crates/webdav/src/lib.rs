//! WebDAV at `/dav/<site path>/<library>/<path>`: classes 1, 2 and 3 of RFC 4918, for file managers and office
//! programs. `/edit/<secret>/<name>` is one document for a program that has no credentials.
//!
//! The verbs translate requests into calls of a `Session`. They decide no permissions and hold no state: locks and
//! properties are in the content database with everything else.

mod editing;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod live_properties;
mod request;
mod verbs;
mod wire;

#[cfg(feature = "testing")]
pub use wire::xml;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use model::{Code, Error};

use http_core::identity::Authenticated;
use http_core::server::error::Problem;
use http_core::server::state::AppState;

use error::DavResult;
use request::DavRequest;

/// Routes of WebDAV. At the server's root, only the methods that clients send on their way to `/dav/`.
pub fn routes() -> Router<AppState> {
    let root: MethodRouter<AppState> = MethodRouter::new().fallback(at_root);
    Router::new()
        .route("/", root)
        .route("/dav", any(below_dav))
        .route("/dav/", any(below_dav))
        .route("/dav/{*path}", any(below_dav))
        .route("/edit/{secret}", any(editing::above))
        .route("/edit/{secret}/", any(editing::above))
        .route("/edit/{secret}/{name}", any(editing::document))
}

async fn at_root(State(state): State<AppState>, request: Request) -> Response {
    match request.method().as_str() {
        "OPTIONS" => verbs::options::answer(),
        "PROPFIND" => {
            let (mut parts, _) = request.into_parts();
            match Authenticated::from_request_parts(&mut parts, &state).await {
                Ok(_) => verbs::propfind::root(&parts.headers).into_response(),
                Err(problem) => problem.into_response(),
            }
        }
        _ => http_core::server::edge::no_such_method().await,
    }
}

async fn below_dav(State(state): State<AppState>, request: Request) -> Response {
    if request.method().as_str() == "OPTIONS" {
        return verbs::options::answer();
    }
    let (mut parts, body) = request.into_parts();
    let caller = match Authenticated::from_request_parts(&mut parts, &state).await {
        Ok(caller) => caller,
        Err(problem) => return problem.into_response(),
    };
    match DavRequest::new(caller.session, parts).await {
        Ok(ask) => {
            let (href, method, is_root) = (ask.href.clone(), ask.parts.method.clone(), ask.path.is_empty());
            let response = run(&state, ask, body).await.map_err(|failure| failure.locked_at(&href)).into_response();
            verbs::options::with_allowed(response, method.as_str(), is_root)
        }
        Err(failure) => failure.into_response(),
    }
}

async fn run(state: &AppState, ask: DavRequest, body: Body) -> DavResult {
    match ask.parts.method.as_str() {
        "GET" | "HEAD" => verbs::content::read(ask).await,
        "PUT" => verbs::content::store(ask, body).await,
        "DELETE" => verbs::content::remove(ask).await,
        "MKCOL" => verbs::content::make_collection(ask, body).await,
        "COPY" | "MOVE" => verbs::placing::place(ask).await,
        "PROPFIND" => verbs::propfind::answer(ask, body, state.lists_trees()).await,
        "PROPPATCH" => verbs::proppatch::answer(ask, body).await,
        "LOCK" => verbs::locking::lock(ask, body).await,
        "UNLOCK" => verbs::locking::unlock(ask).await,
        "REPORT" => verbs::report::answer(ask, body).await,
        "SEARCH" => verbs::search::answer(ask, body).await,
        _ => {
            let error = Error::invalid("this address does not support that method").with_code(Code::MethodNotAllowed);
            Ok(Problem::from(error).into_response())
        }
    }
}

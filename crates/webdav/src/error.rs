//! Mapping of errors to WebDAV: statuses, and the elements that name a violated precondition (RFC 4918, 16).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Code, Error, ErrorKind};

use http_core::server::error;

use super::wire::multistatus::{self, HEAD};
use super::wire::xml;

/// An error with its WebDAV status and precondition.
#[derive(Debug)]
pub struct Failure {
    error: Error,
    status: StatusCode,
    /// The `DAV:` element that names the precondition, with its content.
    condition: Option<String>,
}

/// Result type of the verbs.
pub type DavResult<T = Response> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match (error.kind(), error.code()) {
            (_, Code::OtherHost | Code::Outside | Code::OtherCollection) => StatusCode::BAD_GATEWAY,
            (_, Code::IntoItself | Code::WrongKind | Code::InvalidName) => StatusCode::FORBIDDEN,
            (_, Code::PropfindInfinite) => StatusCode::FORBIDDEN,
            (_, Code::UnknownGrammar | Code::NoGrammarDiscovery | Code::SeveralScopes) => StatusCode::FORBIDDEN,
            (_, Code::UnsupportedQuery) => StatusCode::UNPROCESSABLE_ENTITY,
            _ => error::status(&error),
        };
        let condition = match (error.kind(), error.code()) {
            (_, Code::LockNotFound) => Some("<D:lock-token-matches-request-uri/>"),
            (_, Code::QuotaExceeded | Code::TooMuchUnfinished) => Some("<D:quota-not-exceeded/>"),
            (_, Code::PropfindInfinite) => Some("<D:propfind-finite-depth/>"),
            (_, Code::UnknownGrammar) => Some("<D:search-grammar-supported/>"),
            (_, Code::NoGrammarDiscovery) => Some("<D:search-grammar-discovery-supported/>"),
            (_, Code::SeveralScopes) => Some("<D:search-multiple-scope-supported/>"),
            (_, Code::UnknownReport) => Some("<D:supported-report/>"),
            _ => None,
        };
        Self { error, status, condition: condition.map(ToOwned::to_owned) }
    }
}

impl Failure {
    /// Returns the underlying error.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// Turns 404 into 409, when the parent for a new resource is missing.
    pub fn not_found_as_conflict(self) -> Self {
        if self.error.kind() == ErrorKind::NotFound { Self { status: StatusCode::CONFLICT, ..self } } else { self }
    }

    /// Turns a name conflict into 405: the method is not allowed on an existing resource.
    pub fn name_taken_as_not_allowed(self) -> Self {
        if self.error.code() == Code::NameTaken {
            Self { status: StatusCode::METHOD_NOT_ALLOWED, ..self }
        } else {
            self
        }
    }

    /// Adds the locked URL to the response (`lock-token-submitted`), unless there is a precondition already.
    pub fn locked_at(self, href: &str) -> Self {
        if self.error.kind() != ErrorKind::Locked || self.condition.is_some() {
            return self;
        }
        let mut condition = "<D:lock-token-submitted><D:href>".to_owned();
        xml::escape(&mut condition, href);
        condition.push_str("</D:href></D:lock-token-submitted>");
        Self { condition: Some(condition), ..self }
    }

    /// Reports a lock that conflicts with the requested one (`no-conflicting-lock`).
    pub fn conflicting_lock(self) -> Self {
        if self.error.kind() != ErrorKind::Locked {
            return self;
        }
        Self { condition: Some("<D:no-conflicting-lock/>".to_owned()), ..self }
    }

    /// Reports the scope of a query as invalid (`search-scope-valid`).
    pub fn invalid_scope(self, href: &str) -> Self {
        let code = match self.status {
            StatusCode::NOT_FOUND | StatusCode::FORBIDDEN | StatusCode::BAD_REQUEST | StatusCode::BAD_GATEWAY => {
                self.status
            }
            _ => return self,
        };
        let mut condition = String::from("<D:search-scope-valid>");
        multistatus::begin(&mut condition, href);
        condition.push_str(&multistatus::status(code));
        condition.push_str("</D:response></D:search-scope-valid>");
        Self { condition: Some(condition), status: StatusCode::CONFLICT, ..self }
    }

    /// Replaces the status.
    pub fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        if self.status == StatusCode::UNAUTHORIZED {
            return error::Problem::from(self.error).into_response();
        }
        error::log(&self.error, self.status);
        let mut body = format!("{HEAD}<D:error xmlns:D=\"DAV:\" xmlns:S=\"urn:strongroom\">");
        body.push_str(self.condition.as_deref().unwrap_or_default());
        body.push_str("<S:code>");
        xml::escape(&mut body, self.error.code().as_str());
        body.push_str("</S:code><S:message>");
        xml::escape(&mut body, error::public_message(&self.error));
        body.push_str("</S:message></D:error>\n");
        let mut response = xml_response(self.status, body);
        error::add_retry_after(&self.error, &mut response);
        response
    }
}

/// Returns a response with an XML body.
pub fn xml_response(status: StatusCode, body: impl Into<axum::body::Body>) -> Response {
    let kind = HeaderValue::from_static("application/xml; charset=utf-8");
    (status, [(header::CONTENT_TYPE, kind)], body.into()).into_response()
}

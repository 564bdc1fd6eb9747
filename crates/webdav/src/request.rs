//! A request with its caller, its target and its lock tokens.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::request::Parts;
use model::{Code, Error, ErrorKind, Id, NodePath};
use repository::{Destination, DetailOptions, Details, Preconditions, Session, Target};

use http_core::protocol::segments;
use http_core::server::request_body;
use http_core::transfer::conditions;

use super::error::{DavResult, Failure};
use super::wire::condition::{If, List, Present};
use super::wire::{headers, href};

/// Limit on bytes of an XML body.
const MAX_XML: usize = 1 << 20;

/// A request with its parsed target and conditions.
pub struct DavRequest {
    /// Session of the caller, with the lock tokens of the request.
    pub session: Session,
    /// Path of the target item.
    pub path: NodePath,
    /// Path of the request URL, unchanged.
    pub href: String,
    /// Method, URL and header fields.
    pub parts: Parts,
    /// The document of an address below `/edit`; `None` for an address below `/dav`.
    document: Option<Id>,
    /// Entity tag that the `If` field requires of the target, without quotes.
    demanded: Option<String>,
}

impl DavRequest {
    /// Parses the target and evaluates the `If` field.
    pub async fn new(session: Session, parts: Parts) -> DavResult<Self> {
        refuse_query(&parts)?;
        let raw = parts.uri.path().to_owned();
        let path = href::parse(&raw).map_err(|error| unusable(error, parts.method.as_str()))?;
        Self { session, path, href: raw, parts, document: None, demanded: None }.with_conditions().await
    }

    /// Takes a request for a document at an address below `/edit`, and evaluates the `If` field.
    pub async fn at_edit_address(session: Session, document: Id, path: NodePath, parts: Parts) -> DavResult<Self> {
        refuse_query(&parts)?;
        let href = parts.uri.path().to_owned();
        Self { session, path, href, parts, document: Some(document), demanded: None }.with_conditions().await
    }

    /// Evaluates the `If` field, and gives its lock tokens to the session.
    async fn with_conditions(mut self) -> DavResult<Self> {
        let mut tokens = Vec::new();
        if let Some(condition) = headers::condition(&self.parts.headers)? {
            self.judge(&condition).await?;
            tokens = condition.tokens();
        }
        // Only the `If` field submits lock tokens. `Lock-Token` merely names the lock to remove.
        self.session = self.session.with_lock_tokens(tokens);
        Ok(self)
    }

    /// Returns the address if it is below `/edit`.
    pub fn edit_href(&self) -> Option<&str> {
        self.document.map(|_| self.href.as_str())
    }

    /// Returns the target item.
    pub fn target(&self) -> Target {
        self.document.map_or_else(|| self.path.clone().into(), Target::Id)
    }

    /// Returns the destination of an upload to the address.
    pub fn destination(&self) -> Destination {
        self.document.map_or_else(|| Destination::Path(self.path.clone()), Destination::Document)
    }

    /// Returns the preconditions that the change's transaction checks again.
    pub async fn preconditions(&self) -> DavResult<Preconditions> {
        let mut found = conditions::of_change(&self.session, || self.target(), &self.parts.headers).await?;
        if let (None, Some(tag)) = (&found.if_match, &self.demanded) {
            found.if_match = Some(vec![tag.clone()]);
        }
        Ok(found)
    }

    /// Checks the preconditions now, before a change that does not affect the content.
    pub async fn require_preconditions(&self) -> DavResult<()> {
        let wanted = self.preconditions().await?;
        if wanted == Preconditions::default() {
            return Ok(());
        }
        let present = match self.session.item(&self.target()).await {
            // A folder has no entity tag that a client could know, but it exists.
            Ok(item) => Some(item.version_id.unwrap_or(item.id)),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        Ok(wanted.check(present)?)
    }

    /// Parses a body of at most 1 MiB with `read`.
    pub async fn xml<T: Send + 'static>(&self, body: Body, read: fn(&[u8]) -> model::Result<T>) -> DavResult<T> {
        Ok(request_body::parse_off_thread(request_body::read_to_end(body, MAX_XML).await?, read).await?)
    }

    /// Refuses with 412 unless one of the lists in the `If` field holds.
    async fn judge(&mut self, condition: &If) -> DavResult<()> {
        let mut known: Vec<(String, Present)> = Vec::new();
        for list in &condition.0 {
            let address = list.resource.clone().unwrap_or_else(|| self.href.clone());
            if !known.iter().any(|(seen, _)| *seen == address) {
                let present = self.present(&address).await?;
                known.push((address.clone(), present));
            }
            let Some((_, present)) = known.iter().find(|(seen, _)| *seen == address) else { continue };
            if list.holds(present) {
                self.keep_demand(list, present);
                return Ok(());
            }
        }
        let error = Error::conflict("a condition in the field If does not hold: read the resource again first");
        Err(error.with_code(Code::PreconditionFailed).into())
    }

    fn keep_demand(&mut self, list: &List, present: &Present) {
        if list.resource.is_none() && list.names_etag() {
            self.demanded = present.etag.as_ref().map(|tag| tag.trim_matches('"').to_owned());
        }
    }

    /// Returns the state of the resource at a URL. A URL outside of this server has no state.
    async fn present(&self, address: &str) -> DavResult<Present> {
        let local = headers::local_path(&self.parts.headers, address);
        let Ok(local) = local else { return Ok(Present::default()) };
        let wanted = DetailOptions { properties: false, locks: true };
        // Programs encode the names of one address in different ways.
        if self.document.is_some() && names_same(&local, &self.href) {
            return Ok(state(&self.session.details(&self.target(), wanted).await?));
        }
        let Ok(path) = href::parse(&local) else { return Ok(Present::default()) };
        match self.session.details(&path.clone().into(), wanted).await {
            Ok(details) => Ok(state(&details)),
            Err(error) if error.kind() == ErrorKind::NotFound => self.locks_covering_missing(&path, wanted).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the locks that cover a missing resource: deep locks on its parent, and locks on the document that the
    /// caller moved away from this name.
    async fn locks_covering_missing(&self, path: &NodePath, wanted: DetailOptions) -> DavResult<Present> {
        let Some((parent, _)) = path.split_last() else { return Ok(Present::default()) };
        match self.session.details(&parent.into(), wanted).await {
            Ok(details) => {
                let deep = details.locks.into_iter().filter(|lock| lock.deep);
                let aside = self.session.locks_put_aside(path).await?;
                Ok(Present { etag: None, tokens: deep.chain(aside).map(|lock| lock.secret().to_owned()).collect() })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Present::default()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns whether two percent-encoded paths name the same resource.
fn names_same(one: &str, other: &str) -> bool {
    one == other || segments::decode(one).is_ok_and(|names| segments::decode(other).is_ok_and(|others| names == others))
}

fn state(details: &Details) -> Present {
    Present {
        etag: details.item.version_id.map(|_| format!("\"{}\"", details.item.etag())),
        tokens: details.locks.iter().map(|lock| lock.secret().to_owned()).collect(),
    }
}

/// Refuses queries except for reads. Only reads of a version use a query. In other requests an unescaped question mark
/// most likely belongs to a name, and the rest of that name would be lost.
fn refuse_query(parts: &Parts) -> DavResult<()> {
    if parts.uri.query().is_none() || matches!(parts.method.as_str(), "GET" | "HEAD") {
        return Ok(());
    }
    let versions = parts.uri.query().is_some_and(|query| query.starts_with("version="));
    let error = if versions {
        Error::forbidden("the address of a version supports only GET and HEAD: use the address of the document")
            .with_code(Code::VersionAddress)
    } else {
        Error::invalid("an address has no query here: write a question mark in a name as %3F")
            .with_code(Code::UnexpectedQuery)
    };
    Err(error.into())
}

/// Maps the error for a name that no item can have: reads answer 404, and writes are refused.
fn unusable(error: Error, method: &str) -> Failure {
    let reads = matches!(method, "GET" | "HEAD" | "PROPFIND" | "DELETE" | "REPORT" | "SEARCH" | "UNLOCK");
    let named = error.code() == Code::InvalidName;
    let failure = Failure::from(error);
    if reads && named { failure.with_status(StatusCode::NOT_FOUND) } else { failure }
}

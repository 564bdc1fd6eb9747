//! PROPFIND: items with their properties. The response is streamed page by page.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use futures_util::stream;
use model::{Code, Error, ErrorKind, Id, MAX_PAGE, Name, NodePath, Result};
use repository::{DetailOptions, Details, Session, SortKey, Space, Target};

use crate::error::{DavResult, xml_response};
use crate::live_properties;
use crate::request::DavRequest;
use crate::wire::bodies::{self, Asked};
use crate::wire::headers::{self, Depth};
use crate::wire::multistatus::{BEGIN, END, Properties};
use http_core::server::concurrency::KeyedPermit;
use http_core::server::request;

/// Approximate size of a chunk of the response in bytes.
const CHUNK_SIZE: usize = 64 << 10;
/// Items per page when dead properties are read, too: these can be long.
const FEW: usize = 100;

/// Answers with the item and its children. A whole tree is listed only if `trees` allows it.
pub async fn answer(ask: DavRequest, body: Body, trees: bool) -> DavResult {
    let depth = headers::depth(&ask.parts.headers)?.unwrap_or(Depth::Infinity);
    let asked = ask.xml(body, bodies::propfind).await?;
    let wanted = DetailOptions {
        properties: live_properties::wants_dead(&asked),
        locks: live_properties::wants(&asked, "lockdiscovery"),
    };
    let top = match ask.session.details(&ask.target(), wanted).await {
        Ok(top) => top,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return virtual_path_response(&ask, &asked, wanted, depth, error).await;
        }
        Err(error) => return Err(error.into()),
    };
    let holds = top.item.kind.is_container();
    if depth == Depth::Infinity && holds && !trees {
        return Err(Error::forbidden("a whole tree cannot be listed at once: list it folder by folder, with Depth 1")
            .with_code(Code::PropfindInfinite)
            .into());
    }
    let permit = if depth == Depth::Infinity && holds { request::acquire_costly()? } else { None };
    let space = if live_properties::wants(&asked, "quota-used-bytes")
        || live_properties::wants(&asked, "quota-available-bytes")
    {
        ask.session.space(&ask.target()).await.ok()
    } else {
        None
    };
    let beyond = match depth {
        Depth::One if holds => {
            site_collections_below(&ask, &asked, wanted, ask.session.child_address_names(&ask.path).await?).await?
        }
        _ => String::new(),
    };
    let listing = Listing {
        edit_href: ask.edit_href().map(ToOwned::to_owned),
        session: ask.session,
        target: top.item.id.into(),
        asked: Arc::new(asked),
        wanted,
        space,
        waiting: VecDeque::new(),
        next: Some(None).filter(|_| depth != Depth::Zero && holds),
        below: (depth == Depth::Infinity).then(Vec::new),
        _permit: permit,
    };
    Ok(xml_response(StatusCode::MULTI_STATUS, listing.body(&top, &beyond).await?))
}

/// Answers for a path that leads to site collections without being an item itself: an existing, empty collection.
async fn virtual_path_response(
    ask: &DavRequest,
    asked: &Asked,
    wanted: DetailOptions,
    depth: Depth,
    error: Error,
) -> DavResult {
    let names = ask.session.child_address_names(&ask.path).await?;
    if names.is_empty() && !ask.path.is_empty() {
        return Err(error.into());
    }
    let mut out = BEGIN.to_owned();
    virtual_collection(&mut out, &ask.path);
    if depth != Depth::Zero {
        out.push_str(&site_collections_below(ask, asked, wanted, names).await?);
    }
    out.push_str(END);
    Ok(xml_response(StatusCode::MULTI_STATUS, out))
}

/// Lists the site collections directly below a path, and path segments that lead to others. Children of the item itself
/// are listed separately.
async fn site_collections_below(
    ask: &DavRequest,
    asked: &Asked,
    wanted: DetailOptions,
    names: Vec<String>,
) -> DavResult<String> {
    let mut out = String::new();
    for name in names {
        let path = ask.path.join(&Name::new(name)?);
        match ask.session.details(&path.clone().into(), wanted).await {
            Ok(details) if details.item.parent_id == Id::NONE => {
                live_properties::response(&mut out, &details, asked, None, None)
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => virtual_collection(&mut out, &path),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(out)
}

fn virtual_collection(out: &mut String, path: &NodePath) {
    let mut properties = Properties::default();
    properties.live("resourcetype", "<D:collection/>");
    properties.text("displayname", path.names().last().map(Name::as_str).unwrap_or_default());
    properties.response(out, &crate::wire::href::write(&path.to_string(), true));
}

/// Answers for the server's root, which contains only `/dav/`. Clients visit it on their way down.
pub fn root(headers: &HeaderMap) -> DavResult {
    let mut out = BEGIN.to_owned();
    let mut properties = Properties::default();
    properties.live("resourcetype", "<D:collection/>");
    properties.response(&mut out, "/");
    if headers::depth(headers)? != Some(Depth::Zero) {
        properties.response(&mut out, "/dav/");
    }
    out.push_str(END);
    Ok(xml_response(StatusCode::MULTI_STATUS, out))
}

/// State of a listing in progress.
struct Listing {
    /// Address of the document if it is below `/edit`.
    edit_href: Option<String>,
    session: Session,
    target: Target,
    asked: Arc<Asked>,
    wanted: DetailOptions,
    space: Option<Space>,
    /// Entries read but not yet written.
    waiting: VecDeque<Details>,
    /// Start of the next page; `None` at the end.
    next: Option<Option<SortKey>>,
    /// Listed collections still to be expanded. `None` when only one level is listed.
    below: Option<Vec<Id>>,
    /// Permit for expensive requests of the user, held while a tree is listed.
    _permit: Option<KeyedPermit<String>>,
}

impl Listing {
    /// Returns the response body. The first page is read before the status is sent; later errors abort the response.
    async fn body(mut self, top: &Details, beyond: &str) -> Result<Body> {
        let mut first = BEGIN.to_owned();
        live_properties::response(&mut first, top, &self.asked, self.space, self.edit_href.as_deref());
        first.push_str(beyond);
        if !self.piece(&mut first).await? {
            first.push_str(END);
            return Ok(Body::from(first));
        }
        let pieces = stream::unfold(Some((self, first)), |state| async {
            let (mut listing, mut out) = state?;
            if !out.is_empty() {
                return Some((Ok(Bytes::from(out)), Some((listing, String::new()))));
            }
            match listing.piece(&mut out).await {
                Ok(true) => Some((Ok(out.into()), Some((listing, String::new())))),
                Ok(false) => {
                    out.push_str(END);
                    Some((Ok(out.into()), None))
                }
                Err(error) => Some((Err(error), None)),
            }
        });
        Ok(Body::from_stream(pieces))
    }

    /// Writes items until a chunk is full. Returns false at the end.
    async fn piece(&mut self, out: &mut String) -> Result<bool> {
        loop {
            while let Some(details) = self.waiting.pop_front() {
                live_properties::response(out, &details, &self.asked, self.space, None);
                if out.len() >= CHUNK_SIZE {
                    return Ok(true);
                }
            }
            if self.next.is_none() {
                return Ok(false);
            }
            self.page().await?;
        }
    }

    async fn page(&mut self) -> Result<()> {
        let Some(after) = self.next.take() else { return Ok(()) };
        let most = if self.wanted.properties { FEW } else { MAX_PAGE };
        match self.session.details_below(&self.target, self.wanted, after, most).await {
            Ok(page) => {
                if let Some(below) = &mut self.below {
                    let holders = page.items.iter().filter(|details| details.item.kind.is_container());
                    below.extend(holders.map(|details| details.item.id));
                }
                self.waiting.extend(page.items);
                self.next = page.next.map(Some);
            }
            // A collection that was deleted after it was listed has no children any more.
            Err(error) if self.below.is_some() && error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        if let (None, Some(id)) = (&self.next, self.below.as_mut().and_then(Vec::pop)) {
            (self.target, self.next) = (id.into(), Some(None));
        }
        Ok(())
    }
}

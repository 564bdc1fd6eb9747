//! SEARCH: items below a URL that meet a condition (RFC 5323). Items that the caller may not see are not found.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::StatusCode;
use model::{ErrorKind, Id, MAX_PAGE, NodeKind, Result, Right};
use repository::{DetailOptions, Details, Item, Session, Space};

use super::contained::Contained;
use crate::error::{DavResult, Failure, xml_response};
use crate::live_properties;
use crate::request::DavRequest;
use crate::wire::bodies::PropertyName;
use crate::wire::evaluation::{Subject, Value, comparison_form};
use crate::wire::headers::{self, Depth};
use crate::wire::multistatus::{self, BEGIN, END};
use crate::wire::query::{self, Condition, Query};
use crate::wire::{href, xml};
use http_core::server::{request, request_body};

/// Limits of one search: visited items (`MAX_SEEN`), matches (`MAX_FOUND`), bytes of the response (`MAX_BYTES`), and
/// duration (`TIME`).
const MAX_SEEN: usize = 20_000;
const MAX_FOUND: usize = 5_000;
const MAX_BYTES: usize = 16 << 20;
const TIME: Duration = Duration::from_secs(5);
/// Time slice for evaluating items before other tasks run.
const TURN: Duration = Duration::from_millis(50);
/// Number of documents with words that are read before they are judged.
const READ_TOGETHER: usize = 50;
/// Maximum length of a dead property that is compared. A longer one counts as not comparable.
const MAX_VALUE: usize = 10_000;

/// Answers with the matches. When there are or may be more, the response contains a 507 for the request URL.
pub async fn answer(ask: DavRequest, body: Body) -> DavResult {
    let _place = request::acquire_costly()?;
    let query = ask.xml(body, query::read).await?;
    ask.session.item(&ask.target()).await?;
    let dead =
        live_properties::wants_dead(&query.select) || query.properties().any(|name| !live_properties::is_live(name));
    let wanted = DetailOptions { properties: dead, locks: live_properties::wants(&query.select, "lockdiscovery") };
    let top = scope(&ask, &query.scope.0, wanted).await?;
    let quota =
        |name: &str| query.properties().any(|asked| asked.name == name) || live_properties::wants(&query.select, name);
    let space = if quota("quota-used-bytes") || quota("quota-available-bytes") {
        ask.session.space(&top.item.id.into()).await.ok()
    } else {
        None
    };
    let end = Instant::now() + TIME;
    let contained = Contained::of(&ask.session, &query, &top.item, end).await?;
    let mut hits = look(&ask.session, Hits::new(query, space, contained, end), wanted, top).await?;
    hits.prune();
    let mut out = BEGIN.to_owned();
    for hit in &hits.kept {
        out.push_str(&hit.told);
    }
    if hits.more {
        multistatus::begin(&mut out, &ask.href);
        out.push_str(&multistatus::status(StatusCode::INSUFFICIENT_STORAGE));
        out.push_str("</D:response>");
    }
    out.push_str(END);
    Ok(xml_response(StatusCode::MULTI_STATUS, out))
}

/// Returns the item at the scope's URL, which may be relative to the request URL.
async fn scope(ask: &DavRequest, named: &str, wanted: DetailOptions) -> DavResult<Details> {
    let address = if named.starts_with('/') || named.contains("://") {
        named.to_owned()
    } else {
        let directory = ask.href.rfind('/').map_or("", |slash| &ask.href[..=slash]);
        if named.is_empty() { ask.href.clone() } else { format!("{directory}{}", named.trim_start_matches("./")) }
    };
    let path = headers::local_path(&ask.parts.headers, &address).and_then(|path| href::parse(&path));
    let found = match path {
        Ok(path) => ask.session.details(&path.into(), wanted).await,
        Err(error) => Err(error),
    };
    found.map_err(|error| Failure::from(error).invalid_scope(&address))
}

/// Evaluates the item and everything below it, until all items were visited or a limit was reached.
async fn look(session: &Session, mut hits: Hits, wanted: DetailOptions, top: Details) -> Result<Hits> {
    let depth = hits.query.scope.1;
    let required = hits.query.condition.as_ref().map(Condition::required).unwrap_or_default();
    if let Some(documents) = hits.contained.documents_with(&required) {
        return look_among(session, hits, wanted, &top.item, documents).await;
    }
    let mut below: Vec<Id> = Vec::new();
    if live_properties::is_collection(top.item.kind) && depth != Depth::Zero {
        below.push(top.item.id);
    }
    hits = hits.judged(vec![top]).await?;
    while let Some(id) = below.pop() {
        let mut after = None;
        loop {
            if hits.stop() {
                return Ok(hits);
            }
            let page = match session.details_below(&id.into(), wanted, after, MAX_PAGE).await {
                Ok(page) => page,
                // The collection was deleted after it was listed.
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                Err(error) => return Err(error),
            };
            if depth == Depth::Infinity {
                let holders = page.items.iter().filter(|details| live_properties::is_collection(details.item.kind));
                below.extend(holders.map(|details| details.item.id));
            }
            hits = hits.judged(page.items).await?;
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(hits)
}

/// Evaluates those of the documents that lie within the scope.
async fn look_among(
    session: &Session,
    mut hits: Hits,
    wanted: DetailOptions,
    top: &Item,
    documents: Vec<Id>,
) -> Result<Hits> {
    let depth = hits.query.scope.1;
    let is_within = |item: &Item| match depth {
        _ if item.id == top.id => true,
        Depth::Zero => false,
        Depth::One => item.parent_id == top.id,
        Depth::Infinity => item.path.strip_prefix(&top.path).is_some_and(|r| top.path.is_empty() || r.starts_with('/')),
    };
    // Client properties of one item may take a megabyte.
    let together = if wanted.properties { 1 } else { READ_TOGETHER };
    for documents in documents.chunks(together) {
        if hits.stop() {
            return Ok(hits);
        }
        let mut found = Vec::with_capacity(documents.len());
        for id in documents {
            match session.details(&(*id).into(), wanted).await {
                Ok(details) if is_within(&details.item) => found.push(details),
                Ok(_) => {}
                // It was deleted, or hidden, after it was found.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Forbidden) => {}
                Err(error) => return Err(error),
            }
        }
        hits = hits.judged(found).await?;
    }
    Ok(hits)
}

/// A matching item.
struct Hit {
    /// Sort keys.
    keys: Vec<Option<Value<'static>>>,
    /// Its response element.
    told: String,
}

/// Matches so far.
struct Hits {
    query: Arc<Query>,
    contained: Arc<Contained>,
    space: Option<Space>,
    end: Instant,
    kept: Vec<Hit>,
    /// Number of visited items (`seen`), and total size of the kept response elements (`bytes`).
    seen: usize,
    bytes: usize,
    /// True if there are, or may be, more matches than those kept.
    more: bool,
}

impl Hits {
    fn new(query: Query, space: Option<Space>, contained: Contained, end: Instant) -> Self {
        let (query, more) = (Arc::new(query), !contained.is_complete());
        Self { query, contained: Arc::new(contained), space, end, kept: Vec::new(), seen: 0, bytes: 0, more }
    }

    /// Returns the maximum number of matches.
    fn most(&self) -> usize {
        self.query.limit.map_or(MAX_FOUND, |limit| limit.min(MAX_FOUND))
    }

    /// Returns whether a limit was reached although items remain. In that case there may be more matches.
    fn stop(&mut self) -> bool {
        let enough = self.query.orders.is_empty() && self.kept.len() > self.most();
        let stop = enough || self.seen >= MAX_SEEN || self.bytes >= MAX_BYTES || Instant::now() > self.end;
        self.more |= stop;
        stop
    }

    /// Adds the matches of a page. The comparison can take a while and does not run on the request threads.
    async fn judged(mut self, page: Vec<Details>) -> Result<Self> {
        let mut page = VecDeque::from(page);
        while !page.is_empty() {
            let work = move || {
                let end = Instant::now() + TURN;
                while let Some(details) = page.pop_front() {
                    if self.stop() {
                        page.clear();
                    } else {
                        self.judge(&details);
                    }
                    if Instant::now() > end {
                        break;
                    }
                }
                (self, page)
            };
            (self, page) = request_body::run_cpu_bound(work).await?;
        }
        Ok(self)
    }

    fn judge(&mut self, details: &Details) {
        self.seen += 1;
        // Helper files of programs are found only when they are the scope themselves.
        if self.seen > 1
            && model::is_application_file(&details.item.name)
            && !live_properties::is_collection(details.item.kind)
        {
            return;
        }
        let subject = Seen { details, space: self.space, contained: &self.contained };
        if self.query.condition.as_ref().is_some_and(|condition| condition.holds(&subject) != Some(true)) {
            return;
        }
        let keys = self.query.orders.iter().map(|order| {
            Some(match subject.value(&order.property)? {
                Value::Text(text) => Value::Text(comparison_form(&text, order.caseless).into()),
                Value::Number(number) => Value::Number(number),
                Value::Time(seconds) => Value::Time(seconds),
            })
        });
        let mut hit = Hit { keys: keys.collect(), told: String::new() };
        live_properties::response(&mut hit.told, details, &self.query.select, self.space, None);
        self.bytes += hit.told.len();
        self.kept.push(hit);
        if self.kept.len() > 2 * self.most().max(MAX_FOUND / 10) {
            self.prune();
        }
    }

    /// Sorts the matches and drops those beyond the limit.
    fn prune(&mut self) {
        let query = self.query.clone();
        self.kept.sort_by(|a, b| by(&query, a, b));
        if self.kept.len() > self.most() {
            self.kept.truncate(self.most());
            self.bytes = self.kept.iter().map(|hit| hit.told.len()).sum();
            self.more = true;
        }
    }
}

/// Compares two matches by the sort keys in turn. A missing property sorts before any value (RFC 5323, 5.6).
fn by(query: &Query, a: &Hit, b: &Hit) -> Ordering {
    let turned = query.orders.iter().zip(a.keys.iter().zip(&b.keys));
    let mut turned = turned.map(|(order, (a, b))| if order.descending { b.cmp(a) } else { a.cmp(b) });
    turned.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// An item as the subject of conditions.
struct Seen<'a> {
    details: &'a Details,
    space: Option<Space>,
    contained: &'a Contained,
}

impl Subject for Seen<'_> {
    fn value(&self, name: &PropertyName) -> Option<Value<'_>> {
        let item = &self.details.item;
        let document = item.kind == NodeKind::Document;
        if !live_properties::is_live(name) {
            let same =
                |property: &&repository::Property| property.namespace == name.namespace && property.name == name.name;
            let element = self.details.properties.iter().find(same)?;
            let element = Some(&element.value).filter(|value| value.len() <= MAX_VALUE)?;
            return xml::parse(element.as_bytes()).ok().map(|element| Value::Text(element.text().into()));
        }
        match name.name.as_str() {
            "displayname" => Some(Value::Text(item.name.as_str().into())),
            // An item shown only because it leads to another one reveals its name and nothing more.
            _ if !item.rights.has(Right::View) => None,
            "creationdate" => Some(Value::Time(item.created_at.seconds())),
            "getlastmodified" => Some(Value::Time(item.modified_at.seconds())),
            "getcontentlength" if document => Some(Value::Number(item.size)),
            "getcontenttype" if document => Some(Value::Text(item.media_type.as_str().into())),
            "getetag" if document => Some(Value::Text(format!("\"{}\"", item.etag()).into())),
            "version-name" if document => Some(Value::Text(item.version.to_string().into())),
            "quota-used-bytes" if !document => self.space.map(|space| Value::Number(space.used)),
            "quota-available-bytes" if !document => self.space.and_then(|space| space.available).map(Value::Number),
            _ => None,
        }
    }

    fn has(&self, name: &PropertyName) -> bool {
        live_properties::has(self.details, name, self.space)
    }

    fn is_collection(&self) -> bool {
        live_properties::is_collection(self.details.item.kind)
    }

    fn contains(&self, text: &str) -> Option<bool> {
        self.contained.has(text, &self.details.item)
    }
}

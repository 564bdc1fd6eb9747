//! REPORT: the versions of a document (`DAV:version-tree` of RFC 3253, 3.7).

use std::collections::{HashMap, VecDeque};

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use futures_util::stream;
use model::{Code, Error, Id, MAX_PAGE, Result, VersionNumber};
use repository::{PrincipalName, Session, Target, Version};

use crate::error::{DavResult, xml_response};
use crate::live_properties::creation_date;
use crate::request::DavRequest;
use crate::wire::bodies::{self, PropertyName};
use crate::wire::multistatus::{BEGIN, END, Properties};
use crate::wire::xml;
use http_core::protocol::conditional;

/// Approximate size of a chunk of the response in bytes.
const CHUNK_SIZE: usize = 64 << 10;

/// Lists the versions of a document, newest first. The response is streamed page by page.
pub async fn answer(ask: DavRequest, body: Body) -> DavResult {
    let report = ask.xml(body, bodies::report).await?;
    if report.name.namespace != xml::DAV || report.name.name != "version-tree" {
        let error = Error::forbidden("the only report that this server supports is DAV:version-tree")
            .with_code(Code::UnknownReport);
        return Err(error.into());
    }
    let target = ask.session.item(&ask.target()).await?.id.into();
    let mut telling = VersionListing {
        session: ask.session,
        target,
        href: ask.href,
        properties: report.properties,
        versions: VecDeque::new(),
        people: HashMap::new(),
        newer: None,
        next: Some(None),
    };
    // Refusals must come before the status is sent.
    telling.read_page().await?;
    let pieces = stream::unfold(Some((telling, BEGIN)), |state| async {
        let (mut telling, begin) = state?;
        match telling.piece(begin).await {
            Ok((piece, true)) => Some((Ok(piece), None)),
            Ok((piece, false)) => Some((Ok(piece), Some((telling, "")))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(xml_response(StatusCode::MULTI_STATUS, Body::from_stream(pieces)))
}

/// State of a version list in progress.
struct VersionListing {
    session: Session,
    target: Target,
    href: String,
    properties: Vec<PropertyName>,
    /// Entries read but not yet written.
    versions: VecDeque<Version>,
    people: HashMap<Id, PrincipalName>,
    /// Number of the previously written version, which is the successor of the next one.
    newer: Option<VersionNumber>,
    /// Start of the next page; `None` at the end.
    next: Option<Option<Id>>,
}

impl VersionListing {
    async fn read_page(&mut self) -> Result<()> {
        let Some(before) = self.next.take() else { return Ok(()) };
        let page = self.session.versions(&self.target, before, MAX_PAGE).await?;
        let ids: Vec<_> = page.items.iter().map(|version| version.created_by).collect();
        self.people.extend(self.session.principal_names(&ids).await?);
        self.versions.extend(page.items);
        self.next = page.next.map(Some);
        Ok(())
    }

    /// Returns the next chunk of the response, and whether it is the last one.
    async fn piece(&mut self, begin: &str) -> Result<(Bytes, bool)> {
        let mut out = begin.to_owned();
        while out.len() < CHUNK_SIZE {
            // Each version also names its predecessor, so that must have been read.
            while self.versions.len() < 2 && self.next.is_some() {
                self.read_page().await?;
            }
            let Some(version) = self.versions.pop_front() else {
                out.push_str(END);
                return Ok((out.into(), true));
            };
            self.tell(&mut out, &version);
            self.newer = Some(version.number);
        }
        Ok((out.into(), false))
    }

    fn tell(&self, out: &mut String, version: &Version) {
        let author = self.people.get(&version.created_by).map_or("", |person| person.name.as_str());
        let of = |number: VersionNumber| format!("{}?version={number}", self.href);
        let (older, newer) = (self.versions.front().map(|older| of(older.number)), self.newer.map(of));
        let told = VersionEntry { version, author, older, newer };
        let mut properties = Properties::default();
        for name in &self.properties {
            told.add(&mut properties, name);
        }
        properties.response(out, &of(version.number));
    }
}

struct VersionEntry<'a> {
    version: &'a Version,
    author: &'a str,
    older: Option<String>,
    newer: Option<String>,
}

impl VersionEntry<'_> {
    fn add(&self, properties: &mut Properties, name: &PropertyName) {
        let version = self.version;
        if name.namespace != xml::DAV {
            return properties.lacks(name);
        }
        match name.name.as_str() {
            "version-name" => properties.live("version-name", &version.number.to_string()),
            "creator-displayname" => properties.text("creator-displayname", self.author),
            "comment" => properties.text("comment", &version.comment),
            "getcontentlength" => properties.live("getcontentlength", &version.size.to_string()),
            "getcontenttype" => properties.text("getcontenttype", &version.media_type),
            "getlastmodified" => properties.live("getlastmodified", &conditional::format_date(version.created_at)),
            "creationdate" => properties.live("creationdate", &creation_date(version.created_at)),
            "getetag" => properties.live("getetag", &format!("\"{:x}\"", version.id.get())),
            "resourcetype" => properties.live("resourcetype", ""),
            "predecessor-set" => properties.live("predecessor-set", &set(self.older.as_deref())),
            "successor-set" => properties.live("successor-set", &set(self.newer.as_deref())),
            _ => properties.lacks(name),
        }
    }
}

fn set(href: Option<&str>) -> String {
    let Some(href) = href else { return String::new() };
    let mut out = "<D:href>".to_owned();
    xml::escape(&mut out, href);
    out.push_str("</D:href>");
    out
}

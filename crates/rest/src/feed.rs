//! Atom feeds (RFC 4287): of saved searches, and of what changed in sites, libraries, lists and folders.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Result, SearchAlert, Timestamp, Zone};
use repository::{FoundItem, Item, ItemEvent, NewDocuments};

use http_core::protocol::conditional::{self, Present, Verdict};
use http_core::protocol::{segments, time};
use http_core::server::origin::RequestOrigin;

use super::wire::item::Names;

/// Answers a request with a feed, which `write` writes for the scheme and host under which readers know this server.
/// Equal contents must give equal texts.
pub fn answer(request: &Request, write: impl FnOnce(&str) -> String) -> Result<Response> {
    let origin = RequestOrigin::of(request.extensions()).map(|known| known.origin.as_str()).unwrap_or_default();
    let text = write(origin);
    let etag = format!("\"{}\"", blake3::hash(text.as_bytes()).to_hex());
    let fields = [
        (header::ETAG, etag.clone()),
        (header::CACHE_CONTROL, "private, no-cache".to_owned()),
        (header::CONTENT_TYPE, "application/atom+xml; charset=utf-8".to_owned()),
    ];
    let present = Present { etag: &etag, modified: Timestamp::now() };
    match conditional::evaluate(request.method(), &only_tags(request.headers()), Some(present))? {
        Verdict::NotModified => Ok((StatusCode::NOT_MODIFIED, fields).into_response()),
        Verdict::Proceed => Ok((fields, text).into_response()),
    }
}

/// Returns the preconditions that a feed supports. Its entries may become fewer without a newer one, so times say
/// nothing.
fn only_tags(headers: &HeaderMap) -> HeaderMap {
    let tags = headers.get_all(header::IF_NONE_MATCH).iter().cloned();
    tags.map(|tag| (header::IF_NONE_MATCH, tag)).fold(HeaderMap::new(), |mut kept, (name, tag)| {
        kept.append(name, tag);
        kept
    })
}

/// The beginning of a feed.
struct Head<'a> {
    /// Address of the feed, which is its identifier.
    address: &'a str,
    /// Address of the page that shows the same.
    page: &'a str,
    title: &'a str,
    updated: Timestamp,
}

impl Head<'_> {
    fn write(&self) -> String {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
        text += "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n";
        element(&mut text, "id", self.address);
        element(&mut text, "title", self.title);
        element(&mut text, "updated", &time::format(self.updated));
        text += "<author><name>Strongroom</name></author>\n<generator>Strongroom</generator>\n";
        let address = escaped(self.address);
        let _ = writeln!(text, "<link rel=\"self\" type=\"application/atom+xml\" href=\"{address}\"/>");
        let _ = writeln!(text, "<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>", escaped(self.page));
        text
    }
}

/// An entry of a feed.
struct Entry<'a> {
    id: &'a str,
    title: &'a str,
    updated: Timestamp,
    link: &'a str,
    /// Its author; empty for none.
    author: &'a str,
    summary: &'a str,
}

impl Entry<'_> {
    fn write(&self, text: &mut String) {
        *text += "<entry>\n";
        element(text, "id", self.id);
        element(text, "title", self.title);
        element(text, "updated", &time::format(self.updated));
        let _ = writeln!(text, "<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>", escaped(self.link));
        if !self.author.is_empty() {
            let _ = writeln!(text, "<author><name>{}</name></author>", escaped(self.author));
        }
        element(text, "summary", self.summary);
        *text += "</entry>\n";
    }
}

/// A feed of what changed below an item.
pub struct ActivityFeed<'a> {
    /// Scheme and host under which readers know this server.
    pub origin: &'a str,
    /// The item.
    pub place: &'a Item,
    /// The changes, the newest first.
    pub events: &'a [ItemEvent],
    /// The people who made them.
    pub names: &'a Names,
}

impl ActivityFeed<'_> {
    /// Writes the feed. Equal changes give equal text.
    pub fn write(&self) -> String {
        let (origin, id) = (self.origin, self.place.id);
        let address = format!("{origin}/api/v1/items/{id}/feed");
        let page = format!("{origin}/items/{id}/activity");
        let updated = self.events.iter().map(|event| event.at).max().unwrap_or(self.place.created_at);
        let mut text =
            Head { address: &address, page: &page, title: &format!("Activity in {}", self.place.name), updated }
                .write();
        for event in self.events {
            let link = format!("{origin}/items/{}/open", event.item.id);
            let entry = Entry {
                id: &format!("{link}#{}-{}", event.at.micros(), event.action),
                title: event.item.shown_name(),
                updated: event.at,
                link: &link,
                author: &self.names.optional_person(event.actor).map(|person| person.name).unwrap_or_default(),
                summary: &match event.items {
                    1 => format!("{}: {}", event.action, event.item.path),
                    rows if event.are_more => format!("{}: {} ({rows} rows or more)", event.action, event.item.path),
                    rows => format!("{}: {} ({rows} rows)", event.action, event.item.path),
                },
            };
            entry.write(&mut text);
        }
        text + "</feed>\n"
    }
}

/// A feed of documents.
pub struct Feed<'a> {
    /// Scheme and host under which readers know this server.
    pub origin: &'a str,
    /// The search with its documents, the newest change first.
    pub documents: &'a NewDocuments,
    /// The people who changed them.
    pub names: &'a Names,
    /// Time zone of the days of a daily alert.
    pub zone: &'a Zone,
}

impl Feed<'_> {
    /// Writes the feed. Equal documents give equal text.
    pub fn write(&self) -> String {
        let (search, items) = (&self.documents.search, &self.documents.found.items);
        let updated = items.iter().map(|found| found.item.modified_at).max().unwrap_or(search.created_at);
        let address = format!("{}/api/v1/saved-searches/{}/feed", self.origin, search.id);
        let query = segments::encode_query(&search.query);
        let page = format!("{}/search?q={query}&sort={}", self.origin, search.order.as_str());
        let mut text = Head { address: &address, page: &page, title: &search.name, updated }.write();
        if search.alert == SearchAlert::Daily {
            let mut days: BTreeMap<String, Vec<&FoundItem>> = BTreeMap::new();
            for found in items {
                days.entry(day(self.zone, found.item.modified_at)).or_default().push(found);
            }
            days.iter().rev().for_each(|(day, items)| self.day(&mut text, &address, &page, day, items));
        } else {
            items.iter().for_each(|found| self.document(&mut text, found));
        }
        text + "</feed>\n"
    }

    /// Writes the entry of a document. Another version of it is another entry.
    fn document(&self, text: &mut String, found: &FoundItem) {
        let (item, link) = (&found.item, self.link(found));
        let entry = Entry {
            id: &format!("{link}#{}", item.etag()),
            title: item.shown_name(),
            updated: item.modified_at,
            link: &link,
            author: &self.names.person(item.modified_by).name,
            summary: &passage(found).unwrap_or_else(|| item.path.clone()),
        };
        entry.write(text);
    }

    /// Writes the entry of a day.
    fn day(&self, text: &mut String, address: &str, page: &str, day: &str, items: &[&FoundItem]) {
        let updated = items.iter().map(|found| found.item.modified_at).max();
        *text += "<entry>\n";
        element(text, "id", &format!("{address}#{day}"));
        element(text, "title", &format!("{}, {day}", self.documents.search.name));
        element(text, "updated", &updated.map_or_else(|| format!("{day}T00:00:00Z"), time::format));
        let _ = writeln!(text, "<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>", escaped(page));
        *text += "<content type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\"><ul>\n";
        for found in items {
            let (link, author) = (self.link(found), self.names.person(found.item.modified_by).name);
            let _ = write!(text, "<li><a href=\"{}\">{}</a>", escaped(&link), escaped(found.item.shown_name()));
            if !author.is_empty() {
                let _ = write!(text, " ({})", escaped(&author));
            }
            if let Some(passage) = passage(found) {
                let _ = write!(text, "<br/>{}", escaped(&passage));
            }
            *text += "</li>\n";
        }
        *text += "</ul></div></content>\n</entry>\n";
    }

    /// Returns the address that opens a document, wherever it is moved.
    fn link(&self, found: &FoundItem) -> String {
        format!("{}/items/{}/open", self.origin, found.item.id)
    }
}

/// Returns the day of a time, as in `2026-11-30`.
fn day(zone: &Zone, at: Timestamp) -> String {
    zone.local(at).map_or_else(String::new, |at| format!("{:04}-{:02}-{:02}", at.year, at.month, at.day))
}

/// Returns the passage of a document as text.
fn passage(found: &FoundItem) -> Option<String> {
    let passage = found.passage.as_ref()?;
    let more = |is_more: bool| if is_more { "…" } else { "" };
    let pieces: String = passage.pieces.iter().map(|piece| piece.text.as_str()).collect();
    Some(format!("{}{pieces}{}", more(passage.more.0), more(passage.more.1)))
}

fn element(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "<{name}>{}</{name}>", escaped(value));
}

/// Returns a text for XML 1.0, in content and in attributes. Leaves out characters that XML cannot have.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_as_xml_has_them() {
        assert_eq!(escaped("a <b> & \"c\"\n\u{0}\u{1b}\u{ffff}d"), "a &lt;b&gt; &amp; &quot;c&quot; d");
        assert_eq!(day(&Zone::UTC, Timestamp::from_micros(86_400_000_000 * 2 - 1)), "1970-01-02");
    }
}

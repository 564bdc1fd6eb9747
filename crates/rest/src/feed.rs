//! The Atom feed (RFC 4287) of a saved search.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::{SearchAlert, Timestamp};
use repository::{FoundItem, NewDocuments};

use http_core::protocol::{segments, time};

use super::wire::item::Names;

/// A feed of documents.
pub struct Feed<'a> {
    /// Scheme and host under which readers know this server.
    pub origin: &'a str,
    /// The search with its documents, the newest change first.
    pub documents: &'a NewDocuments,
    /// The people who changed them.
    pub names: &'a Names,
}

impl Feed<'_> {
    /// Writes the feed. Equal documents give equal text.
    pub fn write(&self) -> String {
        let (search, items) = (&self.documents.search, &self.documents.found.items);
        let updated = items.iter().map(|found| found.item.modified_at).max().unwrap_or(search.created_at);
        let address = format!("{}/api/v1/saved-searches/{}/feed", self.origin, search.id);
        let query = segments::encode_query(&search.query);
        let page = format!("{}/search?q={query}&sort={}", self.origin, search.order.as_str());
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
        text += "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n";
        element(&mut text, "id", &address);
        element(&mut text, "title", &search.name);
        element(&mut text, "updated", &time::format(updated));
        text += "<author><name>Strongroom</name></author>\n<generator>Strongroom</generator>\n";
        let _ = writeln!(text, "<link rel=\"self\" type=\"application/atom+xml\" href=\"{}\"/>", escaped(&address));
        let _ = writeln!(text, "<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>", escaped(&page));
        if search.alert == SearchAlert::Daily {
            let mut days: BTreeMap<String, Vec<&FoundItem>> = BTreeMap::new();
            for found in items {
                days.entry(day(found.item.modified_at)).or_default().push(found);
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
        *text += "<entry>\n";
        element(text, "id", &format!("{link}#{}", item.etag()));
        element(text, "title", item.shown_name());
        element(text, "updated", &time::format(item.modified_at));
        let _ = writeln!(text, "<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>", escaped(&link));
        let author = self.names.person(item.modified_by).name;
        if !author.is_empty() {
            let _ = writeln!(text, "<author><name>{}</name></author>", escaped(&author));
        }
        element(text, "summary", &passage(found).unwrap_or_else(|| item.path.clone()));
        *text += "</entry>\n";
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

fn day(at: Timestamp) -> String {
    time::format(at).chars().take_while(|c| *c != 'T').collect()
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
        assert_eq!(day(Timestamp::from_micros(86_400_000_000 * 2 - 1)), "1970-01-02");
    }
}

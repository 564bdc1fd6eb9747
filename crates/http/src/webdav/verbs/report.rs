//! REPORT: the versions of a document (DAV:version-tree of RFC 3253, 3.7).

use axum::body::Body;
use axum::http::StatusCode;
use model::{Error, MAX_PAGE};
use repository::Version;

use crate::protocol::conditional;
use crate::rest::wire::time;
use crate::webdav::error::{Outcome, xml_response};
use crate::webdav::request::Ask;
use crate::webdav::wire::bodies::{self, PropertyName};
use crate::webdav::wire::multistatus::{BEGIN, END, Properties};
use crate::webdav::wire::xml;

/// Most versions that are told at once.
const MOST: usize = 50_000;

/// Tells the versions of a document, newest first.
pub async fn answer(ask: Ask, body: Body) -> Outcome {
    let report = bodies::report(&ask.xml(body).await?)?;
    if report.name.namespace != xml::DAV || report.name.name != "version-tree" {
        let error = Error::forbidden("the only report that there is is DAV:version-tree").with_code("unknown_report");
        return Err(error.into());
    }
    let (mut versions, mut before) = (Vec::new(), None);
    loop {
        let page = ask.session.versions(&ask.target(), before, MAX_PAGE).await?;
        versions.extend(page.items);
        before = page.next;
        if before.is_none() || versions.len() >= MOST {
            break;
        }
    }
    let ids: Vec<_> = versions.iter().map(|version| version.created_by).collect();
    let people = ask.session.principal_names(&ids).await?;
    let mut out = BEGIN.to_owned();
    for (index, version) in versions.iter().enumerate() {
        let author = people.get(&version.created_by).map_or("", |person| person.name.as_str());
        let of = |version: &Version| format!("{}?version={}", ask.href, version.number);
        let older = versions.get(index + 1).map(of);
        let newer = index.checked_sub(1).and_then(|index| versions.get(index)).map(of);
        let told = Told { version, author, older, newer };
        let mut properties = Properties::default();
        for name in &report.properties {
            told.add(&mut properties, name);
        }
        properties.response(&mut out, &of(version));
    }
    out.push_str(END);
    Ok(xml_response(StatusCode::MULTI_STATUS, out))
}

struct Told<'a> {
    version: &'a Version,
    author: &'a str,
    older: Option<String>,
    newer: Option<String>,
}

impl Told<'_> {
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
            "creationdate" => properties.live("creationdate", &time::format(version.created_at)),
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

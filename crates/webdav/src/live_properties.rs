//! Live properties: those that the server computes for an item.

use model::{NodeKind, Right, Timestamp};
use repository::{Details, Lock, Space};

use super::wire::bodies::{Asked, PropertyName};
use super::wire::multistatus::Properties;
use super::wire::{href, xml};
use http_core::protocol::{conditional, time};

/// Names of all live properties. Clients cannot set them. An `allprop` response has the first [`USUAL`] of them, so a
/// new one is added at the end.
pub const NAMES: [&str; 14] = [
    "creationdate",
    "displayname",
    "getcontentlength",
    "getcontenttype",
    "getetag",
    "getlastmodified",
    "lockdiscovery",
    "resourcetype",
    "supportedlock",
    "version-name",
    "supported-report-set",
    "quota-used-bytes",
    "quota-available-bytes",
    "supported-query-grammar-set",
];
/// Number of live properties in an `allprop` response: the first ones of [`NAMES`]. The others are more expensive or
/// rarely needed.
const USUAL: usize = 9;

/// Returns whether a property is live.
pub fn is_live(name: &PropertyName) -> bool {
    name.namespace == xml::DAV && NAMES.contains(&name.name.as_str())
}

/// Returns whether a request includes dead properties, which clients store with items.
pub fn wants_dead(asked: &Asked) -> bool {
    match asked {
        Asked::All(_) | Asked::Names => true,
        Asked::Named(names) => names.iter().any(|name| !is_live(name)),
    }
}

/// Returns whether a request includes the live property with this name.
pub fn wants(asked: &Asked, name: &str) -> bool {
    let is_it = |wanted: &PropertyName| wanted.namespace == xml::DAV && wanted.name == name;
    match asked {
        Asked::All(others) => NAMES[..USUAL].contains(&name) || others.iter().any(is_it),
        Asked::Names => NAMES[..USUAL].contains(&name),
        Asked::Named(names) => names.iter().any(is_it),
    }
}

/// Returns whether items of this kind contain others.
pub fn is_collection(kind: NodeKind) -> bool {
    kind.is_container()
}

/// Writes the response element for one item. `edit_href` takes the place of its address below `/dav`.
pub fn response(out: &mut String, details: &Details, asked: &Asked, space: Option<Space>, edit_href: Option<&str>) {
    let item = &details.item;
    let mut found = Properties::default();
    match asked {
        Asked::All(others) => {
            for name in &NAMES[..USUAL] {
                add(&mut found, details, name, space, edit_href);
            }
            for property in &details.properties {
                found.found.push_str(&property.value);
            }
            for name in others.iter().filter(|name| !NAMES[..USUAL].contains(&name.name.as_str())) {
                one(&mut found, details, name, space, edit_href);
            }
        }
        Asked::Names => {
            let mut probe = Properties::default();
            for name in &NAMES[..USUAL] {
                if add(&mut probe, details, name, space, edit_href) {
                    found.found.push_str(&format!("<D:{name}/>"));
                }
            }
            for property in &details.properties {
                xml::write_empty(&mut found.found, &property.namespace, &property.name);
            }
        }
        Asked::Named(names) => {
            for name in names {
                one(&mut found, details, name, space, edit_href);
            }
        }
    }
    match edit_href {
        Some(href) => found.response(out, href),
        None => found.response(out, &href::write(&item.path, is_collection(item.kind))),
    }
}

/// Returns whether an item has a property, live or dead.
pub fn has(details: &Details, name: &PropertyName, space: Option<Space>) -> bool {
    let mut probe = Properties::default();
    one(&mut probe, details, name, space, None);
    probe.missing.is_empty()
}

fn one(found: &mut Properties, details: &Details, name: &PropertyName, space: Option<Space>, edit_href: Option<&str>) {
    if name.namespace == xml::DAV && add(found, details, &name.name, space, edit_href) {
        return;
    }
    let is_it = |property: &&repository::Property| property.namespace == name.namespace && property.name == name.name;
    match details.properties.iter().find(is_it) {
        Some(property) => found.found.push_str(&property.value),
        None => found.lacks(name),
    }
}

/// Adds a live property. Returns false when the item does not have it.
fn add(found: &mut Properties, details: &Details, name: &str, space: Option<Space>, edit_href: Option<&str>) -> bool {
    let item = &details.item;
    let (document, readable) = (item.kind == NodeKind::Document, item.rights.has(Right::View));
    let lockable = matches!(item.kind, NodeKind::Document | NodeKind::Folder);
    match name {
        "resourcetype" if document => found.live(name, ""),
        "resourcetype" => found.live(name, "<D:collection/>"),
        "displayname" => found.text(name, &item.name),
        // An item shown only because it leads to another one reveals its name and nothing more.
        _ if !readable => return false,
        "creationdate" => found.live(name, &creation_date(item.created_at)),
        "getlastmodified" => found.live(name, &conditional::format_date(item.modified_at)),
        "getcontentlength" if document => found.live(name, &item.size.to_string()),
        "getcontenttype" if document => found.text(name, &item.media_type),
        "getetag" if document => found.text(name, &format!("\"{}\"", item.etag())),
        "lockdiscovery" => found.live(name, &discovery(&details.locks, edit_href)),
        "supportedlock" if lockable => found.live(name, SUPPORTED_LOCKS),
        "supportedlock" => found.live(name, ""),
        "version-name" if document => found.live(name, &item.version.to_string()),
        "supported-report-set" if document => found.live(name, VERSION_TREE),
        "supported-report-set" => found.live(name, ""),
        "supported-query-grammar-set" => found.live(name, BASIC_SEARCH),
        "quota-used-bytes" if !document => match space {
            Some(space) => found.live(name, &space.used.to_string()),
            None => return false,
        },
        "quota-available-bytes" if !document => match space.and_then(|space| space.available) {
            Some(available) => found.live(name, &available.to_string()),
            None => return false,
        },
        _ => return false,
    }
    true
}

const SUPPORTED_LOCKS: &str = "<D:lockentry><D:lockscope><D:exclusive/></D:lockscope>\
    <D:locktype><D:write/></D:locktype>\
    </D:lockentry><D:lockentry><D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>";
const BASIC_SEARCH: &str =
    "<D:supported-query-grammar><D:grammar><D:basicsearch/></D:grammar></D:supported-query-grammar>";
const VERSION_TREE: &str = "<D:supported-report><D:report><D:version-tree/></D:report></D:supported-report>";

/// Formats the time of `creationdate`, without fractions of seconds, which some clients cannot parse.
pub fn creation_date(time: Timestamp) -> String {
    time::format(Timestamp::from_micros(time.seconds().saturating_mul(1_000_000)))
}

/// Returns the content of `lockdiscovery`. `edit_href` takes the place of the document's address below `/dav`.
pub fn discovery(locks: &[Lock], edit_href: Option<&str>) -> String {
    let now = Timestamp::now();
    let mut out = String::new();
    for lock in locks {
        let scope = if lock.exclusive { "exclusive" } else { "shared" };
        let depth = if lock.deep { "infinity" } else { "0" };
        let left = (lock.expires_at.micros().saturating_sub(now.micros())).max(0) / 1_000_000;
        out.push_str(&format!(
            "<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:{scope}/></D:lockscope>\
             <D:depth>{depth}</D:depth><D:owner>{}</D:owner><D:timeout>Second-{left}</D:timeout>",
            lock.owner
        ));
        // Withheld from callers who neither hold the lock nor may end it (RFC 4918, section 15.8).
        if let Some(token) = lock.token() {
            out.push_str(&format!("<D:locktoken><D:href>{token}</D:href></D:locktoken>"));
        }
        if let Some(path) = &lock.path {
            out.push_str("<D:lockroot><D:href>");
            let usual = || href::write(path, lock.collection);
            xml::escape(&mut out, &edit_href.filter(|_| !lock.collection).map_or_else(usual, ToOwned::to_owned));
            out.push_str("</D:href></D:lockroot>");
        }
        out.push_str("</D:activelock>");
    }
    out
}

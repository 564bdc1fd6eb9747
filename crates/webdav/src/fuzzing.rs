//! Entry points for the fuzz targets of WebDAV: bodies and header fields.

use model::NodePath;

use super::wire::bodies::{self, PropertyName};
use super::wire::condition::{self, If, List, State};
use super::wire::evaluation::{Subject, Value};
use super::wire::xml::{self, Element, Node};
use super::wire::{headers, href, query};

/// Parses a document, and checks that the written form parses to the same tree.
pub fn xml(input: &[u8]) {
    let Ok(element) = xml::parse(input) else { return };
    // Writing may add a namespace declaration for each attribute, and escapes lengthen namespaces. Such documents may
    // exceed the parser's limits when parsed again.
    if most_attributes(&element) > 49 || most_declared(&element) > 200 || longest_namespace(&element) > 170 {
        return;
    }
    let Some(written) = element.written(usize::MAX) else { return };
    let foreign = |c| (c < ' ' && c != '\t' && c != '\n') || c == '\u{fffe}' || c == '\u{ffff}';
    assert!(!written.contains(foreign), "{written:?}");
    let again = xml::parse(written.as_bytes());
    assert_eq!(again.as_ref().ok(), Some(&element), "{written:?}: {again:?}");
    let _ = (element.text(), element.language(), element.keeps_space());
}

fn inner(element: &Element, of: fn(&Element) -> usize) -> usize {
    element.children.iter().map(|node| if let Node::Element(inner) = node { of(inner) } else { 0 }).max().unwrap_or(0)
}

fn most_attributes(element: &Element) -> usize {
    element.attributes.len().max(inner(element, most_attributes))
}

/// Returns an upper bound for the namespace declarations in force after writing.
fn most_declared(element: &Element) -> usize {
    1 + element.attributes.len() + inner(element, most_declared)
}

fn longest_namespace(element: &Element) -> usize {
    let attributes = element.attributes.iter().map(|(namespace, ..)| namespace.len()).max().unwrap_or(0);
    element.namespace.len().max(attributes).max(inner(element, longest_namespace))
}

struct Thing;

impl Subject for Thing {
    fn value(&self, name: &PropertyName) -> Option<Value<'_>> {
        Some(match name.name.as_str() {
            "getcontentlength" => Value::Number(1_000),
            "getlastmodified" => Value::Time(784_111_777),
            "displayname" => Value::Text("Öffentlich ab aab aaab.txt".repeat(10).into()),
            _ => return None,
        })
    }

    fn has(&self, name: &PropertyName) -> bool {
        self.value(name).is_some()
    }

    fn is_collection(&self) -> bool {
        false
    }

    fn contains(&self, text: &str) -> Option<bool> {
        (!text.is_ascii()).then_some(true)
    }
}

/// Parses bodies of PROPFIND, PROPPATCH, LOCK, REPORT and SEARCH.
pub fn dav_bodies(input: &[u8]) {
    let _ = bodies::propfind(input);
    if let Ok(patches) = bodies::proppatch(input) {
        assert!(!patches.is_empty());
        assert!(patches.len() <= 1_000);
        assert!(patches.iter().all(|patch| !patch.name().name.is_empty()));
    }
    if let Ok(Some(wish)) = bodies::lock(input) {
        let owner = format!("<owner>{}</owner>", wish.owner);
        let read = xml::parse(owner.as_bytes());
        assert!(read.is_ok() || wish.owner.len() > 100, "{owner:?}: {read:?}");
    }
    let _ = bodies::report(input);
    if let Ok(query) = query::read(input) {
        assert!(query.properties().count() <= 72);
        assert!(query.condition.as_ref().is_none_or(|condition| condition.contained().len() <= 4));
        let holds = query.condition.as_ref().map(|condition| condition.holds(&Thing));
        assert_eq!(holds, query.condition.as_ref().map(|condition| condition.holds(&Thing)));
    }
}

fn written(field: &If) -> String {
    let (mut text, mut resource) = (String::new(), &None);
    for List { resource: of, conditions } in &field.0 {
        if of != resource {
            resource = of;
            text.push_str(&format!("<{}> ", of.as_deref().unwrap_or_default()));
        }
        text.push('(');
        for condition in conditions {
            text.push_str(if condition.not { "Not " } else { "" });
            match &condition.state {
                State::Token(token) => text.push_str(&format!("<{token}>")),
                State::Etag(tag) => text.push_str(&format!("[{tag}]")),
            }
        }
        text.push_str(") ");
    }
    text
}

/// Parses the `If` field.
pub fn if_field(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(field) = condition::parse(text) else { return };
    let again = condition::parse(&written(&field));
    assert_eq!(again.as_ref().ok(), Some(&field), "{}", written(&field));
    let tokens = field.tokens();
    let present = condition::Present { etag: Some("\"a\"".to_owned()), tokens: tokens.clone() };
    for list in &field.0 {
        let wants = |state: &State| match state {
            State::Token(token) => tokens.contains(token),
            State::Etag(tag) => tag == "\"a\"",
        };
        assert_eq!(list.holds(&present), list.conditions.iter().all(|one| one.not != wants(&one.state)));
        let _ = list.names_etag();
    }
}

/// Parses the other header fields of WebDAV, and the URLs in them.
pub fn dav_headers(input: &[u8]) {
    let fields = http_core::protocol::fuzzing::headers(input);
    let _ = (headers::depth(&fields), headers::overwrite(&fields), headers::condition(&fields));
    let _ = (headers::timeout(&fields), headers::lock_token(&fields));
    let destination = headers::destination(&fields).ok();
    let given = std::str::from_utf8(input).ok().and_then(|text| headers::local_path(&fields, text).ok());
    for path in destination.into_iter().chain(given) {
        assert!(path.starts_with('/'));
        assert!(!path.contains(['?', '#']));
        let Ok(names) = href::parse(&path) else { continue };
        let read = |collection| href::parse(&href::write(&names.to_string(), collection));
        let same = |found: model::Result<NodePath>| found.is_ok_and(|found| found == names);
        assert!(same(read(false)), "{names:?}");
        assert!(same(read(true)), "{names:?}");
    }
}

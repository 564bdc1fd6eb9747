//! XML as small trees with resolved namespaces. Refused: document types (and with them all entities of one's own), more than a
//! bounded number and depth of elements, more than a bounded number of attributes of one, characters that XML does not have.

use model::{Error, Result};
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

/// The namespace of WebDAV itself.
pub const DAV: &str = "DAV:";
/// The namespace of `xml:lang` and `xml:space`.
const XML: &str = "http://www.w3.org/XML/1998/namespace";
/// The namespace of declarations of namespaces.
const XMLNS: &str = "http://www.w3.org/2000/xmlns/";
/// Most elements of one body.
const MOST_ELEMENTS: usize = 10_000;
/// Most attributes of one element, those that declare namespaces included.
const MOST_ATTRIBUTES: usize = 100;
/// Deepest nesting.
const DEEPEST: usize = 64;

/// An element with everything in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its namespace; empty for none.
    pub namespace: String,
    /// Its local name.
    pub name: String,
    /// Namespace, local name and value of each attribute.
    pub attributes: Vec<(String, String, String)>,
    /// What is in it.
    pub children: Vec<Node>,
}

/// A piece of an element's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// An element.
    Element(Element),
    /// Text, without escapes.
    Text(String),
}

fn bad(why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the XML body cannot be read: {why}")).with_code("invalid_xml")
}

/// Reads a document.
pub fn parse(bytes: &[u8]) -> Result<Element> {
    let text = std::str::from_utf8(bytes).map_err(|_| bad("it is not UTF-8"))?;
    let mut reader = NsReader::from_str(text.trim_start_matches('\u{feff}'));
    let (mut open, mut root, mut count): (Vec<Element>, Option<Element>, usize) = (Vec::new(), None, 0);
    loop {
        let event = reader.read_event().map_err(bad)?;
        let text = match event {
            Event::Start(start) => {
                count += 1;
                if count > MOST_ELEMENTS || open.len() >= DEEPEST {
                    return Err(bad(format!("it has more than {MOST_ELEMENTS} elements, or {DEEPEST} in each other")));
                }
                open.push(element(&reader, &start)?);
                continue;
            }
            Event::Empty(start) => {
                count += 1;
                if count > MOST_ELEMENTS {
                    return Err(bad(format!("it has more than {MOST_ELEMENTS} elements")));
                }
                let element = element(&reader, &start)?;
                close(element, &mut open, &mut root)?;
                continue;
            }
            Event::End(_) => {
                let element = open.pop().ok_or_else(|| bad("an element ends that did not begin"))?;
                close(element, &mut open, &mut root)?;
                continue;
            }
            Event::Text(text) => text.xml10_content().map_err(bad)?.into_owned(),
            Event::CData(data) => data.xml10_content().map_err(bad)?.into_owned(),
            Event::GeneralRef(reference) => match reference.resolve_char_ref().map_err(bad)? {
                Some(character) => character.to_string(),
                None => predefined(&reference.decode().map_err(bad)?)?.to_owned(),
            },
            Event::DocType(_) => return Err(bad("document types are not taken")),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => continue,
            Event::Eof => break,
        };
        if !text.chars().all(is_xml) {
            return Err(bad("it has a character that XML does not have"));
        }
        match open.last_mut() {
            Some(element) => element.add_text(text),
            None if text.trim().is_empty() => {}
            None => return Err(bad("there is text outside of its element")),
        }
    }
    if !open.is_empty() {
        return Err(bad("it ends before its elements do"));
    }
    root.ok_or_else(|| bad("it has no element"))
}

fn close(element: Element, open: &mut [Element], root: &mut Option<Element>) -> Result<()> {
    match open.last_mut() {
        Some(parent) => parent.children.push(Node::Element(element)),
        None if root.is_none() => *root = Some(element),
        None => return Err(bad("it has more than one element")),
    }
    Ok(())
}

fn element(reader: &NsReader<&[u8]>, start: &BytesStart<'_>) -> Result<Element> {
    let (namespace, name) = reader.resolver().resolve_element(start.name());
    let mut element = Element {
        namespace: resolved(&namespace)?,
        name: String::from_utf8_lossy(name.as_ref()).into_owned(),
        ..Element::default()
    };
    if !is_name(&element.name) {
        return Err(bad("an element has no name that XML allows"));
    }
    // Neither could be written again.
    if element.namespace == XML || element.namespace == XMLNS {
        return Err(bad("an element is in a namespace that XML keeps for itself"));
    }
    for (count, attribute) in start.attributes().enumerate() {
        // Each is compared with those before it.
        if count >= MOST_ATTRIBUTES {
            return Err(bad(format!("an element has more than {MOST_ATTRIBUTES} attributes")));
        }
        let attribute = attribute.map_err(bad)?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(bad)?.into_owned();
        if !value.chars().all(is_xml) {
            return Err(bad("it has a character that XML does not have"));
        }
        if let Some(declared) = attribute.key.as_namespace_binding() {
            if value.is_empty() && !matches!(declared, quick_xml::name::PrefixDeclaration::Default) {
                return Err(bad("a prefix stands for no namespace"));
            }
            continue;
        }
        let (namespace, name) = reader.resolver().resolve_attribute(attribute.key);
        let name = String::from_utf8_lossy(name.as_ref()).into_owned();
        if !is_name(&name) {
            return Err(bad("an attribute has no name that XML allows"));
        }
        element.attributes.push((resolved(&namespace)?, name, value));
    }
    Ok(element)
}

fn resolved(namespace: &ResolveResult<'_>) -> Result<String> {
    match namespace {
        ResolveResult::Unbound => Ok(String::new()),
        ResolveResult::Bound(namespace) => {
            let text = std::str::from_utf8(namespace.as_ref()).map_err(|_| bad("it is not UTF-8"))?;
            let text = quick_xml::escape::unescape(text).map_err(bad)?.into_owned();
            if !text.chars().all(is_xml) {
                return Err(bad("it has a character that XML does not have"));
            }
            if text.chars().any(char::is_whitespace) { Err(bad("a namespace has a space")) } else { Ok(text) }
        }
        ResolveResult::Unknown(_) => Err(bad("a prefix stands for no namespace")),
    }
}

/// Whether a local name can be written again as it is.
fn is_name(name: &str) -> bool {
    let starts = |c: char| c == '_' || c.is_alphabetic() || (!c.is_ascii() && !c.is_control());
    let goes_on = |c: char| starts(c) || c.is_alphanumeric() || c == '-' || c == '.';
    name.chars().next().is_some_and(starts) && name.chars().all(goes_on)
}

fn predefined(name: &str) -> Result<&'static str> {
    match name {
        "amp" => Ok("&"),
        "lt" => Ok("<"),
        "gt" => Ok(">"),
        "quot" => Ok("\""),
        "apos" => Ok("'"),
        _ => Err(bad("it names an entity that it does not have")),
    }
}

/// Whether XML 1.0 can hold a character.
fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

impl Element {
    /// Whether it is the element of WebDAV with this name.
    pub fn is(&self, name: &str) -> bool {
        self.namespace == DAV && self.name == name
    }

    /// The elements in it.
    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// The first element of WebDAV with this name in it.
    pub fn dav(&self, name: &str) -> Option<&Element> {
        self.elements().find(|element| element.is(name))
    }

    /// The value of an attribute without a namespace.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(namespace, own, _)| namespace.is_empty() && own == name);
        found.map(|(_, _, value)| value.as_str())
    }

    /// All text in it, that of the elements in it included.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.add_all_text(&mut text);
        text
    }

    /// Whether space at the beginning and the end of its text counts.
    pub fn keeps_space(&self) -> bool {
        let found = self.attributes.iter().find(|(namespace, name, _)| namespace == XML && name == "space");
        found.is_some_and(|(_, _, value)| value == "preserve")
    }

    /// The language that it names.
    pub fn language(&self) -> Option<&str> {
        let found = self.attributes.iter().find(|(namespace, name, _)| namespace == XML && name == "lang");
        found.map(|(_, _, value)| value.as_str())
    }

    /// Names a language unless it has one.
    pub fn set_language(&mut self, language: &str) {
        if self.language().is_none() {
            self.attributes.push((XML.to_owned(), "lang".to_owned(), language.to_owned()));
        }
    }

    fn add_all_text(&self, out: &mut String) {
        for node in &self.children {
            match node {
                Node::Element(element) => element.add_all_text(out),
                Node::Text(text) => out.push_str(text),
            }
        }
    }

    fn add_text(&mut self, text: String) {
        match self.children.last_mut() {
            Some(Node::Text(before)) => before.push_str(&text),
            _ => self.children.push(Node::Text(text)),
        }
    }

    /// The element as text that needs nothing from around it.
    pub fn write(&self, out: &mut String) {
        begin(out, &self.namespace, &self.name);
        for (index, (namespace, name, value)) in self.attributes.iter().enumerate() {
            if namespace == XML {
                out.push_str(" xml:");
            } else if namespace.is_empty() {
                out.push(' ');
            } else {
                out.push_str(&format!(" xmlns:a{index}=\""));
                escape(out, namespace);
                out.push_str(&format!("\" a{index}:"));
            }
            out.push_str(name);
            out.push_str("=\"");
            escape(out, value);
            out.push('"');
        }
        if self.children.is_empty() {
            out.push_str("/>");
            return;
        }
        out.push('>');
        self.write_content(out);
        out.push_str("</");
        out.push_str(&self.name);
        out.push('>');
    }

    /// What is in it, as text that needs nothing from around it.
    pub fn write_content(&self, out: &mut String) {
        for node in &self.children {
            match node {
                Node::Element(element) => element.write(out),
                Node::Text(text) => escape(out, text),
            }
        }
    }
}

/// An element with nothing in it.
pub fn write_empty(out: &mut String, namespace: &str, name: &str) {
    begin(out, namespace, name);
    out.push_str("/>");
}

fn begin(out: &mut String, namespace: &str, name: &str) {
    out.push('<');
    out.push_str(name);
    out.push_str(" xmlns=\"");
    escape(out, namespace);
    out.push('"');
}

/// Appends text; what XML cannot hold becomes the character that stands for the unknown.
pub fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\r' => out.push_str("&#13;"),
            c if is_xml(c) => out.push(c),
            _ => out.push('\u{fffd}'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str) -> String {
        let mut out = String::new();
        parse(text.as_bytes()).unwrap().write(&mut out);
        out
    }

    #[test]
    fn elements_come_back_with_their_namespaces() {
        let cases = [
            ("<a/>", "<a xmlns=\"\"/>"),
            ("<p:a xmlns:p='u&amp;v'>x &lt; &#x10000;</p:a>", "<a xmlns=\"u&amp;v\">x &lt; \u{10000}</a>"),
            ("<a xmlns='u'><b xmlns=''>1</b><c/></a>", "<a xmlns=\"u\"><b xmlns=\"\">1</b><c xmlns=\"u\"/></a>"),
            ("<a xml:lang='de' x='1'/>", "<a xmlns=\"\" xml:lang=\"de\" x=\"1\"/>"),
            ("<a xmlns:q='u' q:x='\"'/>", "<a xmlns=\"\" xmlns:a0=\"u\" a0:x=\"&quot;\"/>"),
            ("\u{feff}<?xml version='1.0'?><!-- c --><a><![CDATA[<b>]]></a>\n", "<a xmlns=\"\">&lt;b&gt;</a>"),
        ];
        for (text, expected) in cases {
            assert_eq!(again(text), expected, "{text}");
            assert_eq!(again(expected), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_well_formed_or_dangerous_is_refused() {
        let deep = "<a>".repeat(65) + &"</a>".repeat(65);
        let crowded = format!("<a {}/>", (0..=MOST_ATTRIBUTES).map(|n| format!("b{n}='' ")).collect::<String>());
        let wide = format!("<a>{}</a>", "<b/>".repeat(MOST_ELEMENTS));
        for bad in [
            "",
            "text",
            "<a>",
            "<a></b>",
            "<a/><b/>",
            "<a/>x",
            "<p:a/>",
            "<a xmlns:p=''><p:b/></a>",
            "<D:prop xmlns:D='DAV:'><bar:foo xmlns:bar=''/></D:prop>",
            "<!DOCTYPE a><a/>",
            "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>",
            "<!DOCTYPE a [<!ENTITY x 'y'><!ENTITY z '&x;&x;'>]><a>&z;</a>",
            "<a>&unknown;</a>",
            "<a>&#0;</a>",
            "<a>\u{1}</a>",
            "<a x='1' x='2'/>",
            "<a b=\"&#1;\"/>",
            &crowded,
            &deep,
            &wide,
        ] {
            assert_eq!(parse(bad.as_bytes()).map_err(|error| error.code()), Err("invalid_xml"), "{bad:.80}");
        }
        assert!(parse(b"<a>\xff</a>").is_err());
    }
}

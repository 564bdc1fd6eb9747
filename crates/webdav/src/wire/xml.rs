//! XML as small trees with resolved namespaces. The parser refuses: document types (and with them custom entities); too
//! many or too deeply nested elements; too many attributes of one element; overlong names and namespaces; characters
//! that XML does not allow. Elements share the text of their namespaces, so a tree takes memory in proportion to its
//! input.

use std::collections::HashMap;
use std::sync::Arc;

use model::{Code, Error, Result};
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

/// Namespace of WebDAV.
pub const DAV: &str = "DAV:";
/// Namespace of `xml:lang` and `xml:space`.
const XML: &str = "http://www.w3.org/XML/1998/namespace";
/// Namespace of namespace declarations.
const XMLNS: &str = "http://www.w3.org/2000/xmlns/";
/// Limit on elements of one body.
const MAX_ELEMENTS: usize = 10_000;
/// Limit on attributes of one element, including namespace declarations.
const MAX_ATTRIBUTES: usize = 100;
/// Limit on namespace declarations in force at one element, because each name is compared with all of them.
const MAX_DECLARATIONS: usize = 200;
/// Maximum length of a name or a namespace in bytes, because a response repeats them for each item.
const MAX_NAME: usize = 1_024;
/// Maximum nesting depth.
const DEEPEST: usize = 64;

/// An element with its attributes and content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its namespace; empty for none.
    pub namespace: Arc<str>,
    /// Local name.
    pub name: String,
    /// Namespace, local name and value of each attribute.
    pub attributes: Vec<(Arc<str>, String, String)>,
    /// Content of the element.
    pub children: Vec<Node>,
}

/// A piece of an element's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// An element.
    Element(Element),
    /// Unescaped text.
    Text(String),
}

fn bad(why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the XML body cannot be read: {why}")).with_code(Code::InvalidXml)
}

/// Parses a document.
pub fn parse(bytes: &[u8]) -> Result<Element> {
    let text = std::str::from_utf8(bytes).map_err(|_| bad("it is not UTF-8"))?;
    let mut reader = NsReader::from_str(text.trim_start_matches('\u{feff}'));
    let (mut open, mut root, mut count): (Vec<Element>, Option<Element>, usize) = (Vec::new(), None, 0);
    let (mut known, mut declared) = (Namespaces::default(), Vec::new());
    loop {
        let event = reader.read_event().map_err(bad)?;
        let text = match event {
            Event::Start(start) => {
                count += 1;
                if count > MAX_ELEMENTS || open.len() >= DEEPEST {
                    return Err(bad(format!(
                        "it has more than {MAX_ELEMENTS} elements, or more than {DEEPEST} nested ones"
                    )));
                }
                declared.push(declarations(&start, &declared)?);
                open.push(element(&reader, &start, &mut known)?);
                continue;
            }
            Event::Empty(start) => {
                count += 1;
                if count > MAX_ELEMENTS {
                    return Err(bad(format!("it has more than {MAX_ELEMENTS} elements")));
                }
                declarations(&start, &declared)?;
                let element = element(&reader, &start, &mut known)?;
                close(element, &mut open, &mut root)?;
                continue;
            }
            Event::End(_) => {
                let element = open.pop().ok_or_else(|| bad("it has an end tag without a start tag"))?;
                declared.pop();
                close(element, &mut open, &mut root)?;
                continue;
            }
            Event::Text(text) => text.xml10_content().map_err(bad)?.into_owned(),
            Event::CData(data) => data.xml10_content().map_err(bad)?.into_owned(),
            Event::GeneralRef(reference) => match reference.resolve_char_ref().map_err(bad)? {
                Some(character) => character.to_string(),
                None => predefined(&reference.decode().map_err(bad)?)?.to_owned(),
            },
            Event::DocType(_) => return Err(bad("document type declarations are not accepted")),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => continue,
            Event::Eof => break,
        };
        if !text.chars().all(is_xml) {
            return Err(bad("it has a character that XML does not allow"));
        }
        match open.last_mut() {
            Some(element) => element.add_text(text),
            None if text.trim().is_empty() => {}
            None => return Err(bad("there is text outside its root element")),
        }
    }
    if !open.is_empty() {
        return Err(bad("it ends before its elements do"));
    }
    root.ok_or_else(|| bad("it has no root element"))
}

/// Returns the number of namespace declarations in force at an element, given those of its ancestors.
fn declarations(start: &BytesStart<'_>, around: &[usize]) -> Result<usize> {
    let own = start.attributes().take(MAX_ATTRIBUTES).flatten();
    let own = own.filter(|attribute| attribute.key.as_namespace_binding().is_some()).count();
    let all = around.last().copied().unwrap_or(0) + own;
    if all > MAX_DECLARATIONS {
        return Err(bad(format!("more than {MAX_DECLARATIONS} declarations of namespaces are in force at an element")));
    }
    Ok(all)
}

fn close(element: Element, open: &mut [Element], root: &mut Option<Element>) -> Result<()> {
    match open.last_mut() {
        Some(parent) => parent.children.push(Node::Element(element)),
        None if root.is_none() => *root = Some(element),
        None => return Err(bad("it has more than one root element")),
    }
    Ok(())
}

fn element(reader: &NsReader<&[u8]>, start: &BytesStart<'_>, known: &mut Namespaces) -> Result<Element> {
    let (namespace, name) = reader.resolver().resolve_element(start.name());
    let mut element = Element {
        namespace: known.resolved(&namespace)?,
        name: String::from_utf8_lossy(name.as_ref()).into_owned(),
        ..Element::default()
    };
    if !is_name(&element.name) {
        return Err(bad("an element has a name that XML does not allow, or one of more than 1,024 bytes"));
    }
    // Elements in these namespaces could not be written again.
    if [XML, XMLNS].contains(&&*element.namespace) {
        return Err(bad("an element is in a namespace that XML reserves"));
    }
    for (count, attribute) in start.attributes().enumerate() {
        // Each attribute is compared with those before it, so their number must be limited.
        if count >= MAX_ATTRIBUTES {
            return Err(bad(format!("an element has more than {MAX_ATTRIBUTES} attributes")));
        }
        let attribute = attribute.map_err(bad)?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(bad)?.into_owned();
        if !value.chars().all(is_xml) {
            return Err(bad("it has a character that XML does not allow"));
        }
        if let Some(declared) = attribute.key.as_namespace_binding() {
            if value.is_empty() && !matches!(declared, quick_xml::name::PrefixDeclaration::Default) {
                return Err(bad("a prefix is bound to no namespace"));
            }
            continue;
        }
        let (namespace, name) = reader.resolver().resolve_attribute(attribute.key);
        let name = String::from_utf8_lossy(name.as_ref()).into_owned();
        if !is_name(&name) {
            return Err(bad("an attribute has a name that XML does not allow, or one of more than 1,024 bytes"));
        }
        element.attributes.push((known.resolved(&namespace)?, name, value));
    }
    Ok(element)
}

/// Namespaces seen so far, by their raw text.
#[derive(Default)]
struct Namespaces(HashMap<Vec<u8>, Arc<str>>);

impl Namespaces {
    fn resolved(&mut self, namespace: &ResolveResult<'_>) -> Result<Arc<str>> {
        let written = match namespace {
            ResolveResult::Unbound => return Ok(Arc::default()),
            ResolveResult::Bound(namespace) => namespace.as_ref(),
            ResolveResult::Unknown(_) => return Err(bad("a prefix is bound to no namespace")),
        };
        if let Some(known) = self.0.get(written) {
            return Ok(known.clone());
        }
        if written.len() > MAX_NAME {
            return Err(bad(format!("a namespace has more than {MAX_NAME} bytes")));
        }
        let text = std::str::from_utf8(written).map_err(|_| bad("it is not UTF-8"))?;
        let text = quick_xml::escape::unescape(text).map_err(bad)?;
        if !text.chars().all(is_xml) {
            return Err(bad("it has a character that XML does not allow"));
        }
        if text.chars().any(char::is_whitespace) {
            return Err(bad("a namespace has a space"));
        }
        let text: Arc<str> = text.into();
        self.0.insert(written.to_vec(), text.clone());
        Ok(text)
    }
}

/// Returns whether a local name is short and can be written again unchanged. An invalid name would break every later
/// `allprop` response about the item.
fn is_name(name: &str) -> bool {
    let goes_on = |c| {
        starts_name(c)
            || matches!(c, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
    };
    name.len() <= MAX_NAME && name.chars().next().is_some_and(starts_name) && name.chars().all(goes_on)
}

/// Returns whether a local name can begin with a character (XML 1.0, 2.3).
fn starts_name(c: char) -> bool {
    matches!(c, 'A'..='Z' | '_' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

fn predefined(name: &str) -> Result<&'static str> {
    match name {
        "amp" => Ok("&"),
        "lt" => Ok("<"),
        "gt" => Ok(">"),
        "quot" => Ok("\""),
        "apos" => Ok("'"),
        _ => Err(bad("it refers to an entity that is not defined")),
    }
}

/// Returns whether XML 1.0 allows a character.
fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

impl Element {
    /// Returns whether this is the `DAV:` element with this name.
    pub fn is(&self, name: &str) -> bool {
        &*self.namespace == DAV && self.name == name
    }

    /// Returns the child elements.
    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// Returns the first `DAV:` child element with this name.
    pub fn dav(&self, name: &str) -> Option<&Element> {
        self.elements().find(|element| element.is(name))
    }

    /// Returns the value of an attribute without a namespace.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(namespace, own, _)| namespace.is_empty() && own == name);
        found.map(|(_, _, value)| value.as_str())
    }

    /// Returns all text in the element, including that of its descendants.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.add_all_text(&mut text);
        text
    }

    /// Returns whether leading and trailing white space is significant.
    pub fn keeps_space(&self) -> bool {
        let found = self.attributes.iter().find(|(namespace, name, _)| &**namespace == XML && name == "space");
        found.is_some_and(|(_, _, value)| value == "preserve")
    }

    /// Returns the value of `xml:lang`.
    pub fn language(&self) -> Option<&str> {
        let found = self.attributes.iter().find(|(namespace, name, _)| &**namespace == XML && name == "lang");
        found.map(|(_, _, value)| value.as_str())
    }

    /// Sets `xml:lang` unless it is set already.
    pub fn set_language(&mut self, language: &str) {
        if self.language().is_none() {
            self.attributes.push((XML.into(), "lang".to_owned(), language.to_owned()));
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
            _ if text.is_empty() => {}
            Some(Node::Text(before)) => before.push_str(&text),
            _ => self.children.push(Node::Text(text)),
        }
    }

    /// Writes the element as self-contained XML. Returns `None` when that is longer than `most` bytes.
    pub fn written(&self, most: usize) -> Option<String> {
        let mut out = String::new();
        self.write(&mut out, most)?;
        Some(out)
    }

    /// Writes the content of the element as self-contained XML. Returns `None` when that is longer than `most` bytes.
    pub fn content_written(&self, most: usize) -> Option<String> {
        let mut out = String::new();
        self.write_content(&mut out, most)?;
        Some(out)
    }

    /// Writes the element. Namespaces are repeated for each element: without a limit, the text could be thousands of
    /// times as long as the input.
    fn write(&self, out: &mut String, most: usize) -> Option<()> {
        begin(out, &self.namespace, &self.name);
        let mut declared: Vec<&str> = Vec::new();
        for (namespace, name, value) in &self.attributes {
            if &**namespace == XML {
                out.push_str(" xml:");
            } else if namespace.is_empty() {
                out.push(' ');
            } else if let Some(prefix) = declared.iter().position(|known| *known == &**namespace) {
                out.push_str(&format!(" a{prefix}:"));
            } else {
                let prefix = declared.len();
                out.push_str(&format!(" xmlns:a{prefix}=\""));
                escape(out, namespace);
                out.push_str(&format!("\" a{prefix}:"));
                declared.push(namespace);
            }
            out.push_str(name);
            out.push_str("=\"");
            escape_value(out, value);
            out.push('"');
            fits(out, most)?;
        }
        if self.children.is_empty() {
            out.push_str("/>");
            return fits(out, most);
        }
        out.push('>');
        self.write_content(out, most)?;
        out.push_str("</");
        out.push_str(&self.name);
        out.push('>');
        fits(out, most)
    }

    fn write_content(&self, out: &mut String, most: usize) -> Option<()> {
        for node in &self.children {
            match node {
                Node::Element(element) => element.write(out, most)?,
                Node::Text(text) => escape(out, text),
            }
            fits(out, most)?;
        }
        Some(())
    }
}

fn fits(out: &str, most: usize) -> Option<()> {
    (out.len() <= most).then_some(())
}

/// Writes an empty element.
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

/// Appends escaped text. Characters that XML does not allow become U+FFFD.
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

/// Appends an escaped attribute value. Tabs and line ends become references, because they would be read as spaces.
fn escape_value(out: &mut String, value: &str) {
    for piece in value.split_inclusive(['\t', '\n']) {
        let text = piece.trim_end_matches(['\t', '\n']);
        escape(out, text);
        match &piece[text.len()..] {
            "\t" => out.push_str("&#9;"),
            "\n" => out.push_str("&#10;"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;

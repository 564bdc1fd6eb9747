//! The discovery document of an office server (WOPI, *Discovery*): for each file extension, the address of the editor.

use std::collections::BTreeMap;

use axum::http::Uri;
use model::{Code, Error, Result};
use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use crate::protocol::segments::encode_query;

/// Limit on the file extensions that are taken from a document.
const MAX_EXTENSIONS: usize = 1_000;
/// Limit on the bytes of an address.
const MAX_ADDRESS: usize = 2_000;

/// The file extensions that an office server edits, with the addresses of its editors.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Editors(BTreeMap<String, Template>);

/// URL of an editor with placeholders.
#[derive(Debug, PartialEq, Eq)]
struct Template {
    /// Scheme, host and port.
    origin: String,
    text: String,
}

/// A page of the office server that edits one document.
#[derive(Debug, PartialEq, Eq)]
pub struct EditorPage {
    /// Scheme, host and port, for the content-security policy.
    pub origin: String,
    /// The address.
    pub address: String,
}

impl Editors {
    /// Returns the extensions, in lower case.
    pub fn extensions(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns whether documents with this extension, in lower case, can be edited.
    pub fn can_edit(&self, extension: &str) -> bool {
        self.0.contains_key(extension)
    }

    /// Returns the page that edits the document at `source`, an address below `/wopi/files`, in a language (a tag such
    /// as `de`); `None` if documents with this extension are not edited.
    pub fn page(&self, extension: &str, source: &str, language: &str) -> Option<EditorPage> {
        let template = self.0.get(extension)?;
        let mut address = expand(&template.text, language);
        if !address.ends_with(['?', '&']) {
            address.push(if address.contains('?') { '&' } else { '?' });
        }
        address.push_str(&format!("WOPISrc={}&lang={language}", encode_query(source)));
        // The parameters must not have changed where it leads.
        let is_same = origin(&address).is_some_and(|origin| origin == template.origin);
        is_same.then(|| EditorPage { origin: template.origin.clone(), address })
    }
}

/// Fills in the placeholders of the language and removes the others (`<name=PLACE&>`).
fn expand(template: &str, language: &str) -> String {
    let (mut out, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let Some((parameter, behind)) = after.split_once('>') else { break };
        if let Some((name, "UI_LLCC" | "DC_LLCC")) = parameter.trim_end_matches('&').split_once('=') {
            out.push_str(&format!("{name}={language}&"));
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Returns the URL without a trailing slash; `None` unless it is an HTTP URL without query and fragment.
pub(super) fn base_url(address: &str) -> Option<String> {
    let address = address.trim().trim_end_matches('/');
    origin(address)?;
    (!address.contains(['?', '#'])).then(|| address.to_owned())
}

/// Returns scheme, host and port of an HTTP URL; `None` for any other text.
fn origin(address: &str) -> Option<String> {
    let uri: Uri = address.parse().ok()?;
    let scheme = uri.scheme_str().filter(|scheme| ["http", "https"].contains(scheme))?;
    let authority = uri.authority()?.as_str();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte);
    let is_host = !authority.is_empty() && !authority.starts_with(':') && authority.bytes().all(is_plain);
    is_host.then(|| format!("{scheme}://{}", authority.to_ascii_lowercase()))
}

/// Parses a discovery document.
///
/// # Errors
/// `Invalid` with code `not_readable` if it is no discovery document, or nothing can be edited.
pub(super) fn parse(document: &[u8]) -> Result<Editors> {
    let mut reader = Reader::from_reader(document);
    let mut editors = Editors::default();
    loop {
        match reader.read_event().map_err(|error| unreadable().with_source(error))? {
            Event::Start(element) | Event::Empty(element) if element.local_name().as_ref() == b"action" => {
                if let Some((extension, template)) = action(&element)? {
                    editors.0.entry(extension).or_insert(template);
                }
            }
            Event::Eof => break,
            _ => {}
        }
        if editors.0.len() > MAX_EXTENSIONS {
            return Err(unreadable());
        }
    }
    if editors.0.is_empty() { Err(unreadable()) } else { Ok(editors) }
}

/// Returns the extension and the address of an action that edits documents; `None` for another action.
fn action(element: &BytesStart<'_>) -> Result<Option<(String, Template)>> {
    let (mut name, mut extension, mut text) = (String::new(), String::new(), String::new());
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| unreadable().with_source(error))?;
        let value =
            attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| unreadable().with_source(error))?;
        match attribute.key.local_name().as_ref() {
            b"name" => name = value.into_owned(),
            b"ext" => extension = value.to_lowercase(),
            b"urlsrc" => text = value.into_owned(),
            _ => {}
        }
    }
    let is_known = name == "edit" && (1..=20).contains(&extension.len()) && text.len() <= MAX_ADDRESS;
    let is_plain = extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let origin = origin(text.split('<').next().unwrap_or_default());
    Ok(origin.filter(|_| is_known && is_plain).map(|origin| (extension, Template { origin, text })))
}

fn unreadable() -> Error {
    Error::invalid("the office server sent no discovery document: check office_url").with_code(Code::NotReadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLLABORA: &str = r#"<wopi-discovery><net-zone name="external-http">
        <app favIconUrl="x" name="writer">
        <action default="true" ext="odt" name="edit"
        urlsrc="https://office.example.org:9980/browser/0b27e85/cool.html?"/>
        <action ext="docx" name="edit" urlsrc="https://office.example.org:9980/browser/0b27e85/cool.html?"/>
        <action ext="pdf" name="view" urlsrc="https://office.example.org:9980/browser/0b27e85/cool.html?"/>
        <action ext="svg" name="edit" urlsrc="javascript:alert(1)"/></app></net-zone></wopi-discovery>"#;
    const ONLYOFFICE: &str = r#"<?xml version="1.0" encoding="utf-8"?><wopi-discovery><net-zone name="external-http">
        <app name="Word"><action name="view" ext="docx" urlsrc="http://docs/hosting/wopi/word/view?&amp;"/>
        <action name="edit" ext="docx" default="true" requires="locks,update"
        urlsrc="http://docs/word/edit?&amp;&lt;rs=DC_LLCC&amp;&gt;&lt;dchat=NONE&amp;&gt;&lt;ui=UI_LLCC&amp;&gt;"/>
        </app></net-zone></wopi-discovery>"#;

    #[test]
    fn editors_are_read_and_their_pages_addressed() {
        let editors = parse(COLLABORA.as_bytes()).unwrap();
        assert_eq!(editors.extensions().collect::<Vec<_>>(), ["docx", "odt"]);
        assert!(editors.can_edit("odt") && !editors.can_edit("pdf") && !editors.can_edit("svg"));
        let page = editors.page("docx", "https://files.example.org/wopi/files/7", "de").unwrap();
        assert_eq!(page.origin, "https://office.example.org:9980");
        assert_eq!(
            page.address,
            "https://office.example.org:9980/browser/0b27e85/cool.html?\
             WOPISrc=https:%2F%2Ffiles.example.org%2Fwopi%2Ffiles%2F7&lang=de"
        );
        let page = parse(ONLYOFFICE.as_bytes()).unwrap().page("docx", "http://a/wopi/files/7", "en").unwrap();
        assert_eq!(page.address, "http://docs/word/edit?&rs=en&ui=en&WOPISrc=http:%2F%2Fa%2Fwopi%2Ffiles%2F7&lang=en");
        assert_eq!(editors.page("pdf", "x", "de"), None);
    }

    #[test]
    fn what_is_no_discovery_document_is_refused() {
        let many = (0..=MAX_EXTENSIONS).fold(String::new(), |text, number| {
            text + &format!("<action name='edit' ext='e{number}' urlsrc='http://a/'/>")
        });
        for bad in ["", "no document", "<html><body>502</body></html>", "<action name='edit' ext=", &many] {
            assert_eq!(parse(bad.as_bytes()).unwrap_err().code(), Code::NotReadable, "{bad:.40}");
        }
        for bad in
            ["", "office.example.org", "ftp://a", "http://", "http://a?b", "http://a b", "http://u:p@a", "http://a;b"]
        {
            assert_eq!(base_url(bad), None, "{bad}");
        }
        assert_eq!(base_url(" https://a.example:9980/office/ ").as_deref(), Some("https://a.example:9980/office"));
    }
}

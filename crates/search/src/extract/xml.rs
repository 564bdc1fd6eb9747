//! Reading XML event by event.

use model::Result;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use super::package::Part;
use super::unreadable;

/// Most attributes of an element that are looked at.
const MOST_ATTRIBUTES: usize = 100;

/// What comes next in a part. Names are without their prefixes.
pub enum Piece {
    /// The beginning of an element.
    Start(Element),
    /// The end of an element.
    End(Vec<u8>),
    /// Text.
    Text(String),
}

/// An element with its attributes.
pub struct Element {
    name: Vec<u8>,
    attributes: Vec<(Vec<u8>, String)>,
    /// Whether there is nothing in it, so that no end follows.
    pub empty: bool,
}

impl Element {
    fn of(start: &BytesStart<'_>, empty: bool) -> Self {
        let mut all = start.attributes();
        let attributes = all.with_checks(false).take(MOST_ATTRIBUTES).filter_map(|attribute| {
            let attribute = attribute.ok()?;
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned();
            Some((attribute.key.local_name().as_ref().to_vec(), value))
        });
        Self { name: start.local_name().as_ref().to_vec(), attributes: attributes.collect(), empty }
    }

    /// The name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The attribute of this name.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(key, _)| key == name.as_bytes());
        found.map(|(_, value)| value.as_str())
    }

    /// The attribute of this name as a number.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.attribute(name)?.parse().ok()
    }
}

/// The next piece; none at the end.
pub fn next(part: &mut Part<'_>, buffer: &mut Vec<u8>) -> Result<Option<Piece>> {
    loop {
        buffer.clear();
        let piece = match part.read_event_into(buffer).map_err(unreadable)? {
            Event::Eof => return Ok(None),
            Event::Start(start) => Piece::Start(Element::of(&start, false)),
            Event::Empty(start) => Piece::Start(Element::of(&start, true)),
            Event::End(end) => Piece::End(end.local_name().as_ref().to_vec()),
            Event::Text(text) => Piece::Text(text.xml10_content().map_err(unreadable)?.into_owned()),
            Event::CData(data) => Piece::Text(data.xml10_content().map_err(unreadable)?.into_owned()),
            Event::GeneralRef(reference) => {
                let known = reference.resolve_char_ref().map_err(unreadable)?;
                let named = || quick_xml::escape::resolve_predefined_entity(std::str::from_utf8(&reference).ok()?);
                match known.map(String::from).or_else(|| named().map(str::to_owned)) {
                    Some(text) => Piece::Text(text),
                    // Entities of a document's own are not looked up.
                    None => continue,
                }
            }
            _ => continue,
        };
        return Ok(Some(piece));
    }
}

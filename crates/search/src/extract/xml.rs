//! Incremental XML reading, piece by piece. A piece borrows from the reader's buffer, so that content is copied only on
//! demand.

use std::borrow::Cow;

use model::Result;
use quick_xml::events::{BytesEnd, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::content::unreadable;
use super::meter::Meter;

/// Limit on the attributes of an element that are considered.
const MAX_ATTRIBUTES: usize = 100;

/// An XML part that is unpacked while it is read.
pub struct Part<'a> {
    reader: Reader<Meter<'a>>,
    buffer: Vec<u8>,
}

/// The next piece of a part. Names are without their prefixes.
pub enum Piece<'b> {
    /// The beginning of an element.
    Start(Element<'b>),
    /// The end of an element.
    End(End<'b>),
    /// Text.
    Text(Cow<'b, str>),
    /// An entity that the document defines itself. It is not resolved.
    Entity,
    /// A piece without text: a comment or a declaration.
    Other,
}

/// An element with its attributes.
pub struct Element<'b> {
    start: BytesStart<'b>,
    /// Set for an empty element, which has no end piece.
    pub empty: bool,
}

/// The end of an element.
pub struct End<'b>(BytesEnd<'b>);

impl Element<'_> {
    /// The name.
    pub fn name(&self) -> &[u8] {
        self.start.local_name().into_inner()
    }

    /// The attribute with this local name.
    pub fn attribute(&self, name: &str) -> Option<Cow<'_, str>> {
        let mut all = self.start.attributes();
        let found = all.with_checks(false).take(MAX_ATTRIBUTES).filter_map(std::result::Result::ok);
        let found = found.into_iter().find(|attribute| attribute.key.local_name().as_ref() == name.as_bytes())?;
        found.normalized_value(XmlVersion::Implicit1_0).ok().map(|value| Cow::Owned(value.into_owned()))
    }

    /// The attribute with this local name, as a number.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.attribute(name)?.parse().ok()
    }
}

impl End<'_> {
    /// The name.
    pub fn name(&self) -> &[u8] {
        self.0.local_name().into_inner()
    }
}

impl<'a> Part<'a> {
    /// Creates a reader at the beginning of a part.
    pub fn new(bytes: Meter<'a>) -> Self {
        let mut reader = Reader::from_reader(bytes);
        reader.config_mut().check_end_names = false;
        Self { reader, buffer: Vec::new() }
    }

    /// Refuses elements that do not end in the order in which they began.
    pub fn strict(mut self) -> Self {
        self.reader.config_mut().check_end_names = true;
        self
    }

    /// Returns whether the limit on unpacked bytes has cut off a part.
    pub fn is_cut(&self) -> bool {
        self.reader.get_ref().is_cut()
    }

    /// Returns the next piece; `None` at the end of the part, and where the limit on unpacked bytes cuts it off.
    pub fn next(&mut self) -> Result<Option<Piece<'_>>> {
        self.buffer.clear();
        self.reader.get_mut().begin_piece();
        let event = match self.reader.read_event_into(&mut self.buffer) {
            Ok(event) => event,
            // A part that was cut off ends in the middle of something, which is not an error.
            Err(_) if self.reader.get_ref().is_cut() => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        Ok(Some(match event {
            Event::Eof => return Ok(None),
            Event::Start(start) => Piece::Start(Element { start, empty: false }),
            Event::Empty(start) => Piece::Start(Element { start, empty: true }),
            Event::End(end) => Piece::End(End(end)),
            Event::Text(text) => Piece::Text(text.xml10_content().map_err(unreadable)?),
            Event::CData(data) => Piece::Text(data.xml10_content().map_err(unreadable)?),
            Event::GeneralRef(reference) => {
                let known = reference.resolve_char_ref().map_err(unreadable)?;
                let named = || quick_xml::escape::resolve_predefined_entity(std::str::from_utf8(&reference).ok()?);
                match known.map(String::from).or_else(|| named().map(str::to_owned)) {
                    Some(text) => Piece::Text(text.into()),
                    None => Piece::Entity,
                }
            }
            _ => Piece::Other,
        }))
    }
}

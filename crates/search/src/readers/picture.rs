//! Pictures: what cameras and people wrote into them. EXIF by the library `kamadak-exif`, IPTC and XMP here.

use std::io::Cursor;

use exif::{In, Tag, Value};
use model::Result;
use quick_xml::Reader;
use quick_xml::events::Event;

use super::charset;
use super::document_text::TextBuilder;
use crate::extract::unreadable;

/// EXIF fields that people search for.
const FIELDS: [Tag; 8] = [
    Tag::ImageDescription,
    Tag::UserComment,
    Tag::Make,
    Tag::Model,
    Tag::LensModel,
    Tag::Software,
    Tag::Copyright,
    Tag::DateTimeOriginal,
];
/// Limits on the bytes of one field, and on the length of an XMP packet.
const MAX_VALUE: usize = 4_000;
const MAX_PACKET: usize = 1 << 20;

/// IPTC data sets of record 2 (IPTC-IIM 4.2): title, keywords, author, city, province, country, headline, credit,
/// copyright, caption.
const TITLE: u8 = 5;
const AUTHOR: u8 = 80;
const WORDS: [u8; 8] = [25, 90, 95, 101, 105, 110, 116, 120];

/// Appends the metadata of a picture. A picture without metadata has no text.
pub fn read(bytes: &[u8], text: &mut TextBuilder) -> Result<()> {
    let is_picture =
        [&b"\xff\xd8"[..], b"\x89PNG", b"II*\0", b"MM\0*", b"RIFF"].iter().any(|begin| bytes.starts_with(begin))
            || bytes.get(4..8) == Some(b"ftyp");
    if !is_picture {
        return Err(unreadable("it is not a picture of this kind"));
    }
    exif(bytes, text);
    iptc(bytes, text);
    xmp(bytes, text);
    Ok(())
}

fn exif(bytes: &[u8], text: &mut TextBuilder) {
    let Ok(exif) = exif::Reader::new().read_from_container(&mut Cursor::new(bytes)) else { return };
    let value = |tag| exif.get_field(tag, In::PRIMARY).and_then(|field| string(&field.value));
    if let Some(artist) = value(Tag::Artist) {
        text.set_author(&artist);
    }
    for value in FIELDS.into_iter().filter_map(value) {
        text.add_words(&value);
        text.end_line();
    }
}

/// The text of a field.
fn string(value: &Value) -> Option<String> {
    let bytes = match value {
        Value::Ascii(parts) => parts.join(&b' '),
        // A comment begins with the name of its character set.
        Value::Undefined(bytes, _) => bytes.get(8..)?.to_vec(),
        _ => return None,
    };
    let decoded = charset::decode(&bytes[..bytes.len().min(MAX_VALUE)], None);
    let shown: String = decoded.chars().filter(|c| !c.is_control()).collect();
    (!shown.trim().is_empty()).then_some(shown)
}

/// Appends IPTC data sets, which lie in a resource of Photoshop.
fn iptc(bytes: &[u8], text: &mut TextBuilder) {
    let Some(at) = find(bytes, b"8BIM\x04\x04") else { return };
    // Signature, number, an empty name padded to two bytes, and the size; then the data sets.
    let mut rest = bytes.get(at + 12..).unwrap_or_default();
    while let [0x1c, record, set, high, low, tail @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let Some(value) = tail.get(..length) else { break };
        rest = &tail[length..];
        let value = charset::decode(&value[..length.min(MAX_VALUE)], None);
        match (*record, *set) {
            (2, TITLE) => text.set_title(&value),
            (2, AUTHOR) => text.set_author(&value),
            (2, set) if WORDS.contains(&set) => {
                text.add_words(&value);
                text.end_line();
            }
            _ => {}
        }
    }
}

/// Appends the words of an XMP packet (ISO 16684-1).
fn xmp(bytes: &[u8], text: &mut TextBuilder) {
    let Some(at) = find(bytes, b"<x:xmpmeta") else { return };
    let rest = &bytes[at..bytes.len().min(at + MAX_PACKET)];
    let Some(end) = find(rest, b"</x:xmpmeta>") else { return };
    let mut reader = Reader::from_reader(&rest[..end]);
    let mut open: Vec<Property> = Vec::new();
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(start) => {
                let outer = open.last().copied().unwrap_or(Property::Other);
                open.push(match start.local_name().into_inner() {
                    b"title" | b"Headline" => Property::Title,
                    b"creator" => Property::Author,
                    b"description" | b"subject" | b"City" | b"Country" | b"State" | b"Location" | b"rights" => {
                        Property::Words
                    }
                    // Values lie in lists within their property.
                    b"Alt" | b"Bag" | b"Seq" | b"li" => outer,
                    _ => Property::Other,
                });
            }
            Event::End(_) => drop(open.pop()),
            Event::Text(value) => {
                let Ok(value) = value.xml10_content() else { continue };
                match open.last() {
                    Some(Property::Title) => text.set_title(&value),
                    Some(Property::Author) => text.set_author(&value),
                    Some(Property::Words) => {
                        text.add_words(&value);
                        text.end_line();
                    }
                    Some(Property::Other) | None => {}
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
}

#[derive(Clone, Copy)]
enum Property {
    Title,
    Author,
    Words,
    Other,
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, what)
}

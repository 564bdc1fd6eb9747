//! Messages of Outlook ([MS-OXMSG]): a compound file with a stream for each property, by the library `cfb`.

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use cfb::CompoundFile;
use encoding_rs::WINDOWS_1252;
use model::Result;

use crate::extract::unreadable;

use super::document_text::{ReadAttachment, TextBuilder};
use super::html;

/// Properties ([MS-OXPROPS]).
const SUBJECT: u16 = 0x0037;
const SENDER: u16 = 0x0c1a;
const TO: u16 = 0x0e04;
const CC: u16 = 0x0e03;
const BODY: u16 = 0x1000;
const HTML_BODY: u16 = 0x1013;
const ATTACHMENT: u16 = 0x3701;
const ATTACHMENT_NAME: u16 = 0x3707;
const MEDIA_TYPE: u16 = 0x370e;
/// Types of properties: text in UTF-16, text in a code page, bytes.
const UNICODE: u16 = 0x001f;
const ANSI: u16 = 0x001e;
const BINARY: u16 = 0x0102;

/// Limits on the attachments, and on the bytes of one property.
const MAX_ATTACHMENTS: usize = 200;
const MAX_VALUE: u64 = 64 << 20;

type File<'a> = CompoundFile<Cursor<&'a [u8]>>;

/// Appends a message that lies this deep in others.
pub fn read(bytes: &[u8], text: &mut TextBuilder, depth: usize, attach: ReadAttachment) -> Result<()> {
    let mut file = CompoundFile::open(Cursor::new(bytes)).map_err(unreadable)?;
    let root = Path::new("/");
    if let Some(subject) = string(&mut file, root, SUBJECT) {
        text.set_title(&subject);
        text.add_words(&subject);
        text.end_line();
    }
    for (at, field) in [SENDER, TO, CC].into_iter().enumerate() {
        if let Some(people) = string(&mut file, root, field) {
            if at == 0 {
                text.set_author(&people);
            }
            text.add_words(&people);
            text.end_line();
        }
    }
    if let Some(body) = string(&mut file, root, BODY) {
        text.add(&body);
    } else if let Some(body) = value(&mut file, root, HTML_BODY, BINARY) {
        html::read(&body, text);
    }
    text.end_line();
    for (at, attachment) in attachments(&file).into_iter().enumerate() {
        if at >= MAX_ATTACHMENTS || text.is_over() {
            text.note_cut();
            break;
        }
        let name = string(&mut file, &attachment, ATTACHMENT_NAME).unwrap_or_default();
        let media_type = string(&mut file, &attachment, MEDIA_TYPE).unwrap_or_default();
        let content = value(&mut file, &attachment, ATTACHMENT, BINARY).unwrap_or_default();
        attach(&name, &media_type, &content, text, depth);
    }
    Ok(())
}

fn attachments(file: &File<'_>) -> Vec<PathBuf> {
    let all = file.read_root_storage();
    all.filter(|entry| entry.is_storage() && entry.name().starts_with("__attach_version1.0_"))
        .map(|entry| entry.path().to_owned())
        .take(MAX_ATTACHMENTS + 1)
        .collect()
}

fn string(file: &mut File<'_>, place: &Path, property: u16) -> Option<String> {
    if let Some(bytes) = value(file, place, property, UNICODE) {
        return Some(encoding_rs::UTF_16LE.decode_without_bom_handling(&bytes).0.into_owned());
    }
    value(file, place, property, ANSI).map(|bytes| WINDOWS_1252.decode_without_bom_handling(&bytes).0.into_owned())
}

fn value(file: &mut File<'_>, place: &Path, property: u16, kind: u16) -> Option<Vec<u8>> {
    let path = place.join(format!("__substg1.0_{property:04X}{kind:04X}"));
    let mut bytes = Vec::new();
    file.open_stream(path).ok()?.take(MAX_VALUE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

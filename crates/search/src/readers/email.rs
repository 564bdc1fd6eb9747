//! Messages (RFC 5322, MIME), by the library `mail-parser`: subject, people, body, and attachments with their text.

use mail_parser::{Address, MessageParser, MimeHeaders, PartType};
use model::Result;

use crate::extract::unreadable;

use super::document_text::{MAX_DEPTH, ReadAttachment, TextBuilder};
use super::html;

/// Limit on the attachments that are read.
const MAX_ATTACHMENTS: usize = 200;
/// Limit on the people that are read of one field.
const MAX_PEOPLE: usize = 500;

/// Appends a message that lies this deep in others.
pub fn read(bytes: &[u8], text: &mut TextBuilder, depth: usize, attach: ReadAttachment) -> Result<()> {
    let message = MessageParser::default().parse(bytes).ok_or_else(|| unreadable("it is not a message"))?;
    append(&message, text, depth, attach);
    Ok(())
}

fn append(message: &mail_parser::Message<'_>, text: &mut TextBuilder, depth: usize, attach: ReadAttachment) {
    if let Some(subject) = message.subject() {
        text.set_title(subject);
        text.add_words(subject);
        text.end_line();
    }
    if let Some(first) = people(message.from()).first() {
        text.set_author(first);
    }
    for field in [message.from(), message.to(), message.cc()] {
        text.add_words(&people(field).join(", "));
        text.end_line();
    }
    for body in message.text_bodies() {
        match &body.body {
            PartType::Text(body) => text.add(body),
            PartType::Html(body) => html::read_decoded(body, text),
            _ => {}
        }
        text.end_line();
    }
    for (at, attachment) in message.attachments().enumerate() {
        if at >= MAX_ATTACHMENTS || text.is_over() {
            text.note_cut();
            break;
        }
        let name = attachment.attachment_name().unwrap_or_default();
        match &attachment.body {
            PartType::Message(inner) if depth < MAX_DEPTH => text.inside(|text| append(inner, text, depth + 1, attach)),
            PartType::Message(_) => text.note_cut(),
            PartType::Multipart(_) => {}
            _ => {
                let kind = attachment.content_type();
                let media_type = kind.map(|kind| format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or_default()));
                attach(name, &media_type.unwrap_or_default(), attachment.contents(), text, depth);
            }
        }
    }
}

/// Names and addresses of people.
fn people(field: Option<&Address<'_>>) -> Vec<String> {
    let Some(field) = field else { return Vec::new() };
    let shown = |person: &mail_parser::Addr<'_>| {
        let parts = [person.name(), person.address()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    field.iter().take(MAX_PEOPLE).map(shown).collect()
}

//! Messages (RFC 5322, MIME), by the library `mail-parser`: subject, people, body, and attachments with their text.

use mail_parser::{Address, MessageParser, MimeHeaders, PartType};
use model::{Code, Error, Result};

use crate::extract::{Content, Extract, MAX_MEMBER, Member, MemberContent, Message, unreadable};

use super::document_text::{MAX_DEPTH, ReadAttachment, TextBuilder};
use super::html;

/// Limit on the attachments that are read.
const MAX_ATTACHMENTS: usize = 200;
/// Limits on the bytes of the text that is shown, and on the characters of a field.
const MAX_SHOWN: usize = 256 << 10;
const MAX_FIELD: usize = 2_000;
/// Limit on the lines that are shown.
const MAX_LINES: usize = 2_000;
/// The year 10,000, in seconds since 1970.
const YEAR_10000: i64 = 253_402_300_800;
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

/// Returns a message as people see it: people, date, text and the names of attachments.
pub fn show(bytes: &[u8]) -> Result<Extract> {
    let message = MessageParser::default().parse(bytes).ok_or_else(|| unreadable("it is not a message"))?;
    let mut text = TextBuilder::default();
    for body in message.text_bodies() {
        match &body.body {
            PartType::Text(body) => text.add(body),
            PartType::Html(body) => html::read_decoded(body, &mut text),
            _ => {}
        }
        text.end_line();
    }
    let attachments = message.attachments().take(MAX_ATTACHMENTS).map(|part| {
        let name = part.attachment_name().unwrap_or_default();
        Member::new(name, part.contents().len() as u64)
    });
    let text = text.finish();
    let shown = &text.text[..text.text.floor_char_boundary(MAX_SHOWN)];
    let line = |value: String| value.chars().take(MAX_FIELD).collect();
    let found = Message {
        subject: line(message.subject().unwrap_or_default().to_owned()),
        from: line(people(message.from()).join(", ")),
        to: line(people(message.to()).join(", ")),
        cc: line(people(message.cc()).join(", ")),
        sent_at: message.date().map(mail_parser::DateTime::to_timestamp).filter(|at| (0..YEAR_10000).contains(at)),
        lines: shown.lines().take(MAX_LINES).map(ToOwned::to_owned).collect(),
        attachments: attachments.collect(),
    };
    let more = text.is_cut
        || shown.len() < text.text.len()
        || shown.lines().nth(MAX_LINES).is_some()
        || message.attachments().count() > MAX_ATTACHMENTS;
    if found.subject.is_empty() && found.from.is_empty() && found.lines.is_empty() {
        return Err(unreadable("it is not a message"));
    }
    Ok(Extract { content: Content::Message(Box::new(found)), more })
}

/// Returns an attachment: the one at this position of the list that [`show`] returns.
pub fn attachment(bytes: &[u8], at: usize) -> Result<MemberContent> {
    let message = MessageParser::default().parse(bytes).ok_or_else(|| unreadable("it is not a message"))?;
    let part = message.attachments().nth(at).ok_or_else(|| unreadable("there is no such attachment"))?;
    if part.contents().len() as u64 > MAX_MEMBER {
        return Err(Error::invalid("the attachment is too large to be taken out").with_code(Code::TooLarge));
    }
    let name = Member::new(part.attachment_name().unwrap_or_default(), 0).name;
    Ok(MemberContent { name, bytes: part.contents().to_vec() })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_shown_as_people_see_it() {
        let mail =
            b"From: Jane Doe <jane@example.org>\r\nTo: bob@example.org\r\nSubject: =?utf-8?q?F=C3=BCr_dich?=\r\n\
            Date: Mon, 30 Nov 2026 10:00:00 +0100\r\nMIME-Version: 1.0\r\n\
            Content-Type: multipart/mixed; boundary=x\r\n\r\n\
            --x\r\nContent-Type: text/html\r\n\r\n<p>Hello <b>Bob</b></p><script>evil()</script>\r\n\
            --x\r\nContent-Type: application/pdf; name=\"offer.pdf\"\r\nContent-Disposition: attachment; \
            filename=\"offer.pdf\"\r\n\r\n12345\r\n--x--\r\n";
        let Extract { content: Content::Message(message), more } = show(mail).unwrap() else { unreachable!() };
        assert_eq!((message.subject.as_str(), message.from.as_str()), ("F\u{fc}r dich", "Jane Doe jane@example.org"));
        assert_eq!((message.to.as_str(), message.sent_at), ("bob@example.org", Some(1_796_029_200)));
        assert_eq!(message.lines, ["Hello Bob"]);
        assert_eq!(message.attachments, [Member::new("offer.pdf", 5)]);
        assert!(!more);
        let attached = attachment(mail, 0).unwrap();
        assert_eq!((attached.name.as_str(), attached.bytes.as_slice()), ("offer.pdf", &b"12345"[..]));
        assert!(attachment(mail, 1).is_err());
        for bad in [&b""[..], b"\0\0\0", b"\xff\xfe"] {
            assert!(show(bad).is_err(), "{bad:?}");
        }
    }
}

//! Markdown to HTML. Every tag in the result is ours: raw HTML is shown as text, and addresses are checked.

use std::borrow::Cow;
use std::collections::HashSet;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::link::{self, HEADING, LinkBase, slug};
use crate::frame::escape::escape;

/// Beginning of the language of a code block that is a part of a page.
const PART: &str = "part-";
/// Limits on the parts and pictures of one page.
pub const MAX_PARTS: usize = 12;
const FIRST_TOO_MANY: usize = MAX_PARTS + 1;
const MAX_IMAGES: usize = 50;
/// Limit on the headings to which links can lead.
const MAX_HEADINGS: usize = 500;
/// Limit on the bytes of all tags of links: an address is written with the whole path of its folder.
const MAX_LINK_BYTES: usize = 1 << 20;
/// Limit on the characters of a heading where headings are listed.
const MAX_HEADING: usize = 200;
/// Stands before and after the number of an inset in the HTML. It is taken out of texts before.
const MARK: char = '\0';

/// The HTML of a page, with what has to be looked up before it is shown.
#[derive(Debug, Default)]
pub struct Drawn {
    /// HTML, in which insets stand as their numbers.
    html: String,
    /// Parts and pictures, in order.
    pub insets: Vec<Inset>,
    /// Headings, in order.
    pub headings: Vec<Heading>,
}

/// Something in a page that depends on who reads it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub enum Inset {
    /// A part.
    Part {
        /// Its kind, such as `list`.
        kind: String,
        /// Its settings, in TOML.
        text: String,
    },
    /// The parts from here on are too many.
    TooManyParts,
    /// A picture of this server.
    Image {
        /// Path of the document in the farm.
        path: String,
        /// Description.
        description: String,
    },
}

/// A heading of a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Heading {
    /// Level: 2 for the highest one below the title of the page.
    pub level: u8,
    /// Identifier in the document.
    pub id: String,
    /// Text.
    pub text: String,
}

impl Drawn {
    /// Returns the HTML with the insets, of which there must be one for each of `insets`.
    pub fn with_insets(&self, insets: &[String]) -> String {
        let mut whole = String::with_capacity(self.html.len() + insets.iter().map(String::len).sum::<usize>());
        for (index, piece) in self.html.split(MARK).enumerate() {
            match index % 2 {
                0 => whole.push_str(piece),
                _ => whole.push_str(piece.parse().ok().and_then(|at: usize| insets.get(at)).map_or("", String::as_str)),
            }
        }
        whole
    }
}

/// Draws a text for the page about its document: links to other places of this server, pictures and parts are shown as
/// text.
pub fn excerpt(text: &str) -> String {
    draw(text, None).html
}

/// Draws a page, whose links start from its folder.
pub fn page(text: &str, base: &LinkBase<'_>) -> Drawn {
    draw(text, Some(base))
}

fn draw(text: &str, base: Option<&LinkBase<'_>>) -> Drawn {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    // Nothing in a text may look like an inset.
    let text = if text.contains(MARK) { Cow::Owned(text.replace(MARK, "\u{fffd}")) } else { Cow::Borrowed(text) };
    let levels = Parser::new_ext(&text, options).filter_map(|event| match event {
        Event::Start(Tag::Heading { level, .. }) => Some(level as u8),
        _ => None,
    });
    let mut drawing = Drawing {
        // The highest heading of a page comes right below its title, whatever its level. In an excerpt, the name of the
        // document and the title of the excerpt are above.
        below: if base.is_some() { 2 } else { 3 },
        highest: if base.is_some() { levels.min().unwrap_or(1) } else { 1 },
        base,
        drawn: Drawn::default(),
        parts: 0,
        images: 0,
        links: Vec::new(),
        link_bytes: 0,
        ids: HashSet::new(),
    };
    let mut parser = Parser::new_ext(&text, options);
    let mut events = Vec::new();
    while let Some(event) = parser.next() {
        drawing.take(event, &mut parser, &mut events);
    }
    let mut drawn = drawing.drawn;
    drawn.html.reserve(text.len() * 2);
    html::push_html(&mut drawn.html, events.into_iter());
    drawn
}

struct Drawing<'b> {
    /// The folder of the page; `None` for an excerpt.
    base: Option<&'b LinkBase<'b>>,
    drawn: Drawn,
    /// Level in the document of headings that have the level `highest` in the text.
    below: u8,
    highest: u8,
    parts: usize,
    images: usize,
    /// The open links, each with a flag whether its tag was written.
    links: Vec<bool>,
    /// Bytes of the tags of all links so far.
    link_bytes: usize,
    /// Identifiers of headings.
    ids: HashSet<String>,
}

impl Drawing<'_> {
    /// Adds a safe version of an event. Those of a part, a picture or a heading are taken together.
    fn take<'e>(&mut self, event: Event<'e>, rest: &mut impl Iterator<Item = Event<'e>>, events: &mut Vec<Event<'e>>) {
        match event {
            Event::Html(text) | Event::InlineHtml(text) => events.push(Event::Text(text)),
            Event::Start(Tag::Image { dest_url, .. }) => {
                let description = text_until(rest, |tag| matches!(tag, TagEnd::Image));
                events.push(self.image(&dest_url, description));
            }
            // Column alignment would be written as a style attribute, which our content security policy forbids.
            Event::Start(Tag::Table(columns)) => {
                let columns = vec![pulldown_cmark::Alignment::None; columns.len()];
                events.push(Event::Start(Tag::Table(columns)));
            }
            Event::Start(Tag::Heading { level, .. }) => self.heading(level, rest, events),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language)))
                if self.base.is_some() && language.starts_with(PART) =>
            {
                self.parts += 1;
                let kind = language[PART.len()..].trim().to_owned();
                let text = text_until(rest, |tag| matches!(tag, TagEnd::CodeBlock));
                match self.parts {
                    ..=MAX_PARTS => events.push(self.inset(Inset::Part { kind, text })),
                    // The first one says so for all.
                    FIRST_TOO_MANY => events.push(self.inset(Inset::TooManyParts)),
                    _ => {}
                }
            }
            Event::Start(Tag::CodeBlock(_)) => events.push(markup("<pre><code>")),
            Event::End(TagEnd::CodeBlock) => events.push(markup("</code></pre>\n")),
            Event::TaskListMarker(done) => {
                events.push(Event::Text(CowStr::Borrowed(if done { "☑ " } else { "☐ " })))
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                let tag = link::tag(&dest_url, self.base).filter(|tag| {
                    self.link_bytes += tag.len();
                    self.link_bytes <= MAX_LINK_BYTES
                });
                self.links.push(tag.is_some());
                events.extend(tag.map(|tag| Event::InlineHtml(tag.into())));
            }
            Event::End(TagEnd::Link) => {
                if self.links.pop() == Some(true) {
                    events.push(markup("</a>"));
                }
            }
            other => events.push(other),
        }
    }

    fn image<'e>(&mut self, address: &str, description: String) -> Event<'e> {
        let path = self.base.and_then(|base| link::path(address, base));
        match path.filter(|_| self.images < MAX_IMAGES) {
            Some(path) => {
                self.images += 1;
                self.inset(Inset::Image { path, description })
            }
            // Pictures of other servers would tell them who reads the page.
            None => Event::Text(description.into()),
        }
    }

    fn inset<'e>(&mut self, inset: Inset) -> Event<'e> {
        self.drawn.insets.push(inset);
        Event::InlineHtml(format!("{MARK}{}{MARK}", self.drawn.insets.len() - 1).into())
    }

    fn heading<'e>(
        &mut self,
        level: HeadingLevel,
        rest: &mut impl Iterator<Item = Event<'e>>,
        events: &mut Vec<Event<'e>>,
    ) {
        let mut inner = Vec::new();
        let mut text = String::new();
        while let Some(event) = rest.next() {
            match &event {
                Event::End(TagEnd::Heading(_)) => break,
                Event::Text(part) | Event::Code(part) => text.push_str(part),
                Event::SoftBreak | Event::HardBreak => text.push(' '),
                _ => {}
            }
            self.take(event, rest, &mut inner);
        }
        let level = (level as u8 + self.below - self.highest).min(6);
        let opening = if self.base.is_some() && self.drawn.headings.len() < MAX_HEADINGS {
            let id = self.heading_id(&text);
            let opening = format!("<h{level} id=\"{id}\">");
            let text = text.chars().take(MAX_HEADING).collect();
            self.drawn.headings.push(Heading { level, id, text });
            opening
        } else {
            format!("<h{level}>")
        };
        events.push(Event::InlineHtml(opening.into()));
        events.extend(inner);
        events.push(Event::InlineHtml(format!("</h{level}>\n").into()));
    }

    /// Returns an identifier for a heading that no other one has.
    fn heading_id(&mut self, text: &str) -> String {
        let mut id = format!("{HEADING}{}", slug(text));
        if !self.ids.insert(id.clone()) {
            // No identifier of a text has two hyphens.
            id = format!("{id}--{}", self.drawn.headings.len() + 1);
        }
        id
    }
}

/// Takes events up to the end of an element, and returns their text.
fn text_until<'e>(rest: &mut impl Iterator<Item = Event<'e>>, is_end: impl Fn(&TagEnd) -> bool) -> String {
    let (mut text, mut depth) = (String::new(), 0_usize);
    for event in rest {
        match event {
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            Event::Start(Tag::Image { .. }) => depth += 1,
            Event::End(end) if is_end(&end) => {
                if depth == 0 {
                    break;
                }
                depth -= 1;
            }
            _ => {}
        }
    }
    text
}

fn markup(tag: &'static str) -> Event<'static> {
    Event::InlineHtml(CowStr::Borrowed(tag))
}

/// Returns the HTML of a picture.
pub fn image(address: &str, description: &str) -> String {
    let mut tag = "<img loading=\"lazy\" decoding=\"async\" src=\"".to_owned();
    escape(address, &mut tag);
    tag.push_str("\" alt=\"");
    escape(description, &mut tag);
    tag + "\">"
}

/// Returns the HTML for a picture that the reader cannot see.
pub fn missing_image(reason: &str, description: &str) -> String {
    let mut tag = "<span class=\"badge\" title=\"".to_owned();
    escape(reason, &mut tag);
    tag.push_str("\">");
    escape(if description.is_empty() { reason } else { description }, &mut tag);
    tag + "</span>"
}

#[cfg(test)]
mod tests;

//! HTML, as browsers read it: whatever is written wrongly is read all the same.

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use super::charset;
use super::document_text::TextBuilder;

/// Elements whose content is a line or lines of its own.
const BLOCKS: [&[u8]; 41] = [
    b"address",
    b"article",
    b"aside",
    b"blockquote",
    b"body",
    b"br",
    b"caption",
    b"dd",
    b"details",
    b"div",
    b"dl",
    b"dt",
    b"fieldset",
    b"figcaption",
    b"figure",
    b"footer",
    b"form",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"head",
    b"header",
    b"hr",
    b"html",
    b"li",
    b"main",
    b"nav",
    b"ol",
    b"option",
    b"p",
    b"pre",
    b"section",
    b"summary",
    b"table",
    b"textarea",
    b"title",
    b"tr",
    b"ul",
];
/// Elements whose content is no text of the document.
const SILENT: [&[u8]; 3] = [b"script", b"style", b"title"];
/// Limit on the bytes of a title, and of an attribute's value.
const MAX_VALUE: usize = 4_000;

/// Appends the text of an HTML document.
pub fn read(bytes: &[u8], text: &mut TextBuilder) {
    let decoded = charset::decode(bytes, charset::declared(bytes));
    read_decoded(&decoded, text);
}

/// Appends the text of an HTML document in UTF-8.
pub fn read_decoded(html: &str, text: &mut TextBuilder) {
    let mut page = Page { text, element: Vec::new(), silent: None, attribute: Attribute::None, meta: Meta::default() };
    let take = |event: CallbackEvent<'_>, _: Span<()>| (!page.take(&event)).then_some(());
    let mut emitter = CallbackEmitter::new(take);
    emitter.naively_switch_states(true);
    // The tokenizer returns something when the text is full.
    let _ = Tokenizer::new_with_emitter(html, emitter).next();
}

/// A page that is being read.
struct Page<'t> {
    text: &'t mut TextBuilder,
    /// Name of the tag that is open.
    element: Vec<u8>,
    /// The silent element that is open.
    silent: Option<&'static [u8]>,
    attribute: Attribute,
    meta: Meta,
}

/// The attribute whose value comes next.
enum Attribute {
    None,
    Alternative,
    MetaName,
    MetaContent,
}

/// Attributes of a `meta` element.
#[derive(Default)]
struct Meta {
    name: String,
    content: String,
}

impl Page<'_> {
    /// Takes an event. Returns false when the text is full.
    fn take(&mut self, event: &CallbackEvent<'_>) -> bool {
        match event {
            CallbackEvent::OpenStartTag { name } => self.begin(name),
            CallbackEvent::AttributeName { name } => {
                self.attribute = match (self.element.as_slice(), *name) {
                    (b"img", b"alt") => Attribute::Alternative,
                    (b"meta", b"name" | b"property") => Attribute::MetaName,
                    (b"meta", b"content") => Attribute::MetaContent,
                    _ => Attribute::None,
                };
            }
            CallbackEvent::AttributeValue { value } => self.set_value(&string(value)),
            CallbackEvent::CloseStartTag { .. } => self.end_meta(),
            CallbackEvent::EndTag { name } => {
                if self.silent.is_some_and(|silent| silent == *name) {
                    self.silent = None;
                }
                self.separate(name);
            }
            CallbackEvent::String { value } => self.add(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
        !self.text.is_full()
    }

    fn begin(&mut self, name: &[u8]) {
        self.element.clear();
        self.element.extend_from_slice(name);
        self.attribute = Attribute::None;
        if self.silent.is_none() {
            self.silent = SILENT.into_iter().find(|silent| *silent == name);
        }
        self.separate(name);
    }

    fn separate(&mut self, name: &[u8]) {
        if BLOCKS.binary_search(&name).is_ok() {
            self.text.end_line();
        } else if matches!(name, b"td" | b"th") {
            self.text.space();
        }
    }

    fn add(&mut self, words: &str) {
        match self.silent {
            Some(b"title") => self.text.set_title(words),
            Some(_) => {}
            None => self.text.add_words(words),
        }
    }

    fn set_value(&mut self, value: &str) {
        match std::mem::replace(&mut self.attribute, Attribute::None) {
            Attribute::None => {}
            Attribute::Alternative => {
                self.text.space();
                self.text.add_words(value);
                self.text.space();
            }
            Attribute::MetaName => self.meta.name = value.to_ascii_lowercase(),
            Attribute::MetaContent => self.meta.content = value.to_owned(),
        }
    }

    fn end_meta(&mut self) {
        let Meta { name, content } = std::mem::take(&mut self.meta);
        match name.as_str() {
            "author" | "dc.creator" => self.text.set_author(&content),
            "description" | "keywords" => {
                self.text.end_line();
                self.text.add_words(&content);
                self.text.end_line();
            }
            _ => {}
        }
    }
}

fn string(value: &[u8]) -> String {
    String::from_utf8_lossy(&value[..value.len().min(MAX_VALUE)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> super::super::DocumentText {
        let mut text = TextBuilder::default();
        read(html.as_bytes(), &mut text);
        text.finish()
    }

    #[test]
    fn blocks_are_lines_and_inline_elements_are_none() {
        assert!(BLOCKS.is_sorted());
        let page = text(
            "<!doctype html><title>Minutes &amp; more</title><meta name=author content='Mia Roth'>\
             <meta content=\"what the board decided\" name=description><style>p { x: y }</style>\
             <h1>The  board</h1><p>It me<b>t</b> on\n 3&nbsp;November.<br>Then\
             <script>if (a < b) alert('</p>')</script> left</p>\
             <table><tr><td>one<td>two</table><img src=a alt='a roof'>",
        );
        assert_eq!(page.title, "Minutes & more");
        assert_eq!(page.author, "Mia Roth");
        assert_eq!(
            page.text,
            "what the board decided\nThe board\nIt met on 3\u{a0}November.\nThen left\none two\na roof"
        );
    }

    #[test]
    fn the_declared_encoding_holds() {
        let mut builder = TextBuilder::default();
        read(b"<meta charset=iso-8859-2><p>\xb3\xf3d\xbc", &mut builder);
        assert_eq!(builder.finish().text, "łódź");
    }

    #[test]
    fn broken_pages_are_read() {
        for (html, expected) in [
            ("<p>a<p>b", "a\nb"),
            ("a</div></p>b", "a\nb"),
            ("<", "<"),
            ("<p", ""),
            ("<!-- a", ""),
            ("<script>a", ""),
            ("a &bogus; &#0; &#x110000; &amp", "a &bogus; \u{fffd} \u{fffd} &"),
        ] {
            assert_eq!(text(html).text, expected, "{html}");
        }
        let deep = "<div>".repeat(1 << 20);
        assert_eq!(text(&deep).text, "");
        assert!(text(&"word ".repeat(1 << 20)).is_cut);
    }
}

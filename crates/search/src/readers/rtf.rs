//! Rich Text Format (Microsoft's specification, version 1.9.1): groups, control words, and text in code pages.

use std::collections::HashMap;

use encoding_rs::{Encoding, WINDOWS_1252};
use model::Result;

use super::charset::{character_set, code_page};
use super::document_text::TextBuilder;
use crate::extract::unreadable;

/// Limit on the depth of groups. Deeper ones are read as if they were not groups.
const MAX_DEPTH: usize = 1_000;
/// Limit on the entries of the font table.
const MAX_FONTS: usize = 10_000;
/// Bytes of text that wait to be decoded.
const MAX_WAITING: usize = 64 << 10;

/// Groups whose content is no text of the document.
const SILENT: [&str; 25] = [
    "blipuid",
    "colortbl",
    "datafield",
    "datastore",
    "datastream",
    "fldinst",
    "fonttbl",
    "filetbl",
    "generator",
    "latentstyles",
    "listoverridetable",
    "listtable",
    "objdata",
    "panose",
    "pict",
    "pntext",
    "pntxta",
    "pntxtb",
    "revtbl",
    "rsidtbl",
    "stylesheet",
    "themedata",
    "userprops",
    "xmlnstbl",
    "nonshppict",
];

/// The state that a group has, and that ends with it.
#[derive(Clone, Copy)]
struct Group {
    destination: Destination,
    /// Number of characters that follow a Unicode character for programs that do not know it.
    replacements: usize,
    encoding: &'static Encoding,
}

/// Where the text of a group belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    Text,
    Title,
    Author,
    /// The table of fonts, whose entries name their character sets.
    Fonts,
    Nowhere,
}

/// Appends the text of a document.
pub fn read(bytes: &[u8], text: &mut TextBuilder) -> Result<()> {
    if !bytes.trim_ascii_start().starts_with(b"{\\rtf") {
        return Err(unreadable("it does not begin as RTF does"));
    }
    let group = Group { destination: Destination::Text, replacements: 1, encoding: WINDOWS_1252 };
    let mut reader = Reader {
        bytes,
        at: 0,
        text,
        group,
        groups: Vec::new(),
        ignored_depth: 0,
        waiting: Vec::new(),
        property: String::new(),
        fonts: HashMap::new(),
        font: 0,
        default: WINDOWS_1252,
        skip: 0,
        high: None,
    };
    reader.read();
    Ok(())
}

struct Reader<'a, 't> {
    bytes: &'a [u8],
    at: usize,
    text: &'t mut TextBuilder,
    group: Group,
    groups: Vec<Group>,
    ignored_depth: usize,
    /// Bytes of text in the encoding of the group.
    waiting: Vec<u8>,
    property: String,
    /// Encodings of fonts by number.
    fonts: HashMap<i32, &'static Encoding>,
    /// The font that is being declared.
    font: i32,
    default: &'static Encoding,
    /// Number of characters that are left out because a Unicode character stands for them.
    skip: usize,
    /// First half of a character beyond the basic plane.
    high: Option<u16>,
}

impl Reader<'_, '_> {
    fn read(&mut self) {
        while let Some(byte) = self.next() {
            if self.text.is_full() {
                self.text.note_cut();
                return;
            }
            match byte {
                b'{' => self.open(),
                b'}' => self.close(),
                b'\\' => self.control(),
                b'\r' | b'\n' | 0 => {}
                byte => self.take_byte(byte),
            }
        }
        self.flush();
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn open(&mut self) {
        self.flush();
        if self.groups.len() < MAX_DEPTH {
            self.groups.push(self.group);
        } else {
            self.ignored_depth += 1;
        }
        self.skip = 0;
    }

    fn close(&mut self) {
        self.flush();
        if self.ignored_depth > 0 {
            self.ignored_depth -= 1;
        } else if let Some(outer) = self.groups.pop() {
            if outer.destination != self.group.destination {
                let property = std::mem::take(&mut self.property);
                match self.group.destination {
                    Destination::Title => self.text.set_title(&property),
                    Destination::Author => self.text.set_author(&property),
                    Destination::Text | Destination::Fonts | Destination::Nowhere => {}
                }
            }
            self.group = outer;
        }
        self.skip = 0;
    }

    /// Reads what follows a backslash.
    fn control(&mut self) {
        match self.peek() {
            Some(b'\'') => {
                self.at += 1;
                let digits = self.bytes.get(self.at..self.at + 2);
                let number = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
                if let Some(number) = number {
                    self.at += 2;
                    self.take_byte(number);
                }
            }
            Some(b'*') => {
                self.at += 1;
                // A group that only newer programs know. What it means is known here for few of them.
                self.group.destination = Destination::Nowhere;
            }
            Some(symbol) if !symbol.is_ascii_alphabetic() => {
                self.at += 1;
                match symbol {
                    b'{' | b'}' | b'\\' => self.take_byte(symbol),
                    b'~' => self.take_char('\u{a0}'),
                    b'_' => self.take_char('\u{2011}'),
                    b'\r' | b'\n' => self.end_line(),
                    _ => {}
                }
            }
            Some(_) => {
                let (word, number) = self.word();
                self.apply(&word, number);
            }
            None => {}
        }
    }

    /// Reads a control word and its number.
    fn word(&mut self) -> (String, Option<i32>) {
        let mut word = String::new();
        while let Some(letter) = self.peek().filter(u8::is_ascii_alphabetic) {
            self.at += 1;
            if word.len() < 32 {
                word.push(char::from(letter));
            }
        }
        let begin = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        while self.peek().is_some_and(|digit| digit.is_ascii_digit()) {
            self.at += 1;
        }
        let number = std::str::from_utf8(&self.bytes[begin..self.at]).ok().and_then(|number| number.parse().ok());
        // A space ends the word and is no text.
        self.at += usize::from(self.peek() == Some(b' '));
        (word, number)
    }

    fn apply(&mut self, word: &str, number: Option<i32>) {
        match word {
            "par" | "line" | "row" | "page" | "sect" | "nestrow" => self.end_line(),
            "tab" | "cell" | "nestcell" => self.take_char('\t'),
            "emdash" => self.take_char('—'),
            "endash" => self.take_char('–'),
            "lquote" => self.take_char('‘'),
            "rquote" => self.take_char('’'),
            "ldblquote" => self.take_char('“'),
            "rdblquote" => self.take_char('”'),
            "bullet" => self.take_char('•'),
            "emspace" | "enspace" | "qmspace" => self.take_char(' '),
            "u" => self.unicode(number.unwrap_or(0)),
            "uc" => self.group.replacements = usize::try_from(number.unwrap_or(1)).unwrap_or(0).min(64),
            "bin" => self.at = self.at.saturating_add(usize::try_from(number.unwrap_or(0)).unwrap_or(0)),
            "ansicpg" => {
                self.default = number.and_then(code_page).unwrap_or(WINDOWS_1252);
                self.change_encoding(self.default);
            }
            "mac" => self.default = encoding_rs::MACINTOSH,
            "f" if self.group.destination == Destination::Fonts => self.font = number.unwrap_or(0),
            "f" => {
                let known = self.fonts.get(&number.unwrap_or(0)).copied();
                self.change_encoding(known.unwrap_or(self.default));
            }
            "plain" => self.change_encoding(self.default),
            "fcharset" if self.group.destination == Destination::Fonts && self.fonts.len() < MAX_FONTS => {
                if let Some(encoding) = number.and_then(character_set) {
                    self.fonts.insert(self.font, encoding);
                }
            }
            "fonttbl" => self.group.destination = Destination::Fonts,
            "title" => self.group.destination = Destination::Title,
            "author" => self.group.destination = Destination::Author,
            // Other properties, such as the name of the company.
            "info" => self.group.destination = Destination::Nowhere,
            // Text that programs show in place of a shape, comments, and notes.
            "shptxt" | "annotation" | "footnote" => self.group.destination = Destination::Text,
            _ if SILENT.contains(&word) => self.group.destination = Destination::Nowhere,
            _ => {}
        }
    }

    fn change_encoding(&mut self, encoding: &'static Encoding) {
        self.flush();
        self.group.encoding = encoding;
    }

    fn unicode(&mut self, number: i32) {
        // Numbers above 32,767 are written as negative ones.
        let unit = u16::try_from(number.rem_euclid(0x1_0000)).unwrap_or(0);
        let units: Vec<u16> = self.high.take().into_iter().chain([unit]).collect();
        if units.len() == 1 && (0xd800..0xdc00).contains(&unit) {
            self.high = Some(unit);
        } else {
            let characters = char::decode_utf16(units).flatten().filter(|c| !c.is_control());
            characters.for_each(|c| self.take_char(c));
        }
        self.skip = self.group.replacements;
    }

    fn take_byte(&mut self, byte: u8) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if !matches!(self.group.destination, Destination::Nowhere | Destination::Fonts) {
            self.waiting.push(byte);
            if self.waiting.len() >= MAX_WAITING {
                self.flush();
            }
        }
    }

    fn take_char(&mut self, c: char) {
        self.flush();
        self.put(c.encode_utf8(&mut [0; 4]));
    }

    fn end_line(&mut self) {
        self.flush();
        if self.group.destination == Destination::Text {
            self.text.end_line();
        }
    }

    fn flush(&mut self) {
        if !self.waiting.is_empty() {
            let waiting = std::mem::take(&mut self.waiting);
            let (decoded, _) = self.group.encoding.decode_without_bom_handling(&waiting);
            self.put(&decoded);
        }
    }

    fn put(&mut self, text: &str) {
        match self.group.destination {
            Destination::Text => self.text.add(text),
            Destination::Title | Destination::Author if self.property.len() < MAX_WAITING => {
                self.property.push_str(text);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rtf: &str) -> super::super::DocumentText {
        let mut text = TextBuilder::default();
        read(rtf.as_bytes(), &mut text).unwrap();
        text.finish()
    }

    #[test]
    fn text_is_told_from_everything_else() {
        let document = text(
            r"{\rtf1\ansi\ansicpg1252\uc1{\fonttbl{\f0\froman Times;}{\f1\fcharset204 Arial;}}
{\colortbl;\red0;}{\stylesheet{\s0 Normal;}}{\info{\title Min\'fctes}{\author Mia Roth}{\company X}}
{\*\generator None;}\pard Gr\'f6\'dfe pr\u252\'fcfen\par{\f1 \'cf\'f0\'ee}\tab end\cell\row
{\field{\*\fldinst HYPERLINK x}{\fldrslt a link}}{\pict 0102}\{ok\}\u-10179?\u-8704?}",
        );
        assert_eq!(document.title, "Minütes");
        assert_eq!(document.author, "Mia Roth");
        assert_eq!(document.text, "Größe prüfen\nПро\tend\na link{ok}😀");
    }

    #[test]
    fn broken_documents_are_read_to_where_they_break() {
        for (rtf, expected) in [
            (r"{\rtf1 a", "a"),
            (r"{\rtf1 a}}}}b", "ab"),
            (r"{\rtf1 a\'", "a"),
            (r"{\rtf1 a\bin99999999999 b", "ab"),
            (r"{\rtf1 a\bin9 b", "a"),
            (r"{\rtf1 a\u99999999999x b\u55357?c", "a bc"),
            (r"{\rtf1 a\", "a"),
        ] {
            assert_eq!(text(rtf).text, expected, "{rtf}");
        }
        let deep = format!("{{\\rtf1 {}a{}b", "{".repeat(100_000), "}".repeat(100_000));
        assert_eq!(text(&deep).text, "ab");
        assert_eq!(read(b"a", &mut TextBuilder::default()).unwrap_err().code(), "not_readable");
    }
}

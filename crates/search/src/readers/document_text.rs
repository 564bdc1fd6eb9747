//! The text of a document, and its gradual collection within a limit.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::extract::paragraphs::LineSink;

/// Maximum size in bytes of a document's text; what is longer is cut.
pub const MAX_TEXT_BYTES: usize = 4 << 20;
/// Maximum depth of documents in documents, such as attachments of messages.
pub const MAX_DEPTH: usize = 3;
/// Time after which reading ends with the text found so far.
const READING_TIME: Duration = Duration::from_secs(20);
/// Maximum size in bytes of a title, and of the names of authors.
const MAX_PROPERTY_BYTES: usize = 1_000;

/// The character after each page of a text whose pages are known: a form feed.
pub const PAGE_END: char = '\u{c}';

/// The text and properties of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentText {
    /// Title by the document's own properties; empty if it has none.
    pub title: String,
    /// Author, or the names of several; empty if unknown.
    pub author: String,
    /// The text, line by line, with a form feed after each page of a PDF.
    pub text: String,
    /// Set if the text is not complete.
    pub is_cut: bool,
}

impl DocumentText {
    /// Appends lines.
    pub fn append(&mut self, lines: &str) {
        if !self.text.is_empty() && !lines.is_empty() {
            self.text.push('\n');
        }
        let room = MAX_TEXT_BYTES.saturating_sub(self.text.len());
        let taken = &lines[..lines.floor_char_boundary(room)];
        self.is_cut |= taken.len() < lines.len();
        self.text.push_str(taken);
    }
}

/// Reads an attachment with this name, media type and content, which lies this deep in others.
pub type ReadAttachment = fn(&str, &str, &[u8], &mut TextBuilder, usize);

/// Text that is being collected.
pub struct TextBuilder {
    done: DocumentText,
    deadline: Instant,
    /// Set inside a document in a document, whose properties are not those of the outer one.
    is_inside: bool,
}

impl Default for TextBuilder {
    fn default() -> Self {
        Self { done: DocumentText::default(), deadline: Instant::now() + READING_TIME, is_inside: false }
    }
}

impl LineSink for TextBuilder {
    fn add(&mut self, text: &str) {
        Self::add(self, text);
    }

    fn end_line(&mut self) {
        Self::end_line(self);
    }

    fn is_full(&self) -> bool {
        Self::is_full(self)
    }
}

impl TextBuilder {
    /// Appends characters as they are.
    pub fn add(&mut self, text: &str) {
        let room = MAX_TEXT_BYTES.saturating_sub(self.done.text.len());
        let taken = &text[..text.floor_char_boundary(room)];
        self.done.is_cut |= taken.len() < text.len();
        self.done.text.push_str(taken);
    }

    /// Appends text in which white space of any kind and length stands for one space.
    pub fn add_words(&mut self, text: &str) {
        let mut words = text.split_ascii_whitespace();
        if text.starts_with(|c: char| c.is_ascii_whitespace()) {
            self.space();
        }
        if let Some(first) = words.next() {
            self.add(first);
        }
        for word in words {
            self.add(" ");
            self.add(word);
        }
        if text.ends_with(|c: char| c.is_ascii_whitespace()) {
            self.space();
        }
    }

    /// Separates words.
    pub fn space(&mut self) {
        if self.done.text.ends_with(|c: char| !c.is_whitespace()) {
            self.add(" ");
        }
    }

    /// Ends the line unless it is empty.
    pub fn end_line(&mut self) {
        let length = self.done.text.trim_end_matches([' ', '\t']).len();
        self.done.text.truncate(length);
        if !self.done.text.is_empty() && !self.done.text.ends_with(['\n', PAGE_END]) {
            self.add("\n");
        }
    }

    /// Ends the page, also an empty one.
    pub fn end_page(&mut self) {
        self.end_line();
        self.add(PAGE_END.encode_utf8(&mut [0; 4]));
    }

    /// Sets the title unless there is one already.
    pub fn set_title(&mut self, title: &str) {
        if !self.is_inside && self.done.title.is_empty() {
            set(&mut self.done.title, title);
        }
    }

    /// Sets the author unless there is one already.
    pub fn set_author(&mut self, author: &str) {
        if !self.is_inside && self.done.author.is_empty() {
            set(&mut self.done.author, author);
        }
    }

    /// Collects text of a document in this document.
    pub fn inside<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let was_inside = std::mem::replace(&mut self.is_inside, true);
        let done = work(self);
        self.is_inside = was_inside;
        done
    }

    /// Records that there is more text than was collected.
    pub fn note_cut(&mut self) {
        self.done.is_cut = true;
    }

    /// Returns whether nothing more is taken.
    pub fn is_full(&self) -> bool {
        self.done.text.len() >= MAX_TEXT_BYTES - 4
    }

    /// Returns whether nothing more is to be read, because the text is full or time is up. Asked for between parts of a
    /// document.
    pub fn is_over(&mut self) -> bool {
        let is_over = self.is_full() || Instant::now() >= self.deadline;
        self.done.is_cut |= is_over;
        is_over
    }

    /// Returns whether there is neither text nor a property.
    pub fn is_empty(&self) -> bool {
        self.done.text.is_empty() && self.done.title.is_empty() && self.done.author.is_empty()
    }

    /// Returns whether there are neither words nor a property.
    pub fn has_no_words(&self) -> bool {
        self.done.text.trim().is_empty() && self.done.title.is_empty() && self.done.author.is_empty()
    }

    /// Returns what was collected.
    pub fn finish(mut self) -> DocumentText {
        self.done.is_cut |= self.is_full();
        let length = self.done.text.trim_end().len();
        self.done.text.truncate(length);
        self.done
    }
}

fn set(property: &mut String, value: &str) {
    for word in value.split_whitespace() {
        if property.len() + word.len() >= MAX_PROPERTY_BYTES {
            break;
        }
        if !property.is_empty() {
            property.push(' ');
        }
        property.push_str(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_one_space_and_lines_end_once() {
        let mut text = TextBuilder::default();
        text.add_words("\n one\t two");
        text.add_words("fold");
        text.add_words(" three ");
        text.end_line();
        text.end_line();
        text.add_words("four");
        assert_eq!(text.finish().text, "one twofold three\nfour");
    }

    #[test]
    fn text_is_cut_between_characters() {
        let mut text = TextBuilder::default();
        text.add(&"ä".repeat(MAX_TEXT_BYTES));
        assert!(text.is_full());
        text.end_line();
        let done = text.finish();
        assert!(done.is_cut);
        assert_eq!(done.text.len(), MAX_TEXT_BYTES);
    }

    #[test]
    fn properties_are_those_of_the_outer_document() {
        let mut text = TextBuilder::default();
        text.inside(|text| text.set_title("Attachment"));
        text.set_title(" A  letter ");
        text.set_title("Another");
        assert_eq!(text.finish().title, "A letter");
    }
}

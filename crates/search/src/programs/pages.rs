//! The pages of a PDF as poppler returns them, and its title and author.

use crate::readers::{DocumentText, TextBuilder};

/// Limit on the pages, because a small document can have millions of form feeds.
const MAX_PAGES: usize = 20_000;

/// Text of the pages of a document, and whether there is more.
#[derive(Debug, Default)]
pub struct Pages {
    /// The text of each page.
    pub pages: Vec<String>,
    /// Set if there is more text than this.
    pub is_cut: bool,
}

impl Pages {
    /// Splits the output of `pdftotext`, which writes a form feed after each page.
    pub fn of(output: &[u8], is_cut: bool) -> Self {
        let text = String::from_utf8_lossy(output);
        let mut parts = text.split('\u{c}');
        let mut pages: Vec<String> = parts.by_ref().take(MAX_PAGES).map(ToOwned::to_owned).collect();
        // Nothing follows the last form feed, unless the output is cut.
        let has_more = parts.next().is_some_and(|rest| !rest.trim().is_empty() || parts.next().is_some());
        if !has_more && pages.last().is_some_and(|rest| rest.trim().is_empty()) {
            pages.pop();
        }
        Self { pages, is_cut: is_cut || has_more }
    }

    /// Returns the indexes of pages without a letter or digit.
    pub fn without_text(&self) -> Vec<usize> {
        let is_empty = |page: &String| !page.chars().any(char::is_alphanumeric);
        self.pages.iter().enumerate().filter(|(_, page)| is_empty(page)).map(|(index, _)| index).collect()
    }

    /// Returns the text of all pages, with the properties in the output of `pdfinfo`.
    pub fn finish(&self, properties: &[u8]) -> DocumentText {
        let mut text = TextBuilder::default();
        add_properties(&mut text, &String::from_utf8_lossy(properties));
        for page in &self.pages {
            if text.is_full() {
                text.note_cut();
                break;
            }
            for line in page.lines() {
                text.add_words(line);
                text.end_line();
            }
            text.end_page();
        }
        if self.is_cut {
            text.note_cut();
        }
        text.finish()
    }
}

/// Appends the properties that `pdfinfo` names, one in each line: `Title:   value`.
fn add_properties(text: &mut TextBuilder, properties: &str) {
    for line in properties.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        match name {
            "Title" => text.set_title(value),
            "Author" => text.set_author(value),
            "Subject" | "Keywords" => {
                text.add_words(value.trim());
                text.end_line();
            }
            // The last of those that people write.
            "Producer" | "Pages" => break,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_kept_apart_and_empty_ones_are_known() {
        let pages = Pages::of("First  page\nof two\u{c} - \u{c}\u{c}Gr\u{f6}\u{df}e\n\u{c}".as_bytes(), false);
        assert_eq!(pages.without_text(), [1, 2]);
        let text =
            pages.finish(b"Title:           Annual  report\nAuthor: Mia Roth\nKeywords: roof\nPages: 4\nTitle: no\n");
        assert_eq!((text.title.as_str(), text.author.as_str()), ("Annual report", "Mia Roth"));
        assert_eq!(text.text, "roof\nFirst page\nof two\n\u{c}-\n\u{c}\u{c}Gr\u{f6}\u{df}e");
        assert!(!text.is_cut);
    }

    #[test]
    fn any_output_is_taken_as_it_is() {
        for output in [&b""[..], b"\xff\xfe", b"\x0c", b"\0\n:\n", "\u{85}:\u{c}".as_bytes()] {
            Pages::of(output, true).finish(output);
        }
        assert!(Pages::of(b"", false).pages.is_empty());
        assert!(Pages::of(b"cut off", true).finish(b"").is_cut);
    }
}

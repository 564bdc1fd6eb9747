//! The passage of a hit that is shown: the part of the text with most of the words that were looked for.

use std::collections::{HashSet, VecDeque};

use model::Result;
use tantivy::schema::{TantivyDocument, Value};

use super::error::index_failed;
use super::top::Hit;
use super::view::View;
use crate::language::words::{Word, Words};
use crate::query::SearchQuery;

/// Characters of a passage, roughly.
const PASSAGE_BYTES: usize = 240;
/// Bytes of a text that are looked through for a passage.
const LOOKED_THROUGH: usize = 1 << 20;

/// A part of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Its pieces, in order.
    pub pieces: Vec<Piece>,
    /// Set if the text has more before it, and after it.
    pub more: (bool, bool),
}

/// A piece of a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The text as it is in the document, with line breaks and control characters as spaces.
    pub text: String,
    /// True for a word that was looked for.
    pub hit: bool,
}

impl View {
    /// Returns the passage of a hit; `None` if the words are only in the name. Blocks while it reads the index.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn passage(&self, hit: &Hit, query: &SearchQuery) -> Result<Option<Passage>> {
        let document: TantivyDocument = self.searcher.doc(hit.address).map_err(index_failed)?;
        let body = document.get_first(self.fields.body).and_then(|body| body.as_str());
        Ok(body.and_then(|text| passage(text, query)))
    }
}

fn passage(text: &str, query: &SearchQuery) -> Option<Passage> {
    let text = &text[..text.floor_char_boundary(LOOKED_THROUGH)];
    let sought: HashSet<&str> = query.words().collect();
    // The words that were found within the length of one passage, and the best of these so far.
    let mut near: VecDeque<Word> = VecDeque::new();
    let mut best: Option<(usize, Vec<Word>)> = None;
    for word in Words::of(text).filter(|word| sought.contains(word.folded.as_str())) {
        while near.front().is_some_and(|first| word.end - first.start > PASSAGE_BYTES) {
            near.pop_front();
        }
        near.push_back(word);
        let different = near.iter().map(|word| word.folded.as_str()).collect::<HashSet<_>>().len();
        if best.as_ref().is_none_or(|(most, words)| (different, near.len()) > (*most, words.len())) {
            best = Some((different, near.iter().cloned().collect()));
        }
        if best.as_ref().is_some_and(|(most, words)| *most == sought.len() && words.len() > 2 * sought.len()) {
            break;
        }
    }
    let (_, words) = best?;
    let (first, last) = (words.first()?.start, words.last()?.end);
    // What is left of the length stands around the words, a third of it before them.
    let left = PASSAGE_BYTES.saturating_sub(last - first);
    let start = word_start(text, first.saturating_sub(left / 3));
    let end = word_end(text, (last + left - left / 3).min(text.len()));
    let mut pieces = Vec::new();
    let mut at = start;
    let mut add = |range: std::ops::Range<usize>, hit| {
        if !range.is_empty() {
            pieces.push(Piece { text: plain(&text[range]), hit });
        }
    };
    for word in &words {
        add(at..word.start, false);
        add(word.start..word.end, true);
        at = word.end;
    }
    add(at..end, false);
    Some(Passage { pieces, more: (start > 0, end < text.len()) })
}

/// Returns the start of the first word after `at`, unless it is far.
fn word_start(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    if at == 0 {
        return 0;
    }
    text[at..].char_indices().take(30).find(|(_, c)| c.is_whitespace()).map_or(at, |(gap, c)| at + gap + c.len_utf8())
}

/// Returns the end of the last word before `at`, unless it is far.
fn word_end(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    if at == text.len() {
        return at;
    }
    text[..at].char_indices().rev().take(30).find(|(_, c)| c.is_whitespace()).map_or(at, |(gap, _)| gap)
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, query: &str) -> Option<String> {
        let found = passage(text, &SearchQuery::parse(query))?;
        let pieces =
            found.pieces.into_iter().map(|piece| if piece.hit { format!("[{}]", piece.text) } else { piece.text });
        Some(pieces.collect())
    }

    #[test]
    fn a_passage_has_the_words_as_they_stand_in_the_text() {
        assert_eq!(shown("Die Größe\nder Rohre", "GROSSE rohre").as_deref(), Some("Die [Größe] der [Rohre]"));
        assert_eq!(shown("nothing here", "grosse"), None);
        assert_eq!(shown("", "a"), None);
    }

    #[test]
    fn the_part_with_most_words_is_shown() {
        let text = format!("one {} one two {} three", "x ".repeat(500), "y ".repeat(500));
        let found = passage(&text, &SearchQuery::parse("one two")).unwrap();
        assert_eq!(found.more, (true, true));
        let hits: Vec<&str> = found.pieces.iter().filter(|piece| piece.hit).map(|piece| piece.text.as_str()).collect();
        assert_eq!(hits, ["one", "two"]);
        let length: usize = found.pieces.iter().map(|piece| piece.text.len()).sum();
        assert!(length <= PASSAGE_BYTES + 60, "{length}");
    }

    #[test]
    fn texts_without_spaces_and_with_wide_characters_are_cut_at_characters() {
        let text = format!("{}word{}", "ä".repeat(500), "é".repeat(500));
        assert_eq!(shown(&text, "word"), None);
        let text = format!("{}.word.{}", "ä".repeat(500), "é".repeat(500));
        assert!(shown(&text, "word").unwrap().contains("[word]"));
    }
}

//! The passage of a hit: the part of the text with most of the query's words.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use model::{ErrorKind, Id, Result};

use super::clock::Clock;
use super::entry::Audience;
use super::kept_text::{KeptText, TextReader};
use super::provider::{View, ViewKind};
use super::top::{EntryAddress, Hit};
use crate::language::words::fold_into;
use crate::query::{SearchQuery, Tolerance, WordMatcher};

/// Approximate length of a passage in bytes.
pub(super) const PASSAGE_BYTES: usize = 240;
/// Characters in which the beginning or the end of a word is looked for.
const FAR: usize = 30;
/// Number of words in a passage that ends the search for a better one.
const ENOUGH: usize = 4;
/// Bytes of the text in which a better passage is looked for after one that has every word.
const FURTHER: usize = 2 << 10;

/// Number of kept texts that are read from a search server at once.
const READ_AT_ONCE: usize = 20;

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
    /// True for a word of the query.
    pub hit: bool,
}

/// Finds the passages of hits, with memory that they share.
pub struct PassageFinder<'a> {
    pub(super) view: &'a View,
    pub(super) matcher: WordMatcher,
    pub(super) texts: TextReader,
    pub(super) clock: Clock,
    /// Hits whose kept texts are read from a search server, several at once.
    expected: Vec<Hit>,
    /// Those that were read.
    read: HashMap<(Id, Audience), Vec<u8>>,
}

impl<'a> PassageFinder<'a> {
    /// Prepares for the words of a query.
    ///
    /// # Errors
    /// `Unavailable` if there is no memory for it.
    pub fn new(view: &'a View, query: &SearchQuery, tolerance: Tolerance, clock: Clock) -> Result<Self> {
        let (matcher, texts) = (WordMatcher::of(query, tolerance), TextReader::new()?);
        Ok(Self { view, matcher, texts, clock, expected: Vec::new(), read: HashMap::new() })
    }

    /// Tells which hits will be asked for, in their order, so that several are read at once.
    pub fn prefetch(&mut self, hits: &[Hit]) {
        if self.matcher.count() != 0 {
            self.expected = hits.iter().rev().copied().collect();
        }
    }

    /// Returns the passage of a hit with the words of the query; `None` if they are only in the name, or time is up.
    /// Blocks while it reads the index.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn passage(&mut self, hit: &Hit) -> Result<Option<Passage>> {
        // A query of filters alone has no words that a passage could show.
        if self.matcher.count() == 0 || self.clock.is_over_now() {
            return Ok(None);
        }
        let packed = self.packed((hit.node, hit.version), hit.address)?;
        passage(self.texts.open(&packed), &mut self.matcher, &self.clock)
    }

    /// Returns the kept text of an entry in its stored form; nothing if it is gone, or if the time for asking a search
    /// server is up.
    pub(super) fn packed(&mut self, (node, version): (Id, Id), address: EntryAddress) -> Result<Vec<u8>> {
        match (&self.view.0, address) {
            (ViewKind::Local(view), EntryAddress::Local(address)) => view.packed(address),
            (ViewKind::Shared(view), EntryAddress::Shared(audience)) => {
                if let Some(read) = self.read.remove(&(node, audience)) {
                    return Ok(read);
                }
                let mut wanted = vec![(node, version, audience)];
                while wanted.len() < READ_AT_ONCE
                    && let Some(hit) = self.expected.pop()
                {
                    if let EntryAddress::Shared(audience) = hit.address
                        && !wanted.contains(&(hit.node, hit.version, audience))
                    {
                        wanted.push((hit.node, hit.version, audience));
                    }
                }
                self.read = match view.kept(&wanted, &self.clock) {
                    // What was found counts without its passages.
                    Err(error) if error.kind() == ErrorKind::Unavailable && self.clock.is_over_now() => HashMap::new(),
                    kept => kept?,
                };
                Ok(self.read.remove(&(node, audience)).unwrap_or_default())
            }
            // The address is of another view.
            _ => Ok(Vec::new()),
        }
    }
}

fn passage(mut kept: KeptText<'_>, matcher: &mut WordMatcher, clock: &Clock) -> Result<Option<Passage>> {
    // The last words that fit, within the length of one passage, each with the number of the part of the query.
    let mut near = VecDeque::<(usize, Range<usize>)>::new();
    // How often each part of the query is among them.
    let mut counts = HashMap::<usize, usize>::new();
    // The words of the best passage so far, with the number of different parts of the query in it.
    let mut best: Option<(usize, Vec<Range<usize>>)> = None;
    let mut end = usize::MAX;
    let words = |near: &VecDeque<(usize, Range<usize>)>| near.iter().map(|(_, word)| word.clone()).collect();
    let mut folded = String::new();
    while let Some(span) = kept.next_span()?.filter(|span| span.start < end) {
        let word = &kept.text()[span.clone()];
        if !matcher.may_fit(word) {
            continue;
        }
        if clock.is_over() {
            return Ok(None);
        }
        fold_into(word, &mut folded);
        let Some(found) = matcher.fits(&folded) else { continue };
        while let Some((number, _)) = near.pop_front_if(|(_, first)| span.end - first.start > PASSAGE_BYTES) {
            if let Some(count) = counts.get_mut(&number) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&number);
                }
            }
        }
        *counts.entry(found).or_default() += 1;
        near.push_back((found, span.clone()));
        let is_better = best
            .as_ref()
            .is_none_or(|(most, words)| counts.len() > *most || counts.len() == *most && near.len() > words.len());
        if is_better {
            best = Some((counts.len(), words(&near)));
        }
        if counts.len() == matcher.count() {
            if near.len() >= ENOUGH {
                break;
            }
            end = end.min(span.end + FURTHER);
        }
    }
    let Some((_, words)) = best else { return Ok(None) };
    kept.read_until(words.last().map_or(0, |last| last.end) + PASSAGE_BYTES + FAR)?;
    let mut passage = around(kept.text(), &words, 0, kept.text().len()).0;
    passage.more.1 |= !kept.is_complete();
    Ok(Some(passage))
}

/// Returns the passage with these words, between two positions of the text, and its end.
pub(super) fn around(text: &str, words: &[Range<usize>], after: usize, until: usize) -> (Passage, usize) {
    let (first, last) = match words {
        [first, .., last] => (first.start, last.end),
        [only] => (only.start, only.end),
        [] => (after, after),
    };
    // The remaining length surrounds the words, one third before them.
    let left = PASSAGE_BYTES.saturating_sub(last - first);
    let start = word_start(text, first.saturating_sub(left / 3)).max(after).min(first);
    let end = word_end(text, (last + left - left / 3).min(until)).max(last);
    (Passage { pieces: pieces(text, words, start..end), more: (start > 0, end < text.len()) }, end)
}

/// Returns the pieces of a part of a text, of which some words are marked. The words lie in it, in their order.
fn pieces(text: &str, words: &[Range<usize>], part: Range<usize>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = part.start;
    let mut add = |range: Range<usize>, hit| {
        let piece = &text[range];
        let shown = &piece[..piece.floor_char_boundary(PASSAGE_BYTES)];
        if !shown.is_empty() {
            pieces.push(Piece { text: plain(shown), hit });
        }
    };
    for word in words {
        add(at..word.start, false);
        add(word.start..word.end, true);
        at = word.end;
    }
    add(at..part.end, false);
    pieces
}

/// Returns the start of the first word after `at`, unless it is far.
fn word_start(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    if at == 0 {
        return 0;
    }
    text[at..].char_indices().take(FAR).find(|(_, c)| c.is_whitespace()).map_or(at, |(gap, c)| at + gap + c.len_utf8())
}

/// Returns the end of the last word before `at`, unless it is far.
fn word_end(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    if at == text.len() {
        return at;
    }
    text[..at].char_indices().rev().take(FAR).find(|(_, c)| c.is_whitespace()).map_or(at, |(gap, _)| gap)
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::kept_text::TextPacker;

    fn passage_of(text: &str, query: &str) -> Option<Passage> {
        let query = SearchQuery::parse(query, model::Timestamp::from_micros(0));
        let clock = Clock::new(std::time::Instant::now() + std::time::Duration::from_secs(60));
        let packed = TextPacker::new().unwrap().pack(text).unwrap();
        let mut reader = TextReader::new().unwrap();
        passage(reader.open(&packed), &mut WordMatcher::of(&query, Tolerance::Exact), &clock).unwrap()
    }

    fn shown(text: &str, query: &str) -> Option<String> {
        let found = passage_of(text, query)?;
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
        let found = passage_of(&text, "one two").unwrap();
        assert_eq!(found.more, (true, true));
        let hits: Vec<&str> = found.pieces.iter().filter(|piece| piece.hit).map(|piece| piece.text.as_str()).collect();
        assert_eq!(hits, ["one", "two"]);
        let length: usize = found.pieces.iter().map(|piece| piece.text.len()).sum();
        assert!(length <= PASSAGE_BYTES + 60, "{length}");
    }

    #[test]
    fn cost_and_length_are_bounded() {
        let text = "a ".repeat(1 << 20) + "b";
        let found = passage_of(&text, "a b").unwrap();
        assert!(found.pieces.len() < 300, "{}", found.pieces.len());
        let long = "x".repeat(1 << 20);
        let found = passage_of(&long, &long).unwrap();
        let length: usize = found.pieces.iter().map(|piece| piece.text.len()).sum();
        assert!(length <= 3 * PASSAGE_BYTES, "{length}");
    }

    #[test]
    fn no_passage_begins_or_ends_within_its_words() {
        let text = format!("{}aws\n and more", "東京".repeat(30));
        assert!(shown(&text, "aws").unwrap().contains("[aws]"));
        for length in 200..260 {
            let text = format!("zz alpha {} beta. zz zz", "y".repeat(length));
            let found = shown(&text, "alpha beta").unwrap();
            assert!(found.contains("[alpha]") || found.contains("[beta]"), "{length}");
            let text = format!("{} alpha {}", "x".repeat(length), "y".repeat(length));
            assert!(shown(&text, "alpha").unwrap().contains("[alpha]"), "{length}");
        }
    }

    #[test]
    fn texts_without_spaces_and_with_wide_characters_are_cut_at_characters() {
        let text = format!("{}word{}", "ä".repeat(500), "é".repeat(500));
        assert_eq!(shown(&text, "word"), None);
        let text = format!("{}.word.{}", "ä".repeat(500), "é".repeat(500));
        assert!(shown(&text, "word").unwrap().contains("[word]"));
    }
}

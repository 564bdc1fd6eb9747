//! All passages of one entry.

use std::ops::Range;

use model::{Id, Result};

use super::clock::Clock;
use super::passage::{PASSAGE_BYTES, Passage, PassageFinder, around};
use super::provider::ViewKind;
use super::top::EntryAddress;
use crate::language::words::{Words, fold_into};
use crate::query::WordMatcher;

/// Limit on the words that are marked in one passage.
const MAX_MARKED: usize = 50;

/// The passages of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passages {
    /// In the order of the text, without overlaps.
    pub passages: Vec<Passage>,
    /// True if there are more than the limit.
    pub more: bool,
    /// True if the kept text was searched up to its end or the limit. Otherwise time was up.
    pub whole: bool,
}

impl PassageFinder<'_> {
    /// Returns the passages of a version of a document with words of the query, at most `limit`; `None` if the version
    /// has no entry. Blocks while it reads the index.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn passages(&mut self, (node, version): (Id, Id), limit: usize) -> Result<Option<Passages>> {
        let address = match &self.view.0 {
            ViewKind::Local(view) => view.entry_of(node, version)?.map(EntryAddress::Local),
            ViewKind::Shared(view) => view.entry_of(node, version)?.map(EntryAddress::Shared),
        };
        let Some(address) = address else { return Ok(None) };
        let packed = self.packed((node, version), address)?;
        let mut kept = self.texts.open(&packed);
        while !kept.is_complete() && !self.clock.is_over_now() {
            kept.read_until(kept.text().len() + 1)?;
        }
        let is_read = kept.is_complete();
        let mut found = passages(kept.text(), &mut self.matcher, limit, &self.clock);
        found.whole &= is_read;
        Ok(Some(found))
    }
}

fn passages(text: &str, matcher: &mut WordMatcher, limit: usize, clock: &Clock) -> Passages {
    let mut found = Passages { whole: true, ..Passages::default() };
    // The words of the passage that is being made, and the end of the one before.
    let (mut words, mut before) = (Vec::<Range<usize>>::new(), 0);
    let (mut spans, mut folded) = (Words::of(text), String::new());
    while let Some(span) = spans.next_span() {
        if clock.is_over() {
            found.whole = false;
            break;
        }
        if !matcher.may_fit(&text[span.clone()]) {
            continue;
        }
        fold_into(&text[span.clone()], &mut folded);
        if matcher.fits(&folded).is_none() {
            continue;
        }
        let is_far = words.first().is_some_and(|first| span.start - first.start > PASSAGE_BYTES - PASSAGE_BYTES / 3);
        if is_far || words.len() == MAX_MARKED {
            if found.passages.len() + 1 >= limit {
                found.more = true;
                break;
            }
            // A passage does not reach into the next one.
            let (passage, end) = around(text, &words, before, span.start);
            found.passages.push(passage);
            (before, words) = (end, Vec::new());
        }
        words.push(span);
    }
    if !words.is_empty() {
        found.passages.push(around(text, &words, before, text.len()).0);
    }
    found
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::query::{SearchQuery, Tolerance};

    fn of(text: &str, query: &str, limit: usize) -> Passages {
        let query = SearchQuery::parse(query, model::Timestamp::from_micros(0));
        let clock = Clock::new(Instant::now() + Duration::from_secs(60));
        passages(text, &mut WordMatcher::of(&query, Tolerance::Exact), limit, &clock)
    }

    fn shown(passage: &Passage) -> String {
        let piece = |hit: bool, text: &str| if hit { format!("[{text}]") } else { text.to_owned() };
        passage.pieces.iter().map(|part| piece(part.hit, &part.text)).collect()
    }

    #[test]
    fn every_place_with_the_words_is_in_one_passage() {
        let gap = "filler ".repeat(60);
        let text = format!("A heron and a second heron. {gap}Herons again, {gap}and the heron.");
        let found = of(&text, "heron", 20);
        assert_eq!((found.passages.len(), found.more, found.whole), (3, false, true));
        let texts: Vec<String> = found.passages.iter().map(shown).collect();
        assert!(texts[0].starts_with("A [heron] and a second [heron]."), "{}", texts[0]);
        assert!(texts[1].contains("[Herons] again"), "{}", texts[1]);
        assert_eq!(
            found.passages.iter().map(|passage| passage.more).collect::<Vec<_>>(),
            [(false, true), (true, true), (true, false)]
        );
        assert_eq!(of("nothing here", "heron", 20).passages, []);
        assert_eq!(of("", "heron", 20).passages, []);
    }

    #[test]
    fn passages_do_not_overlap_and_are_bounded() {
        let text = "aa bb ".repeat(50_000);
        let found = of(&text, "bb", 20);
        assert_eq!((found.passages.len(), found.more), (20, true));
        let all: String = found.passages.iter().flat_map(|passage| &passage.pieces).map(|p| p.text.as_str()).collect();
        assert!(all.len() < 20 * (PASSAGE_BYTES + 60), "{}", all.len());
        let numbered: String = (0..5_000).map(|number| format!("w{number} bb ")).collect();
        let shown_words: String = of(&numbered, "bb", 20).passages.iter().map(shown).collect::<Vec<_>>().join(" ");
        let numbers: Vec<u32> =
            shown_words.split_whitespace().filter_map(|word| word.strip_prefix('w')?.parse().ok()).collect();
        assert!(
            numbers.len() > 20 && numbers.is_sorted_by(|one, next| one < next),
            "each word is shown once, in order"
        );
        // One word after the other: each is shown once.
        let some = format!("{} end", "bb ".repeat(200));
        let found = of(&some, "bb", 20);
        let marked = found.passages.iter().flat_map(|passage| &passage.pieces).filter(|piece| piece.hit).count();
        assert_eq!(marked, 200);
        let one = of(&text, "bb", 1);
        assert_eq!((one.passages.len(), one.more), (1, true));
        let wide = format!("{}.bb.{}", "ä".repeat(500), "é".repeat(500));
        assert!(shown(&of(&wide, "bb", 20).passages[0]).contains("[bb]"));
    }
}

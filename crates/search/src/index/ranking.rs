//! How hits are ranked, the same for both providers. Tuned with `bench/relevance` (decision 69).

use std::collections::BTreeSet;

use crate::language::similar::allowed_difference;
use crate::language::stems::Stems;
use crate::language::text_languages::LANGUAGES;
use crate::query::{QueryWord, SearchQuery, Sought, WordField};

/// Weights of words in names and titles, beside that of words in the text.
pub(super) const NAME_WEIGHT: f32 = 1.0;
pub(super) const TITLE_WEIGHT: f32 = 0.5;
/// Weight of words that are merely similar.
pub(super) const SIMILAR_WEIGHT: f32 = 0.5;

/// Limit on the spellings of a phrase.
const MAX_SPELLINGS: usize = 8;

/// Number of entries with a word below which it may be a mistake.
pub(super) const RARE: u64 = 10;

/// Limit on the words for which similar ones are looked for, because each look-up is slow. The rarest are chosen.
const MAX_TOLERANT_WORDS: usize = 8;

/// Limit on the admitted entries that are counted for a word. Words in more entries have the weight of this number.
pub(super) const MAX_COUNTED: u64 = 5_000;

/// Share of the time for counting: one third.
pub(super) const TIME_SHARE: u32 = 3;

/// Number of entries for the formula of the weights: so many that the most frequent words still have a weight.
pub(super) const ENTRIES: u64 = 20_000;
/// Usual numbers of words in a text, and in a name or title.
pub(super) const USUAL_TEXT_WORDS: u64 = 500;
pub(super) const USUAL_NAME_WORDS: u64 = 5;

/// Greatest bonus for a name or title that equals the query, and for a text in which all words follow each other, as
/// multiples of the query's total IDF.
const NAME_COVERAGE: f32 = 1.0;
const TITLE_COVERAGE: f32 = 1.0;
const ADJACENCY: f32 = 1.5;

/// Number of the best entries by their words that are reranked.
pub(super) const MAX_RERANKED: usize = 100;

/// Score added for a document that changed just now. It halves every [`HALF_LIFE`] seconds.
pub(super) const RECENCY: f64 = 1.0;
pub(super) const HALF_LIFE: f64 = 180.0 * 86_400.0;

/// Returns the terms whose frequency decides about the order.
pub(super) fn terms(query: &SearchQuery, stems: &Stems) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    for (_, sought) in query.sought() {
        sought.words().iter().for_each(|word| terms.extend(forms(word.spellings(), stems)));
    }
    terms
}

/// Returns the rarest words of a query for which similar ones may count too, folded.
pub(super) fn tolerant_words_of(query: &SearchQuery, idf: impl Fn(&QueryWord) -> f32) -> BTreeSet<String> {
    let mut words: Vec<(f32, &String)> = Vec::new();
    for (_, sought) in query.sought() {
        if let Sought::Word(word) = sought
            && allowed_difference(&word.folded).is_some()
            && !words.iter().any(|(_, known)| **known == word.folded)
        {
            words.push((idf(word), &word.folded));
        }
    }
    words.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    words.into_iter().take(MAX_TOLERANT_WORDS).map(|(_, word)| word.clone()).collect()
}

/// Returns the words by which names, titles and texts are ranked. Stated authors are not.
pub(super) fn ranking_words(query: &SearchQuery) -> Vec<&QueryWord> {
    let sought = query.sought().into_iter().filter(|(field, _)| *field != WordField::StatedAuthor);
    sought.flat_map(|(_, sought)| sought.words()).collect()
}

/// Returns the forms under which spellings of a word are in the index.
pub(super) fn forms<'a>(spellings: impl IntoIterator<Item = &'a String>, stems: &Stems) -> BTreeSet<String> {
    spellings.into_iter().flat_map(|spelling| stems.joined(spelling)).collect()
}

/// Returns the phrases that several words stand for: their spellings, stemmed by the rules of one language after the
/// other.
pub(super) fn phrase_forms(words: &[QueryWord], stems: &Stems) -> BTreeSet<Vec<String>> {
    let mut spelled: Vec<Vec<&String>> = vec![Vec::new()];
    for word in words {
        let longer = spelled.iter().flat_map(|before| {
            word.spellings().map(|spelling| before.iter().copied().chain([spelling]).collect::<Vec<_>>())
        });
        spelled = longer.take(MAX_SPELLINGS).collect();
    }
    let mut phrases = BTreeSet::new();
    for spelling in spelled {
        let stems: Vec<_> = spelling.into_iter().map(|word| stems.joined(word)).collect();
        phrases.extend((0..LANGUAGES).map(|at| stems.iter().map(|stems| stems[at].clone()).collect::<Vec<_>>()));
    }
    phrases
}

/// Returns the inverse document frequency, in BM25 as in Lucene and tantivy, of a word that so many admitted entries
/// contain; `None` if they were not counted.
pub(super) fn idf_of(count: Option<u64>) -> f32 {
    let count = count.unwrap_or(MAX_COUNTED / 2) as f32;
    (1.0 + (ENTRIES as f32 - count + 0.5) / (count + 0.5)).ln()
}

/// Returns how much of a query and of a field cover each other, by the share of the query's weight in the field, the
/// number of words of the query there, and the number of words of the field.
pub(super) fn coverage(share_of_query: f32, found: u64, length: u64) -> f32 {
    let share_of_field = found as f32 / length.max(found).max(1) as f32;
    share_of_query.powi(2) * share_of_field.sqrt()
}

/// Returns what is added to the score of an entry: by how much its name and title cover the query, and by the weight of
/// the pairs of words that are adjacent in its text, of all pairs. `total` is the sum of the words' IDF.
pub(super) fn closeness_bonus(total: f32, name: f32, title: f32, adjacent: f32, pairs: f32) -> f32 {
    let order = if pairs > 0.0 { adjacent / pairs } else { 0.0 };
    total * (NAME_COVERAGE * name + TITLE_COVERAGE * title + ADJACENCY * order)
}

/// Returns a score as a rank. It is rounded, so that the order in which its parts were added does not matter.
pub(super) fn scaled(score: f64) -> i64 {
    (score * 1_024.0).round() as i64
}

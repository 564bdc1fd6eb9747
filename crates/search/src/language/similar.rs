//! Similar words: those with the same first letter and an edit distance of 1 or 2, and compounds that begin or end with
//! a word. Words are compared by their stems.

/// Fewest letters of a stem to which others are similar.
const MIN_SIMILAR: usize = 4;
/// Most letters, because the cost of the comparison grows with them.
const MAX_SIMILAR: usize = 24;
/// Fewest letters of a stem from which two letters may differ.
const MIN_TWO_OFF: usize = 8;
/// Fewest letters of a stem that is looked for in compounds.
const MIN_PART: usize = 5;
/// Fewest letters of a compound that is found by its end.
const MIN_COMPOUND: usize = 8;

/// Returns how many letters of a similar word may differ from a stem; `None` if no word is similar to it.
pub fn allowed_difference(stem: &str) -> Option<u8> {
    let letters = stem.chars().count();
    let is_word = stem.chars().all(char::is_alphabetic);
    (is_word && (MIN_SIMILAR..=MAX_SIMILAR).contains(&letters)).then_some(if letters >= MIN_TWO_OFF { 2 } else { 1 })
}

/// Returns whether a stem is looked for in compounds.
pub fn is_part(stem: &str) -> bool {
    stem.len() >= MIN_PART && stem.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns whether the stem of a word of this many bytes can be a compound that is found by its end.
pub fn may_be_compound(bytes: usize) -> bool {
    bytes >= MIN_COMPOUND
}

/// Returns whether a stem can be a compound that is found by its end.
pub fn is_compound(stem: &str) -> bool {
    stem.len() >= MIN_COMPOUND && stem.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns a word backwards, so that words with the same end have the same beginning.
pub fn backwards(word: &str) -> String {
    word.chars().rev().collect()
}

/// Returns whether the stem of a word is similar to another.
pub fn is_similar(stem: &str, sought: &str) -> bool {
    let is_part_of = is_part(sought) && (stem.starts_with(sought) || is_compound(stem) && stem.ends_with(sought));
    let is_near = |allowed| difference(stem, sought) <= usize::from(allowed);
    is_part_of || stem.chars().next() == sought.chars().next() && allowed_difference(sought).is_some_and(is_near)
}

/// Returns how many letters must be replaced, inserted, removed or swapped with the next one, to make one word of the
/// other: the optimal string alignment distance. Words whose lengths differ by more than 2 are 3 apart.
fn difference(one: &str, other: &str) -> usize {
    if one.chars().count().abs_diff(other.chars().count()) > 2 {
        return 3;
    }
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, opposite) in other.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != opposite);
            let mut least = replaced.min(last[column + 1] + 1).min(next[column] + 1);
            if row > 0 && column > 0 && *letter == other[column - 1] && one[row - 1] == *opposite {
                least = least.min(before[column - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_counted() {
        let cases = [("", "", 0), ("abc", "abc", 0), ("abc", "acb", 1), ("abcd", "abd", 1), ("abcd", "xbcy", 2)];
        for (one, other, expected) in cases.into_iter().chain([("größe", "grosse", 3), ("abc", "abcdef", 3)]) {
            assert_eq!(difference(one, other), expected, "{one} {other}");
            assert_eq!(difference(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn similar_words_and_compounds_are_told_from_others() {
        assert!(is_similar("contarct", "contract"));
        assert!(is_similar("rohr", "rohf"));
        assert!(!is_similar("rohr", "rand"));
        assert!(!is_similar("abc", "abd"), "too short");
        assert!(!is_similar("2025", "2026"), "no word");
        assert!(is_similar("haftpflichtversicher", "versicher"));
        assert!(is_similar("vertragspartn", "vertrag"));
        assert!(!is_similar("auto", "versicher"));
    }
}

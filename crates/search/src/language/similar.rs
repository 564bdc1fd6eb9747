//! Similar words: those with the same first letter and an edit distance of 1 or 2, compared by their stems, and
//! compounds that begin with a stem or end with a word. Digits are never mistaken: "a4" is not similar to "a5".

/// Fewest letters of a stem to which others are similar.
const MIN_SIMILAR: usize = 5;
/// Most letters and digits, because the cost of the comparison grows with them.
const MAX_SIMILAR: usize = 24;
/// Fewest letters of a stem from which two letters may differ.
const MIN_TWO_OFF: usize = 11;
/// Fewest letters of a stem that is looked for in compounds.
const MIN_PART: usize = 5;
/// Fewest letters of a suffix key.
const MIN_END: usize = 4;
/// Fewest letters of a compound that is found by its end.
const MIN_COMPOUND: usize = 8;
/// German endings of case and number. The first that fits is removed, so longer ones come first.
const ENDINGS: [&str; 8] = ["ern", "em", "en", "er", "es", "e", "n", "s"];

/// Returns how many letters of a similar word may differ from a stem; `None` if no word is similar to it.
pub fn allowed_difference(stem: &str) -> Option<u8> {
    let letters = stem.chars().filter(|c| c.is_alphabetic()).count();
    let is_word = stem.chars().all(char::is_alphanumeric);
    let is_comparable = is_word && letters >= MIN_SIMILAR && stem.chars().count() <= MAX_SIMILAR;
    is_comparable.then_some(if letters >= MIN_TWO_OFF { 2 } else { 1 })
}

/// Returns the digits of a word, which similar words have too.
pub fn digits(word: &str) -> impl Iterator<Item = u8> + use<'_> {
    word.bytes().filter(u8::is_ascii_digit)
}

/// Returns whether a stem is looked for in compounds.
pub fn is_part(stem: &str) -> bool {
    stem.len() >= MIN_PART && stem.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns whether a word of this many bytes can be a compound that is found by its end.
pub fn may_be_compound(bytes: usize) -> bool {
    bytes >= MIN_COMPOUND
}

/// Returns the key under which a folded word is found by its end: without its German ending of case or number, and
/// backwards. The key of a compound begins with the key of its last part. `None` for short words and for characters
/// other than a to z. Stems are no such keys: stemmers remove different endings from short and from long words.
pub fn suffix_key(folded: &str) -> Option<String> {
    let ending = ENDINGS.iter().find(|ending| folded.ends_with(**ending)).copied().unwrap_or_default();
    let end = folded.get(..folded.len() - ending.len()).filter(|end| end.len() >= MIN_END)?;
    is_part(folded).then(|| end.chars().rev().collect())
}

/// Returns whether the stem of a word is similar to another.
pub fn is_similar(stem: &str, sought: &str) -> bool {
    let is_part_of = is_part(sought) && stem.starts_with(sought);
    let is_near = |allowed| difference(stem, sought) <= usize::from(allowed) && digits(stem).eq(digits(sought));
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
        assert!(is_similar("rohre", "rohfe"));
        assert!(!is_similar("rohre", "rande"));
        assert!(!is_similar("has", "haus"), "too short");
        assert!(!is_similar("versuch", "versicher"), "two letters of nine");
        assert!(is_similar("lagerhallne", "lagerhallen"));
        assert!(!is_similar("abc", "abd"), "too short");
        assert!(!is_similar("2025", "2026"), "no word");
        assert!(is_similar("aarhc64", "aarch64"));
        assert!(!is_similar("aarch32", "aarch64"), "other digits");
        assert!(is_similar("vertragspartn", "vertrag"));
        assert!(!is_similar("auto", "versicher"));
    }

    #[test]
    fn compounds_end_like_their_last_part_in_any_inflection() {
        let cases = [
            ("haftpflichtversicherungen", "versicherung"),
            ("prozesssitzung", "sitzungen"),
            ("mietvertrage", "vertrags"),
            ("krankenhausern", "hauser"),
            ("fehlernummern", "nummer"),
            ("plausibilitatsprufungen", "prufung"),
        ];
        for (compound, part) in cases {
            let (compound, part) = (suffix_key(compound).unwrap(), suffix_key(part).unwrap());
            assert!(compound.starts_with(&part), "{compound} {part}");
        }
        assert_eq!(suffix_key("rohr"), None);
        assert_eq!(suffix_key("vertrag2"), None);
    }
}

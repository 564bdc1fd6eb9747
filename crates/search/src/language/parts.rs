//! Parts of names: every two and three characters that follow each other in a folded name. By them, a name is found by
//! any part of it from two characters on.

/// Stands before the first character, so that beginnings differ from other parts. No name contains it.
const START: char = '\u{1}';
/// Numbers of characters in the shortest and in the longest part.
pub const SHORTEST: usize = 2;
const LONGEST: usize = 3;

/// Calls `take` with each part of a folded name and its position.
pub(crate) fn each_part(folded: &str, mut take: impl FnMut(usize, &str)) {
    let marked = marked(folded);
    let ends = ends(&marked);
    for first in 0..ends.len() - 1 {
        for length in SHORTEST..=LONGEST {
            if let Some(end) = ends.get(first + length) {
                take(first, &marked[ends[first]..*end]);
            }
        }
    }
}

/// Returns the fewest parts that together cover a text, with their positions in it; none if it is too short. With
/// `is_beginning`, names must begin with it.
pub(crate) fn covering(folded: &str, is_beginning: bool) -> Vec<(usize, String)> {
    let text = if is_beginning { marked(folded) } else { folded.to_owned() };
    let ends = ends(&text);
    let count = ends.len() - 1;
    let length = count.min(LONGEST);
    if length < SHORTEST {
        return Vec::new();
    }
    let last = count - length;
    let firsts = (0..last).step_by(LONGEST).chain([last]);
    firsts.map(|first| (first, text[ends[first]..ends[first + length]].to_owned())).collect()
}

fn marked(folded: &str) -> String {
    std::iter::once(START).chain(folded.chars()).collect()
}

/// Returns the byte offsets of all characters, and the length.
fn ends(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_of(name: &str) -> Vec<(usize, String)> {
        let mut parts = Vec::new();
        each_part(name, |position, part| parts.push((position, part.to_owned())));
        parts
    }

    #[test]
    fn every_part_of_a_name_is_covered_by_parts_at_the_same_distances() {
        for name in ["pläne für 2026.pdf", "ab", "a", "", "東京の地図"] {
            let (parts, chars) = (parts_of(name), name.chars().collect::<Vec<_>>());
            for first in 0..chars.len() {
                for end in first + 2..=chars.len() {
                    let part: String = chars[first..end].iter().collect();
                    for (offset, covering) in covering(&part, false) {
                        // The mark is at position 0.
                        assert!(parts.contains(&(first + 1 + offset, covering)), "{name}: {part}");
                    }
                }
            }
            if !name.is_empty() {
                assert!(covering(name, true).into_iter().all(|part| parts.contains(&part)), "{name}");
            }
        }
    }

    #[test]
    fn few_parts_cover_a_text() {
        let texts =
            |text, is_beginning| covering(text, is_beginning).into_iter().map(|(_, part)| part).collect::<Vec<_>>();
        assert_eq!(texts("contract", false), ["con", "tra", "act"]);
        assert_eq!(texts("plan", true), ["\u{1}pl", "lan"]);
        assert_eq!(texts("ab", false), ["ab"]);
        assert_eq!(texts("a", true), ["\u{1}a"]);
        assert!(texts("a", false).is_empty());
        assert!(texts("", false).is_empty());
    }
}

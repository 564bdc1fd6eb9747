//! Stems: the forms that the inflections of a word share. "Verträge" and "Vertrags" are both found as "vertrag".
//!
//! The stemmers are those of the [Snowball project](https://snowballstem.org/) for English and German. Words are folded
//! before they are stemmed. A long text is stemmed by the rules of its languages, a short one by those of all.

use std::collections::HashMap;

use frostem::{Algorithm, Stemmer};

use super::text_languages::{LANGUAGES, TextLanguage, TextLanguages};

/// The rules of each language.
const RULES: [Algorithm; LANGUAGES] = [Algorithm::English, Algorithm::German];

/// Limit on the stems that are remembered.
const MAX_REMEMBERED: usize = 20_000;

/// Finds stems, and remembers those of the last words.
pub struct Stems {
    stemmers: [Stemmer; LANGUAGES],
    remembered: [HashMap<String, String>; LANGUAGES],
}

impl Default for Stems {
    fn default() -> Self {
        Self { stemmers: RULES.map(Stemmer::new), remembered: Default::default() }
    }
}

impl Stems {
    /// Puts the stems of a folded word by the rules of these languages into `stems`, each once.
    pub fn put(&mut self, folded: &str, languages: TextLanguages, stems: &mut Vec<String>) {
        stems.clear();
        if !is_inflected(folded) {
            stems.push(folded.to_owned());
            return;
        }
        for language in TextLanguage::ALL.into_iter().filter(|language| languages.has(*language)) {
            let (stemmer, remembered) = (&self.stemmers[language as usize], &mut self.remembered[language as usize]);
            let stem = match remembered.get(folded) {
                Some(stem) => stem,
                None => {
                    if remembered.len() >= MAX_REMEMBERED {
                        remembered.clear();
                    }
                    remembered.entry(folded.to_owned()).or_insert_with(|| stemmer.stem(folded).into_owned())
                }
            };
            if !stems.contains(stem) {
                stems.push(stem.clone());
            }
        }
    }

    /// Returns the stems of a folded word by the rules of each language, in an order that is always the same.
    pub fn joined(&self, folded: &str) -> [String; LANGUAGES] {
        let stem = |stemmer: &Stemmer| {
            if is_inflected(folded) { stemmer.stem(folded).into_owned() } else { folded.to_owned() }
        };
        [stem(&self.stemmers[0]), stem(&self.stemmers[1])]
    }
}

/// Returns whether a word can have endings. Numbers and short words such as "a4" have none.
fn is_inflected(folded: &str) -> bool {
    folded.len() > 2 && folded.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stems(text: &str, word: &str) -> Vec<String> {
        let (mut finder, mut stems) = (Stems::default(), Vec::new());
        let languages = TextLanguages::of(text);
        finder.put(word, languages, &mut stems);
        stems
    }

    #[test]
    fn inflections_share_a_stem() {
        for words in [["vertrage", "vertrags"], ["rechnungen", "rechnung"], ["hauser", "haus"], ["files", "file"]] {
            let [first, second] = words.map(|word| stems("", word));
            assert!(first.iter().any(|stem| second.contains(stem)), "{first:?} {second:?}");
        }
        assert_eq!(stems("", "2026"), ["2026"]);
        assert_eq!(stems("", "re"), ["re"]);
        assert_eq!(stems("", "東"), ["東"]);
    }

    #[test]
    fn a_long_text_is_stemmed_by_the_rules_of_its_language() {
        let english = "The committee has considered the applications and will answer them within the week. ".repeat(4);
        let german =
            "Der Ausschuss hat die Antr\u{e4}ge gepr\u{fc}ft und wird sie in dieser Woche beantworten. ".repeat(4);
        assert_eq!(stems(&english, "opening"), ["open"]);
        assert_eq!(stems(&german, "rohren"), ["rohr"]);
        assert_eq!(stems("", "rohren"), ["rohren", "rohr"]);
        assert_eq!(stems(&format!("{english}{german}"), "rohren"), ["rohren", "rohr"], "both");
        let unknown = [
            "0123456789 ",
            "\u{bca1}\u{d130}\u{b294} \u{bc30}\u{c5f4} ",
            "\u{432}\u{435}\u{43a}\u{442}\u{43e}\u{440} ",
        ];
        for text in unknown {
            assert_eq!(stems(&text.repeat(100), "rohren"), ["rohren", "rohr"], "no language with rules: {text}");
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (mut finder, mut stems) = (Stems::default(), Vec::new());
        for number in 0..2 * MAX_REMEMBERED {
            let word: String = number.to_string().bytes().map(|digit| (b'a' + digit - b'0') as char).collect();
            finder.put(&word, TextLanguages::ALL, &mut stems);
        }
        assert!(finder.remembered.iter().all(|remembered| remembered.len() <= MAX_REMEMBERED));
    }
}

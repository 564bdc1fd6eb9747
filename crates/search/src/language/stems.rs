//! Stems: the forms that the inflections of a word share. "Verträge" and "Vertrags" are both found as "vertrag".
//!
//! The stemmers are those of the [Snowball project](https://snowballstem.org/) for English and German. Words are folded
//! before they are stemmed. A long text is stemmed by the rules of its languages, a short one by those of all.

use std::collections::HashMap;

use frostem::{Algorithm, Stemmer};
use whatlang::{Detector, Lang};

/// Number of languages whose rules are known.
pub const LANGUAGES: usize = 2;

/// The rules, with the language of the texts to which they apply, and whether its compounds are written as one word.
const RULES: [(Lang, Algorithm, bool); LANGUAGES] =
    [(Lang::Eng, Algorithm::English, false), (Lang::Deu, Algorithm::German, true)];

/// Bytes from which a text has a language. Names and titles are too short to tell.
const LONG_TEXT: usize = 200;
/// Number of places of a text by which its languages are detected, and bytes of each.
const SAMPLES: usize = 4;
const SAMPLE: usize = 200;
/// Confidence from which the language of one place is taken for sure.
const SURE: f64 = 0.9;
/// Limit on the stems that are remembered.
const MAX_REMEMBERED: usize = 20_000;

/// Finds stems, and remembers those of the last words.
pub struct Stems {
    detector: Detector,
    stemmers: [Stemmer; LANGUAGES],
    remembered: [HashMap<String, String>; LANGUAGES],
}

/// A language in which texts are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLanguage {
    /// English.
    English,
    /// German.
    German,
}

/// The rules by which a text is stemmed: those of its languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextRules([bool; LANGUAGES]);

impl TextRules {
    /// The rules of all languages.
    pub const ALL: Self = Self([true; LANGUAGES]);

    /// Returns whether texts may contain compounds that are written as one word.
    pub fn has_compounds(self) -> bool {
        self.0.iter().zip(RULES).any(|(applies, (_, _, has_compounds))| *applies && has_compounds)
    }
}

impl TextLanguage {
    /// Returns the language of a text; `None` for a short text, and for one in another or in no certain language.
    pub(crate) fn of(text: &str) -> Option<Self> {
        if text.len() < LONG_TEXT {
            return None;
        }
        let found = whatlang::detect(&samples(text).collect::<String>()).filter(|found| found.confidence() >= SURE)?;
        match found.lang() {
            Lang::Eng => Some(Self::English),
            Lang::Deu => Some(Self::German),
            _ => None,
        }
    }

    /// Returns the number by which the index knows it.
    pub(crate) fn number(self) -> u64 {
        self as u64
    }
}

impl Default for Stems {
    fn default() -> Self {
        Self {
            detector: Detector::with_allowlist(RULES.iter().map(|(language, ..)| *language).collect()),
            stemmers: RULES.map(|(_, algorithm, _)| Stemmer::new(algorithm)),
            remembered: Default::default(),
        }
    }
}

impl Stems {
    /// Returns the rules for a text.
    pub fn rules_for(&self, text: &str) -> TextRules {
        if text.len() < LONG_TEXT {
            return TextRules::ALL;
        }
        // A text may have parts in several languages, and each part may hold titles, addresses or code.
        let (mut sure, mut all) = ([false; LANGUAGES], String::new());
        for words in samples(text) {
            if let Some(found) = self.detector.detect(&words).filter(|found| found.confidence() >= SURE) {
                RULES.iter().zip(&mut sure).for_each(|((known, ..), sure)| *sure |= *known == found.lang());
            }
            all.push_str(&words);
        }
        if !sure.contains(&true) {
            let likely = self.detector.detect_lang(&all);
            sure = RULES.map(|(known, ..)| likely == Some(known));
        }
        // A text in a script of its own has a language without rules, but may contain words of others.
        if sure.contains(&true) { TextRules(sure) } else { TextRules::ALL }
    }

    /// Puts the stems of a folded word by these rules into `stems`, each once.
    pub fn put(&mut self, folded: &str, rules: TextRules, stems: &mut Vec<String>) {
        stems.clear();
        if !is_inflected(folded) {
            stems.push(folded.to_owned());
            return;
        }
        for (at, stemmer) in self.stemmers.iter().enumerate().filter(|(at, _)| rules.0[*at]) {
            let remembered = &mut self.remembered[at];
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
    pub fn of_each(&self, folded: &str) -> [String; LANGUAGES] {
        let stem = |stemmer: &Stemmer| {
            if is_inflected(folded) { stemmer.stem(folded).into_owned() } else { folded.to_owned() }
        };
        [stem(&self.stemmers[0]), stem(&self.stemmers[1])]
    }
}

/// Iterates over the words at some places of a long text.
fn samples(text: &str) -> impl Iterator<Item = String> {
    (1..=SAMPLES).map(move |number| {
        let start = text.floor_char_boundary(text.len() * number / (SAMPLES + 1));
        words_in(&text[start..text.floor_char_boundary(start + SAMPLE)])
    })
}

/// Returns the words of a text, each followed by a space.
fn words_in(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 1);
    for word in text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
        words.push_str(word);
        words.push(' ');
    }
    words
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
        let rules = finder.rules_for(text);
        finder.put(word, rules, &mut stems);
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
            finder.put(&word, TextRules::ALL, &mut stems);
        }
        assert!(finder.remembered.iter().all(|remembered| remembered.len() <= MAX_REMEMBERED));
    }
}

//! The languages of a text, by the words at some of its places.
//!
//! Most texts are told by their function words, such as "the" and "und", which costs little. For the others, trigrams
//! are compared by the library `whatlang`.

use whatlang::{Detector, Lang, Script};

/// Number of languages whose rules are known.
pub const LANGUAGES: usize = 2;

/// A language in which texts are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLanguage {
    /// English.
    English,
    /// German.
    German,
}

/// The languages of a text whose rules apply to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextLanguages {
    applies: [bool; LANGUAGES],
    main: Option<TextLanguage>,
}

/// Bytes from which a text has a language. Names and titles are too short to tell.
const LONG_TEXT: usize = 200;
/// Number of places of a text by which its languages are detected, bytes of each, and bytes whose trigrams are
/// compared.
const SAMPLES: usize = 4;
const SAMPLE: usize = 800;
const COMPARED_SAMPLE: usize = 200;
/// Confidence from which a language is taken for sure.
const SURE: f64 = 0.9;

/// Frequent words of each language that other languages hardly have, in lower case.
const FUNCTION_WORDS: [&[&str]; LANGUAGES] = [
    &[
        "the", "of", "and", "that", "with", "this", "are", "which", "not", "you", "from", "can", "when", "has", "been",
        "it", "its", "if", "should", "would", "there", "these", "used", "must",
    ],
    &[
        "und", "der", "die", "das", "nicht", "mit", "für", "ist", "von", "zu", "dem", "auf", "sich", "ein", "eine",
        "im", "wird", "werden", "oder", "auch", "nach", "zum", "zur", "wenn",
    ],
];
/// Number of function words from which a text has a language, and how many different ones.
const MANY: usize = 6;
const DIFFERENT: u32 = 3;
/// Number of function words at one place from which a text has parts in a language.
const SOME: usize = 2;
/// The main language of a text has so many times as many function words as the other.
const PREDOMINANT: usize = 4;

/// Languages that are told apart where function words are few. Texts in others resemble one of them.
const COMPARED: [Lang; 14] = [
    Lang::Eng,
    Lang::Deu,
    Lang::Nld,
    Lang::Fra,
    Lang::Spa,
    Lang::Por,
    Lang::Ita,
    Lang::Dan,
    Lang::Swe,
    Lang::Pol,
    Lang::Ces,
    Lang::Hun,
    Lang::Tur,
    Lang::Fin,
];

impl TextLanguage {
    /// All languages, in the order of their numbers.
    pub const ALL: [Self; LANGUAGES] = [Self::English, Self::German];

    /// Returns the number by which the index knows it.
    pub(crate) fn number(self) -> u64 {
        self as u64
    }

    const fn lang(self) -> Lang {
        match self {
            Self::English => Lang::Eng,
            Self::German => Lang::Deu,
        }
    }

    /// Returns whether compounds are written as one word.
    const fn has_compounds(self) -> bool {
        matches!(self, Self::German)
    }
}

impl TextLanguages {
    /// All languages, for texts that are too short to tell.
    pub const ALL: Self = Self { applies: [true; LANGUAGES], main: None };

    /// Detects the languages of a text.
    pub fn of(text: &str) -> Self {
        if text.len() < LONG_TEXT {
            return Self::ALL;
        }
        let samples = samples(text);
        let words = FunctionWords::of(&samples);
        match words.main() {
            Some(language) => Self { applies: words.with_parts(language), main: words.predominant(language) },
            None => by_trigrams(&samples, words.has_part),
        }
    }

    /// The language that most of the text is in; `None` if it is in another or in no certain language.
    pub fn main(self) -> Option<TextLanguage> {
        self.main
    }

    /// Returns whether the rules of a language apply.
    pub fn has(self, language: TextLanguage) -> bool {
        self.applies[language as usize]
    }

    /// Returns whether texts may contain compounds that are written as one word.
    pub fn has_compounds(self) -> bool {
        TextLanguage::ALL.into_iter().any(|language| language.has_compounds() && self.has(language))
    }
}

/// The function words of each language in a text.
struct FunctionWords {
    counts: [usize; LANGUAGES],
    different: [u32; LANGUAGES],
    /// True if there are some at one place.
    has_part: [bool; LANGUAGES],
}

impl FunctionWords {
    fn of(samples: &[String]) -> Self {
        let (mut counts, mut seen, mut has_part) = ([0; LANGUAGES], [0_u32; LANGUAGES], [false; LANGUAGES]);
        for sample in samples {
            let mut here = [0; LANGUAGES];
            for word in sample.split(' ') {
                for (language, words) in FUNCTION_WORDS.iter().enumerate() {
                    if let Some(at) = words.iter().position(|known| known.eq_ignore_ascii_case(word)) {
                        here[language] += 1;
                        seen[language] |= 1 << at;
                    }
                }
            }
            for language in 0..LANGUAGES {
                counts[language] += here[language];
                has_part[language] |= here[language] >= SOME;
            }
        }
        Self { counts, different: seen.map(u32::count_ones), has_part }
    }

    /// Returns the language with most words, if these are many.
    fn main(&self) -> Option<TextLanguage> {
        let is_sure = |language: &TextLanguage| {
            self.counts[*language as usize] >= MANY && self.different[*language as usize] >= DIFFERENT
        };
        TextLanguage::ALL.into_iter().filter(is_sure).max_by_key(|language| self.counts[*language as usize])
    }

    /// Returns the language if there are few words of others.
    fn predominant(&self, language: TextLanguage) -> Option<TextLanguage> {
        let own = self.counts[language as usize];
        let others = self.counts.iter().sum::<usize>() - own;
        (own >= PREDOMINANT * others).then_some(language)
    }

    /// Returns the languages of parts, and this one.
    fn with_parts(&self, language: TextLanguage) -> [bool; LANGUAGES] {
        let mut applies = self.has_part;
        applies[language as usize] = true;
        applies
    }
}

/// Returns the language that the trigrams of the text resemble, beside those of its parts.
fn by_trigrams(samples: &[String], mut applies: [bool; LANGUAGES]) -> TextLanguages {
    let start = |sample: &String| sample[..sample.floor_char_boundary(COMPARED_SAMPLE)].to_owned() + " ";
    let all: String = samples.iter().map(start).collect();
    // Texts in scripts of their own, and those of numbers, may contain words of any language.
    let Some(found) = Detector::with_allowlist(COMPARED.to_vec()).detect(&all) else { return TextLanguages::ALL };
    if found.script() != Script::Latin {
        return TextLanguages::ALL;
    }
    let known = TextLanguage::ALL.into_iter().find(|known| found.lang() == known.lang());
    if let Some(known) = known {
        applies[known as usize] = true;
    } else if !applies.contains(&true) {
        applies[TextLanguage::English as usize] = true;
    }
    TextLanguages { applies, main: known.filter(|_| found.confidence() >= SURE) }
}

/// Returns the words at some places of a long text.
fn samples(text: &str) -> Vec<String> {
    (1..=SAMPLES)
        .map(|number| {
            let start = text.floor_char_boundary(text.len() * number / (SAMPLES + 1));
            words_in(&text[start..text.floor_char_boundary(start + SAMPLE)])
        })
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    const ENGLISH: &str = "The committee has considered the applications and will answer them within the week. ";
    const GERMAN: &str = "Der Ausschuss hat die Anträge geprüft und wird sie in dieser Woche beantworten. ";

    #[test]
    fn the_languages_of_a_text_are_detected() {
        let (english, german) = (TextLanguages::of(&ENGLISH.repeat(4)), TextLanguages::of(&GERMAN.repeat(4)));
        assert_eq!((english.main(), english.applies), (Some(TextLanguage::English), [true, false]));
        assert_eq!((german.main(), german.applies), (Some(TextLanguage::German), [false, true]));
        let both = TextLanguages::of(&(ENGLISH.repeat(4) + &GERMAN.repeat(4)));
        assert_eq!((both.main(), both.applies), (None, [true, true]));
        let with_a_part = TextLanguages::of(&(ENGLISH.repeat(12) + &GERMAN.repeat(4)));
        assert_eq!(with_a_part.applies, [true, true]);
    }

    #[test]
    fn texts_with_few_function_words_are_told_by_trigrams() {
        let english = "Washing machines, dish washers, refrigerators; delivered weekly throughout Scotland. ".repeat(4);
        let german =
            "Waschmaschinen, Spülmaschinen, Kühlschränke; wöchentliche Lieferung bundesweit möglich. ".repeat(4);
        assert_eq!(TextLanguages::of(&english).applies, [true, false]);
        assert_eq!(TextLanguages::of(&german).applies, [false, true]);
    }

    #[test]
    fn texts_in_other_languages_have_no_main_language() {
        let others = [
            "De commissie heeft de aanvragen bekeken en zal ze in de loop van de week beantwoorden, als het kan. ",
            "Udvalget har behandlet ansøgningerne, og det vil svare på dem i den kommende uge, når det er muligt. ",
            "La commission a examiné les demandes et leur répondra dans le courant de la semaine, si possible. ",
            "La comisión ha examinado las solicitudes y las contestará durante la semana, en caso de que pueda. ",
            "0123456789 ",
            "벡터는 배열 ",
            "вектор ",
        ];
        for text in others {
            assert_eq!(TextLanguages::of(&text.repeat(40)).main(), None, "{text}");
        }
        for text in &others[4..] {
            assert_eq!(TextLanguages::of(&text.repeat(100)), TextLanguages::ALL, "{text}");
        }
        assert_eq!(TextLanguages::of("The short text"), TextLanguages::ALL);
    }
}

//! Texts of the pages in each language. There is one file per language, and tests keep the keys complete.

mod language;

use super::texts::language::{Words, all};

/// A language of the pages. Each one is a file in `locales/`, embedded at build time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Language(usize);

/// Returns a key that has a text.
pub fn known_key(key: &str) -> Option<&'static str> {
    all()[0].texts.get_key_value(key).map(|(key, _)| key.as_str())
}

impl Language {
    /// Fallback when no other language fits, or when a language lacks a text.
    pub const ENGLISH: Self = Self(0);

    /// Returns all languages, English first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..all().len()).map(Self)
    }

    fn words(self) -> &'static Words {
        // The index always exists, because languages are only created from the list.
        all().get(self.0).unwrap_or_else(|| &all()[0])
    }

    /// Returns the language tag, as in `<html lang>`.
    pub fn tag(self) -> &'static str {
        &self.words().tag
    }

    /// Returns the native name.
    pub fn own_name(self) -> &'static str {
        &self.words().form.name
    }

    /// Returns `ltr` or `rtl`, as in `<html dir>`.
    pub fn direction(self) -> &'static str {
        if self.words().form.right_to_left { "rtl" } else { "ltr" }
    }

    /// Returns the thousands separator and the decimal separator.
    pub fn marks(self) -> (char, char) {
        (self.words().form.group, self.words().form.decimal)
    }

    /// Replaces the decimal point of a number with the language's separator.
    pub fn decimal(self, text: String) -> String {
        match self.marks().1 {
            '.' => text,
            mark => text.replace('.', mark.encode_utf8(&mut [0; 4])),
        }
    }

    /// Formats a day, as in `21 Nov 2026`.
    pub fn day(self, year: i32, month: u8, day: u8) -> String {
        self.words().form.day(year, month, day)
    }

    /// Finds the language for a tag. Regions are ignored.
    pub fn parse(tag: &str) -> Option<Self> {
        let primary = tag.split(['-', '_']).next().unwrap_or_default();
        Self::all().find(|language| language.tag().eq_ignore_ascii_case(primary))
    }

    /// Returns the best language for an `Accept-Language` field; English when none fits.
    pub fn accepted(field: &str) -> Self {
        let mut best = (0.0, Self::ENGLISH);
        for part in field.split(',').take(20) {
            let mut pieces = part.split(';').map(str::trim);
            let Some(language) = pieces.next().and_then(Self::parse) else { continue };
            let weight = pieces.find_map(|p| p.strip_prefix("q=")).map_or(Ok(1.0), str::parse::<f32>).unwrap_or(0.0);
            if weight > best.0 {
                best = (weight, language);
            }
        }
        best.1
    }

    /// Returns the text for a key. A test checks the keys, so the fallback is never seen.
    pub fn text(self, key: &str) -> &'static str {
        self.find(key).unwrap_or("…")
    }

    /// Returns the text for a key, if there is one.
    pub fn find(self, key: &str) -> Option<&'static str> {
        let found = self.words().texts.get(key).or_else(|| all()[0].texts.get(key));
        found.map(String::as_str)
    }

    /// Returns the text for a key with `{0}`, `{1}` ... replaced by `values`.
    pub fn fill(self, key: &str, values: &[&str]) -> String {
        filled(self.text(key), values)
    }

    /// Returns the text for a number of things: `key.one` or `key.other`, with `{0}` replaced by the number.
    pub fn count(self, key: &str, n: u64) -> String {
        let form = self.words().forms.get(key).or_else(|| all()[0].forms.get(key));
        let form = form.map_or("…", |forms| &forms[usize::from(n != 1)]);
        filled(form, &[&self.number(n)])
    }

    /// Formats a whole number with the language's thousands separator.
    pub fn number(self, n: u64) -> String {
        let digits = n.to_string();
        let mut text = String::new();
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                text.push(self.marks().0);
            }
            text.push(digit);
        }
        text
    }
}

fn filled(text: &str, values: &[&str]) -> String {
    let mut filled = String::with_capacity(text.len() + values.iter().map(|value| value.len()).sum::<usize>());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (index, tail) = after.split_once('}').unwrap_or((after, ""));
        filled.push_str(index.parse().ok().and_then(|i: usize| values.get(i)).unwrap_or(&""));
        rest = tail;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, HashMap};

    fn german() -> Language {
        Language::parse("de").unwrap()
    }

    fn holes(text: &str) -> BTreeSet<String> {
        text.split('{').skip(1).map(|part| part.split('}').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_language_has_every_text_with_the_same_holes() {
        let english = &Language::ENGLISH.words().texts;
        for language in Language::all() {
            let tag = language.tag();
            for (key, text) in &language.words().texts {
                let model = english.get(key).unwrap_or_else(|| panic!("{key} of {tag} is no text that is asked for"));
                assert_eq!(holes(text), holes(model), "{key} of {tag}");
                assert!(!text.trim().is_empty(), "{key} of {tag}");
            }
        }
        // Texts that another language lacks appear in English. German must be complete.
        let keys = |table: &HashMap<String, String>| table.keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(keys(english), keys(&german().words().texts));
    }

    #[test]
    fn every_text_that_is_asked_for_exists_and_every_text_is_asked_for() {
        let table = &Language::ENGLISH.words().texts;
        let mut used = BTreeSet::new();
        for (file, text) in crate::sources() {
            for call in ["language.text(\"", ".s(\"", ".f1(\"", ".around(\"", ".f2(\"", "fill(\"", "key(\""] {
                for part in text.split(call).skip(1) {
                    let key = part.split('"').next().unwrap();
                    assert!(table.contains_key(key), "{file} asks for {key}");
                    used.insert(key.to_owned());
                }
            }
            for call in [".n(\"", "count(\""] {
                for part in text.split(call).skip(1) {
                    let key = part.split('"').next().unwrap();
                    for form in ["one", "other"] {
                        assert!(table.contains_key(&format!("{key}.{form}")), "{file} counts {key}");
                        used.insert(format!("{key}.{form}"));
                    }
                }
            }
        }
        // Prefixes of keys that are composed at run time.
        let composed = [
            "toast.",
            "kind.",
            "colour.",
            "role.",
            "right.",
            "status.",
            "error.",
            "fault.",
            "search-fault.",
            "misfit.",
            "did.",
            "work.",
            "media.",
            "setting.",
            "setting-hint.",
            "store-kind.",
            "phase.",
            "result.",
            "step.",
            "health.",
            "health-text.",
            "chart.",
            "figure.",
            "figure-short.",
            "figures.range-",
        ];
        // Keys that are chosen in one place and looked up in another.
        let named = |key: &str| crate::sources().iter().any(|(_, text)| text.contains(&format!("\"{key}\"")));
        let idle: Vec<_> = table
            .keys()
            .filter(|key| !used.contains(*key) && !composed.iter().any(|c| key.starts_with(c)) && !named(key))
            .collect();
        assert!(idle.is_empty(), "never asked for: {idle:?}");
    }

    #[test]
    fn languages_are_chosen_by_weight() {
        let cases = [
            ("de-AT,de;q=0.9,en;q=0.8", german()),
            ("fr, en;q=0.3, de;q=0.7", german()),
            ("fr", Language::ENGLISH),
            ("en-GB, de", Language::ENGLISH),
            ("de;q=0", Language::ENGLISH),
            ("", Language::ENGLISH),
            (";;;,,,q=", Language::ENGLISH),
        ];
        for (field, expected) in cases {
            assert_eq!(Language::accepted(field), expected, "{field}");
        }
    }

    #[test]
    fn numbers_are_grouped_as_the_language_does() {
        assert_eq!(Language::ENGLISH.number(1_234_567), "1,234,567");
        assert_eq!(german().number(1_234_567), "1.234.567");
        assert_eq!(Language::ENGLISH.number(999), "999");
    }
}

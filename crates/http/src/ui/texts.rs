//! What the pages say, in each language. One file per language; a test keeps them complete.

use std::collections::HashMap;
use std::sync::OnceLock;

/// A language of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// English.
    English,
    /// German.
    German,
}

impl Language {
    /// All languages, the fallback first.
    pub const ALL: [Language; 2] = [Language::English, Language::German];

    /// The language tag, as in `<html lang>`.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// What speakers call it.
    pub const fn own_name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::German => "Deutsch",
        }
    }

    /// Reads a tag; regions do not matter.
    pub fn parse(tag: &str) -> Option<Self> {
        let primary = tag.split(['-', '_']).next().unwrap_or_default();
        Self::ALL.into_iter().find(|language| language.tag().eq_ignore_ascii_case(primary))
    }

    /// The best language for an `Accept-Language` field; English when none fits.
    pub fn accepted(field: &str) -> Self {
        let mut best = (0.0, Self::English);
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

    fn file(self) -> &'static str {
        match self {
            Self::English => include_str!("../../locales/en.toml"),
            Self::German => include_str!("../../locales/de.toml"),
        }
    }

    fn table(self) -> &'static HashMap<String, String> {
        static TABLES: [OnceLock<HashMap<String, String>>; 2] = [OnceLock::new(), OnceLock::new()];
        TABLES[self as usize].get_or_init(|| {
            let mut flat = HashMap::new();
            let file: toml::Table = self.file().parse().unwrap_or_default();
            flatten("", &file, &mut flat);
            flat
        })
    }

    /// The two forms of each text that counts: for one, and for any other number.
    fn forms(self) -> &'static HashMap<&'static str, [&'static str; 2]> {
        static FORMS: [OnceLock<HashMap<&'static str, [&'static str; 2]>>; 2] = [OnceLock::new(), OnceLock::new()];
        FORMS[self as usize].get_or_init(|| {
            let ones = self.table().iter().filter_map(|(key, one)| Some((key.strip_suffix(".one")?, one.as_str())));
            ones.filter_map(|(key, one)| Some((key, [one, self.find(&format!("{key}.other"))?]))).collect()
        })
    }

    /// The text with this key. Keys are checked by a test, so the fallback is never seen.
    pub fn text(self, key: &str) -> &'static str {
        self.find(key).unwrap_or("…")
    }

    /// The text with this key, if there is one.
    pub fn find(self, key: &str) -> Option<&'static str> {
        self.table().get(key).map(String::as_str)
    }

    /// The text with this key, `{0}`, `{1}` ... replaced by `values`.
    pub fn fill(self, key: &str, values: &[&str]) -> String {
        filled(self.text(key), values)
    }

    /// The text for a number of things: `key.one` or `key.other`, with `{0}` the number.
    pub fn count(self, key: &str, n: u64) -> String {
        let form = self.forms().get(key).map_or("…", |forms| forms[usize::from(n != 1)]);
        filled(form, &[&self.number(n)])
    }

    /// A whole number with the language's separator of thousands.
    pub fn number(self, n: u64) -> String {
        let digits = n.to_string();
        let mut text = String::new();
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                text.push(if self == Self::German { '.' } else { ',' });
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

fn flatten(prefix: &str, table: &toml::Table, flat: &mut HashMap<String, String>) {
    for (key, value) in table {
        let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            toml::Value::Table(inner) => flatten(&key, inner, flat),
            toml::Value::String(text) => {
                flat.insert(key, text.clone());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn holes(text: &str) -> BTreeSet<String> {
        text.split('{').skip(1).map(|part| part.split('}').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_language_has_every_text_with_the_same_holes() {
        for language in Language::ALL {
            assert!(language.file().parse::<toml::Table>().is_ok(), "{language:?}");
        }
        let (english, german) = (Language::English.table(), Language::German.table());
        let keys = |table: &HashMap<String, String>| table.keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(keys(english), keys(german));
        for (key, text) in english {
            assert_eq!(holes(text), holes(&german[key]), "{key}");
            assert!(!text.trim().is_empty() && !german[key].trim().is_empty(), "{key}");
        }
    }

    #[test]
    fn every_text_that_is_asked_for_exists_and_every_text_is_asked_for() {
        let table = Language::English.table();
        let mut used = BTreeSet::new();
        for (file, text) in crate::ui::sources() {
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
        // Keys that are put together at run time, by their beginnings.
        let composed = [
            "toast.",
            "kind.",
            "colour.",
            "role.",
            "right.",
            "status.",
            "error.",
            "fault.",
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
        let idle: Vec<_> =
            table.keys().filter(|key| !used.contains(*key) && !composed.iter().any(|c| key.starts_with(c))).collect();
        assert!(idle.is_empty(), "never asked for: {idle:?}");
    }

    #[test]
    fn languages_are_chosen_by_weight() {
        let cases = [
            ("de-AT,de;q=0.9,en;q=0.8", Language::German),
            ("fr, en;q=0.3, de;q=0.7", Language::German),
            ("fr", Language::English),
            ("en-GB, de", Language::English),
            ("de;q=0", Language::English),
            ("", Language::English),
            (";;;,,,q=", Language::English),
        ];
        for (field, expected) in cases {
            assert_eq!(Language::accepted(field), expected, "{field}");
        }
    }

    #[test]
    fn numbers_are_grouped_as_the_language_does() {
        assert_eq!(Language::English.number(1_234_567), "1,234,567");
        assert_eq!(Language::German.number(1_234_567), "1.234.567");
        assert_eq!(Language::English.number(999), "999");
    }
}

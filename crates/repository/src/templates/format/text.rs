//! Texts of a template: one for all languages, or one for each.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The language of templates when a text lacks the one that is wanted.
const FIRST: &str = "en";

/// A text of a template, such as the name of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Text {
    /// The same text in every language.
    Same(String),
    /// A text for each language tag; never empty.
    Languages(BTreeMap<String, String>),
}

impl Default for Text {
    fn default() -> Self {
        Self::Same(String::new())
    }
}

impl Text {
    /// Returns the text for a language tag such as `de`. A missing language is replaced by English, or by the first
    /// one that there is.
    pub fn in_language(&self, tag: &str) -> &str {
        match self {
            Self::Same(text) => text,
            Self::Languages(texts) => {
                let primary = tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
                let found = texts.get(&primary).or_else(|| texts.get(FIRST)).or_else(|| texts.values().next());
                found.map_or("", String::as_str)
            }
        }
    }

    /// Returns the text by which other parts of the template refer to what has it: the English one, or the first.
    pub fn key(&self) -> &str {
        self.in_language(FIRST)
    }

    /// Returns all texts.
    pub(super) fn all(&self) -> Vec<&str> {
        match self {
            Self::Same(text) => vec![text],
            Self::Languages(texts) => texts.values().map(String::as_str).collect(),
        }
    }

    /// Returns the language tags; empty for a text that is the same in every language.
    pub(super) fn tags(&self) -> Vec<&str> {
        match self {
            Self::Same(_) => Vec::new(),
            Self::Languages(texts) => texts.keys().map(String::as_str).collect(),
        }
    }

    /// Reads the text of a TOML value; `None` for a value of another form.
    pub(super) fn of_value(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::String(text) => Some(Self::Same(text.clone())),
            toml::Value::Table(table) if !table.is_empty() && table.keys().all(|tag| is_language(tag)) => {
                let texts = table.iter().map(|(tag, text)| Some((tag.clone(), text.as_str()?.to_owned())));
                texts.collect::<Option<_>>().map(Self::Languages)
            }
            _ => None,
        }
    }
}

/// Returns whether a key is a language tag: two or three small letters.
fn is_language(tag: &str) -> bool {
    (2..=3).contains(&tag.len()) && tag.bytes().all(|byte| byte.is_ascii_lowercase())
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a table of texts by language such as { en = \"Due\", de = \"Fällig\" }")
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text::Same(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
                let mut texts = BTreeMap::new();
                while let Some(tag) = map.next_key::<String>()? {
                    if !is_language(&tag) {
                        return Err(A::Error::custom(format!(
                            "unknown language `{tag}`: a language is a tag of two or three small letters such as en"
                        )));
                    }
                    texts.insert(tag, map.next_value()?);
                }
                if texts.is_empty() {
                    return Err(A::Error::custom("a text has at least one language"));
                }
                Ok(Text::Languages(texts))
            }
        }
        deserializer.deserialize_any(Form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_language_falls_back_to_english() {
        let both = Text::Languages([("de", "Fällig"), ("en", "Due")].map(|(a, b)| (a.into(), b.into())).into());
        assert_eq!(both.in_language("de-AT"), "Fällig");
        assert_eq!(both.in_language("fr"), "Due");
        assert_eq!(both.key(), "Due");
        let german = Text::Languages([("de".to_owned(), "Fällig".to_owned())].into());
        assert_eq!(german.in_language("en"), "Fällig");
        assert_eq!(Text::Same("Due".into()).in_language("de"), "Due");
    }
}

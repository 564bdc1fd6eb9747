//! The files of `locales/`: the texts of the pages in each language, and its formats of numbers and days.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use rust_embed::Embed;
use serde::Deserialize;

#[derive(Embed)]
#[folder = "locales/"]
struct Files;

/// Formats of a language: the table `language` of its file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// Native name of the language.
    pub name: String,
    /// True if the language is written from right to left.
    #[serde(default)]
    pub right_to_left: bool,
    /// Thousands separator.
    pub group: char,
    /// Decimal separator.
    pub decimal: char,
    /// Pattern of a day, with `yyyy`, `mm`, `m`, `dd`, `d` and `mon` in braces.
    pub day: String,
    /// Names of the months for `mon`, where that is used.
    #[serde(default)]
    pub months: Vec<String>,
}

impl Form {
    /// Formats a day.
    pub fn day(&self, year: i32, month: u8, day: u8) -> String {
        let mut text = String::with_capacity(16);
        let mut rest = self.day.as_str();
        while let Some((before, (hole, after))) = rest.split_once('{').and_then(|(b, a)| Some((b, a.split_once('}')?)))
        {
            text.push_str(before);
            // Writing to a string cannot fail.
            let _ = match hole {
                "yyyy" => write!(text, "{year:04}"),
                "mm" => write!(text, "{month:02}"),
                "m" => write!(text, "{month}"),
                "dd" => write!(text, "{day:02}"),
                "d" => write!(text, "{day}"),
                _ => {
                    let name = usize::from(month).checked_sub(1).and_then(|at| self.months.get(at));
                    write!(text, "{}", name.map_or("", String::as_str))
                }
            };
            rest = after;
        }
        text + rest
    }
}

/// Texts and formats of a language.
pub struct Words {
    /// Language tag: the name of the file.
    pub tag: String,
    /// Formats of numbers and days.
    pub form: Form,
    /// Texts by key.
    pub texts: HashMap<String, String>,
    /// Plural forms of each countable text: for one, and for any other number.
    pub forms: HashMap<String, [String; 2]>,
}

/// Returns all languages, English first.
pub fn all() -> &'static [Words] {
    static ALL: OnceLock<Vec<Words>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut found: Vec<Words> = Files::iter().filter_map(|name| read(&name)).collect();
        found.sort_by_key(|words| (words.tag != "en", words.tag.clone()));
        found
    })
}

/// Parses a language file. A test parses all of them, so none can be skipped unnoticed.
fn read(name: &str) -> Option<Words> {
    let file = Files::get(name)?;
    let mut table: toml::Table = std::str::from_utf8(&file.data).ok()?.parse().ok()?;
    let form = table.remove("language")?.try_into().ok()?;
    let mut texts = HashMap::new();
    flatten("", &table, &mut texts);
    let ones = texts.iter().filter_map(|(key, one)| Some((key.strip_suffix(".one")?, one)));
    let forms = ones
        .filter_map(|(key, one)| Some((key.to_owned(), [one.clone(), texts.get(&format!("{key}.other"))?.clone()])));
    Some(Words { tag: name.strip_suffix(".toml")?.to_owned(), form, forms: forms.collect(), texts })
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

    #[test]
    fn every_file_is_read() {
        assert!(Files::iter().count() >= 2);
        assert!(all().len() == Files::iter().count());
        assert_eq!(all()[0].tag, "en");
        for words in all() {
            let named = words.form.months.len() == 12 || !words.form.day.contains("{mon}");
            assert!(named, "{} writes months and does not name them", words.tag);
        }
    }
}

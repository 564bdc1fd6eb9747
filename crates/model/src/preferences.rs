//! A user's preferences for the interface.

use crate::words::words;
use crate::{Error, Result, Zone};

words! {
    /// Colours of the interface.
    #[derive(Default)]
    Theme: "a theme";
    /// The preference of the browser or operating system.
    #[default]
    System = "system",
    /// Dark text on a light background.
    Light = "light",
    /// Light text on a dark background.
    Dark = "dark",
}

words! {
    /// Alerts of a saved search.
    #[derive(Default)]
    SearchAlert: "the alert of a saved search";
    /// New documents are not counted on the home page.
    #[default]
    None = "none",
    /// New documents are counted as soon as they are found.
    AtOnce = "at-once",
    /// New documents are counted from the next day on.
    Daily = "daily",
}

/// The preferences of one user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// A language tag such as `de` or `pt-BR`; empty for the browser's preference.
    pub language: String,
    /// Colours of the interface.
    pub theme: Theme,
    /// Name of a time zone such as `Europe/Berlin`; empty for that of the browser.
    pub time_zone: String,
}

impl Preferences {
    /// Creates preferences after checking the language tag (letters, digits and hyphens, at most 35 characters, or
    /// empty) and the time zone (one that exists, or empty).
    pub fn new(language: &str, theme: Theme, time_zone: &str) -> Result<Self> {
        let fits = language.len() <= 35 && language.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if !fits {
            return Err(Error::invalid("a language is a tag such as \"en\", \"de\" or \"pt-BR\", or empty"));
        }
        let time_zone = match time_zone {
            "" => String::new(),
            name => Zone::parse(name)?.name().to_owned(),
        };
        Ok(Self { language: language.to_owned(), theme, time_zone })
    }

    /// Returns the time zone; `None` for that of the browser, and for one that the database of zones does not have any
    /// more.
    pub fn zone(&self) -> Option<Zone> {
        Zone::parse(&self.time_zone).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn themes_round_trip_and_language_tags_are_checked() {
        for theme in [Theme::System, Theme::Light, Theme::Dark] {
            assert_eq!(Theme::parse(theme.as_str()).unwrap(), theme);
        }
        assert_eq!(Theme::parse("blue").unwrap_err().message(), "a theme is system, light or dark");
        assert_eq!(Preferences::new("pt-BR", Theme::Dark, "").unwrap().language, "pt-BR");
        assert_eq!(Preferences::new("", Theme::Dark, "asia/tokyo").unwrap().time_zone, "Asia/Tokyo");
        assert!(Preferences::new("", Theme::Dark, "Asia").is_err());
        for bad in ["d e", "de\n", "ü", &"x".repeat(36)] {
            assert!(Preferences::new(bad, Theme::Light, "").is_err(), "{bad:?}");
        }
    }
}

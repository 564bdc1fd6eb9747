//! The accent colour of a site.

use crate::{Code, Error, Result};

/// Colour of links, buttons and highlights on the pages of a site. Each has enough contrast against a light and a dark
/// background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Accent {
    /// The colour of the product.
    #[default]
    Teal,
    /// Blue.
    Blue,
    /// Between blue and violet.
    Indigo,
    /// Violet.
    Violet,
    /// Between violet and red.
    Magenta,
    /// Brown.
    Brown,
    /// Green.
    Green,
    /// Grey with a little blue.
    Slate,
}

impl Accent {
    /// All colours, the default one first.
    pub const ALL: [Accent; 8] =
        [Self::Teal, Self::Blue, Self::Indigo, Self::Violet, Self::Magenta, Self::Brown, Self::Green, Self::Slate];

    /// Returns the name used in the database and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Teal => "teal",
            Self::Blue => "blue",
            Self::Indigo => "indigo",
            Self::Violet => "violet",
            Self::Magenta => "magenta",
            Self::Brown => "brown",
            Self::Green => "green",
            Self::Slate => "slate",
        }
    }

    /// Parses the word.
    pub fn parse(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|accent| accent.as_str() == text).ok_or_else(|| {
            Error::invalid("the colour of a site is teal, blue, indigo, violet, magenta, brown, green or slate")
                .with_code(Code::InvalidAccent)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_round_trip() {
        for accent in Accent::ALL {
            assert_eq!(Accent::parse(accent.as_str()).unwrap(), accent);
        }
        assert_eq!(Accent::default(), Accent::ALL[0]);
        assert_eq!(Accent::parse("red").unwrap_err().code(), "invalid_accent");
    }
}

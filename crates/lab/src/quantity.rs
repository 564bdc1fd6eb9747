//! Quantities as written in plans: `5s`, `100KB`. Independent of their use.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

/// A duration: a number with `ms`, `s`, `m` or `h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Span(pub Duration);

/// A size: a number with `B`, `KB`, `MB` or `GB` (powers of ten).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

impl Span {
    /// Creates a span of whole seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// Parses a text such as `1.5s`.
    ///
    /// # Errors
    /// If the text is not a duration; the message states the expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (number, unit) = split(text)?;
        let seconds = match unit {
            "ms" => number / 1000.0,
            "s" => number,
            "m" | "min" => number * 60.0,
            "h" => number * 3600.0,
            _ => return Err(format!("\"{text}\" is not a length of time: write 500ms, 5s, 2m or 1h")),
        };
        let span = Duration::try_from_secs_f64(seconds).map_err(|_| format!("\"{text}\" is too long"))?;
        if span > Duration::from_secs(400 * 86_400) { Err(format!("\"{text}\" is too long")) } else { Ok(Self(span)) }
    }
}

impl Size {
    /// Parses a text such as `100KB`.
    ///
    /// # Errors
    /// If the text is not a size; the message states the expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (number, unit) = split(text)?;
        let factor = match unit.to_ascii_uppercase().as_str() {
            "" | "B" => 1.0,
            "KB" | "K" => 1e3,
            "MB" | "M" => 1e6,
            "GB" | "G" => 1e9,
            _ => return Err(format!("\"{text}\" is not a size: write 512B, 100KB, 10MB or 1GB")),
        };
        let bytes = number * factor;
        if bytes > 1e12 {
            return Err(format!("\"{text}\" is too large: a document has at most 1000GB"));
        }
        // Rounded to whole bytes. The check above keeps the value within range.
        Ok(Self(bytes.round() as u64))
    }
}

fn split(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number = number.parse().map_err(|_| format!("\"{text}\" does not begin with a number"))?;
    Ok((number, unit.trim()))
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        match self.0.as_millis() {
            millis if millis % 1000 != 0 && seconds < 1.0 => write!(f, "{millis}ms"),
            millis if millis >= 3_600_000 && millis % 3_600_000 == 0 => write!(f, "{}h", millis / 3_600_000),
            millis if millis >= 60_000 && millis % 60_000 == 0 => write!(f, "{}m", millis / 60_000),
            _ => write!(f, "{seconds}s"),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{}B", self.0),
            1_000..1_000_000 => write!(f, "{}KB", rounded(bytes / 1e3)),
            1_000_000..1_000_000_000 => write!(f, "{}MB", rounded(bytes / 1e6)),
            _ => write!(f, "{}GB", rounded(bytes / 1e9)),
        }
    }
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

struct Words<T>(fn(&str) -> Result<T, String>, &'static str);

impl<T> Visitor<'_> for Words<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Words(Self::parse, "a length of time such as \"5s\""))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Words(Self::parse, "a size such as \"100KB\""))
    }
}

impl Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl Serialize for Size {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_and_written() {
        for (text, millis) in [("500ms", 500), ("5s", 5000), ("1.5s", 1500), ("2m", 120_000), ("1h", 3_600_000)] {
            assert_eq!(Span::parse(text).unwrap().0.as_millis(), millis);
            assert_eq!(Span::parse(text).unwrap().to_string(), text);
        }
        for (text, bytes) in [("512B", 512), ("100KB", 100_000), ("1.5MB", 1_500_000), ("1GB", 1_000_000_000)] {
            assert_eq!(Size::parse(text).unwrap().0, bytes);
            assert_eq!(Size::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for wrong in ["", "s", "5 parsecs", "-5s", "1e9999s", "99999999h"] {
            assert!(Span::parse(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "KB", "5XB", "99999GB", "."] {
            assert!(Size::parse(wrong).is_err(), "{wrong}");
        }
    }
}

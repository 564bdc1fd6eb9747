//! Reading of templates.

use model::{Error, Result};
use serde::Deserialize;

use super::reason::invalid;
use super::template::{FORMAT, Template};

/// Limit on the bytes of a template.
pub const MAX_TEMPLATE_BYTES: usize = 1 << 20;

impl Template {
    /// Reads a template and checks everything in it.
    ///
    /// # Errors
    /// `Invalid` with code `invalid_template`, the line or the part, and the reason.
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() > MAX_TEMPLATE_BYTES {
            return Err(invalid(format!("it is larger than {} MiB", MAX_TEMPLATE_BYTES >> 20)));
        }
        let table = toml::de::DeTable::parse(text).map_err(|error| unreadable(text, &error))?;
        // A later format may have keys that this one lacks, so its number is looked at first.
        match table.get_ref().get("format").map(|format| format.get_ref()) {
            Some(toml::de::DeValue::Integer(number)) if number.as_str() == "1" => {}
            Some(_) => {
                let text = format!("this program reads templates of format {FORMAT} only: its `format` is another one");
                return Err(invalid(text));
            }
            None => return Err(invalid(format!("it has no `format`: begin with format = {FORMAT}"))),
        }
        let template = Self::deserialize(toml::Deserializer::from(table)).map_err(|error| unreadable(text, &error))?;
        template.check()?;
        Ok(template)
    }
}

/// The error for a template that cannot be read, with the line of the fault.
fn unreadable(text: &str, error: &toml::de::Error) -> Error {
    let line =
        error.span().map(|span| 1 + text.as_bytes().iter().take(span.start).filter(|byte| **byte == b'\n').count());
    match line {
        Some(line) => invalid(format!("line {line}: {}", error.message())),
        None => invalid(error.message().to_owned()),
    }
}

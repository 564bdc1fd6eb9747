//! Output of commands: tables for people, JSON for programs.

use std::fmt::Write as _;
use std::io::Write as _;

use model::{Error, Result, Timestamp};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Prints the JSON if `json` is set, otherwise the text. A closed standard output is not an error.
pub fn show(json: bool, value: &Value, text: &str) {
    let text = if json { format!("{value:#}\n") } else { harmless(text) };
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Replaces characters that command a terminal or change the direction of writing. Names and documents of others may
/// contain them.
fn harmless(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.replace(|c: char| turns(c) || c.is_control() && c != '\n' && c != '\t', "\u{fffd}")
}

/// Formats a table with a heading and columns as wide as their widest cell.
pub fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = heading.map(|cell| cell.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in std::iter::once(&heading.map(str::to_owned)).chain(rows) {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            // Writing to a `String` cannot fail.
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The verb that agrees with a number: `1 BLOB is`, `2 BLOBs are`.
pub fn are(number: u64) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// Formats a time as RFC 3339, to the second, in UTC.
pub fn time(at: Timestamp) -> String {
    let formatted = OffsetDateTime::from_unix_timestamp(at.seconds()).ok().and_then(|at| at.format(&Rfc3339).ok());
    formatted.unwrap_or_else(|| at.micros().to_string())
}

/// Reads the first line of standard input, without the line ending.
///
/// # Errors
/// Returns `Invalid` if standard input is empty, and `Unavailable` if it cannot be read.
pub fn line_from_stdin() -> Result<String> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    let bytes = read.map_err(|e| Error::unavailable("standard input cannot be read as text").with_source(e))?;
    if bytes == 0 {
        return Err(Error::invalid("standard input ended before a line was read"));
    }
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["ann".to_owned(), "Ann Müller".to_owned()], ["b".to_owned(), String::new()]];
        assert_eq!(table(["Login", "Name"], &rows), "Login  Name\nann    Ann Müller\nb\n");
    }

    #[test]
    fn no_text_commands_the_terminal() {
        let shown = harmless("a\tb\n\u{1b}]0;x\u{7}\u{9b}\r\u{202e}é");
        assert_eq!(shown, "a\tb\n\u{fffd}]0;x\u{fffd}\u{fffd}\u{fffd}\u{fffd}é");
    }

    #[test]
    fn times_are_in_utc() {
        assert_eq!(time(Timestamp::from_micros(1_735_689_600_999_999)), "2025-01-01T00:00:00Z");
    }
}

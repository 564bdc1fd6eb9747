//! The XML of rows and cells.

use std::borrow::Cow;
use std::fmt::Write;

use model::{ColumnValue, Timestamp};
use repository::{ValueNames, escaped, serial};

use super::style::Style;
use crate::protocol::time;
use crate::transfer::rows_csv::{cut, text_of};

/// Limits of Excel on numbers: their size, and the smallest one that is not zero.
const LARGEST: f64 = 9.999_999_999_999_99e307;
const SMALLEST: f64 = f64::MIN_POSITIVE;

/// Returns the name of a column, such as `AB`, counted from 0.
pub fn column_name(column: usize) -> String {
    let (mut letters, mut rest) = (Vec::new(), column + 1);
    while rest > 0 {
        letters.push(char::from(b'A' + ((rest - 1) % 26) as u8));
        rest = (rest - 1) / 26;
    }
    letters.iter().rev().collect()
}

/// Escapes a text for the value of an attribute.
pub fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A sheet that is being written: its rows, one after the other.
pub struct Rows {
    /// Names of the columns.
    names: Vec<String>,
    /// Number of the last row.
    row: u32,
    column: usize,
    out: String,
}

impl Rows {
    /// Begins a sheet with this many columns.
    pub fn new(columns: usize) -> Self {
        Self { names: (0..columns).map(column_name).collect(), row: 0, column: 0, out: String::new() }
    }

    /// Number of rows.
    pub fn count(&self) -> u32 {
        self.row
    }

    /// Takes the text that was written so far.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Begins a row.
    pub fn begin(&mut self) {
        self.row += 1;
        self.column = 0;
        // Writing into a string does not fail.
        let _ = write!(self.out, "<row r=\"{}\">", self.row);
    }

    /// Ends a row.
    pub fn end(&mut self) {
        self.out.push_str("</row>");
    }

    /// Appends an empty cell.
    pub fn skip(&mut self) {
        self.column += 1;
    }

    /// Appends a text.
    pub fn text(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return self.skip();
        }
        self.open(style, " t=\"inlineStr\"");
        self.out.push_str("<is><t xml:space=\"preserve\">");
        for c in escaped(&cut(text)).chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                c => self.out.push(c),
            }
        }
        self.out.push_str("</t></is></c>");
    }

    /// Appends a number. One that Excel cannot hold is a text.
    pub fn number(&mut self, number: f64) {
        if number.abs() > LARGEST || (number != 0.0 && number.abs() < SMALLEST) {
            return self.text(&format!("{number:e}"), Style::Text);
        }
        self.value(number, Style::General);
    }

    /// Appends a value.
    pub fn cell(&mut self, value: &ColumnValue, names: &ValueNames) {
        match value {
            ColumnValue::Text(text) => self.text(text, Style::Text),
            ColumnValue::Number(number) => self.number(*number),
            ColumnValue::Date(at) => self.date(*at),
            ColumnValue::Person(_) | ColumnValue::Lookup(_) | ColumnValue::Multiple(_) => {
                self.text(&text_of(value, names), Style::Text);
            }
            ColumnValue::YesNo(yes) => {
                self.open(Style::General, " t=\"b\"");
                self.put(format_args!("<v>{}</v></c>", u8::from(*yes)));
            }
        }
    }

    fn date(&mut self, at: Timestamp) {
        const DAY: i64 = 86_400_000_000;
        let Some(number) = serial(at) else { return self.text(&time::format(at), Style::Text) };
        let style = match at.micros() {
            micros if micros % DAY == 0 => Style::Day,
            micros if micros % 1_000_000 == 0 => Style::Time,
            _ => Style::Millisecond,
        };
        self.value(number, style);
    }

    fn value(&mut self, number: f64, style: Style) {
        self.open(style, "");
        let plain = number.to_string();
        let text: Cow<'_, str> = if plain.len() > 24 { format!("{number:E}").into() } else { plain.into() };
        self.put(format_args!("<v>{text}</v></c>"));
    }

    /// Begins a cell.
    fn open(&mut self, style: Style, kind: &str) {
        let name = self.names.get(self.column).map_or("", String::as_str);
        // Writing into a string does not fail.
        let _ = write!(self.out, "<c r=\"{name}{}\" s=\"{}\"{kind}>", self.row, style.number());
        self.column += 1;
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing into a string does not fail.
        let _ = self.out.write_fmt(text);
    }
}

//! Tables and numbers as reports show them.

use super::text;

/// Rows of cells, as Markdown.
pub fn markdown(heading: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = format!("| {} |\n|{}\n", heading.join(" | "), " --- |".repeat(heading.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| text::markdown(cell)).collect();
        table += &format!("| {} |\n", cells.join(" | "));
    }
    table
}

/// Rows of cells, as HTML.
pub fn html(heading: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |cells: &mut dyn Iterator<Item = String>, tag: &str| -> String {
        cells.map(|cell| format!("<{tag}>{cell}</{tag}>")).collect()
    };
    let head = cells(&mut heading.iter().map(|cell| escape(cell)), "th");
    let body: String =
        rows.iter().map(|row| format!("<tr>{}</tr>", cells(&mut row.iter().map(|cell| escape(cell)), "td"))).collect();
    format!("<div class=\"wide\"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")
}

/// Text in HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A number with as many digits as say something; a dash for what is none.
pub fn number(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude.is_nan() => "-".to_owned(),
        magnitude if magnitude >= 1e12 => format!("{value:.1e}"),
        magnitude if magnitude >= 100.0 => format!("{value:.0}"),
        magnitude if magnitude >= 10.0 => format!("{value:.1}"),
        magnitude if magnitude >= 0.02 => format!("{value:.2}"),
        magnitude if magnitude >= 0.0002 => format!("{value:.4}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.1e}"),
    }
}

/// Milliseconds, or seconds when they are many.
pub fn milliseconds(value: f64) -> String {
    if value >= 10_000.0 { format!("{} s", number(value / 1000.0)) } else { format!("{} ms", number(value)) }
}

/// Bytes in powers of ten.
pub fn bytes(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude >= 1e9 => format!("{} GB", number(value / 1e9)),
        magnitude if magnitude >= 1e6 => format!("{} MB", number(value / 1e6)),
        magnitude if magnitude >= 1e3 => format!("{} KB", number(value / 1e3)),
        _ => format!("{value:.0} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_longer_than_can_be_read() {
        for value in [1e300, -1e300, f64::MAX, f64::MIN_POSITIVE, f64::NAN, f64::INFINITY, 123_456_789_012.3] {
            for text in [number(value), milliseconds(value), bytes(value)] {
                assert!(text.len() <= 16, "{text}");
            }
        }
        assert_eq!(
            (number(1234.5), number(-0.5), number(0.0)),
            ("1234".to_owned(), "-0.50".to_owned(), "0".to_owned())
        );
        assert_eq!(bytes(2_500_000.0), "2.50 MB");
    }
}

//! Tables for reports.

use super::text;

/// Formats rows of cells as Markdown.
pub fn markdown(heading: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = format!("| {} |\n|{}\n", heading.join(" | "), " --- |".repeat(heading.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| text::markdown(cell)).collect();
        table += &format!("| {} |\n", cells.join(" | "));
    }
    table
}

/// Formats rows of cells as HTML.
pub fn html(heading: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |cells: &mut dyn Iterator<Item = String>, tag: &str| -> String {
        cells.map(|cell| format!("<{tag}>{cell}</{tag}>")).collect()
    };
    let head = cells(&mut heading.iter().map(|cell| escape(cell)), "th");
    let body: String =
        rows.iter().map(|row| format!("<tr>{}</tr>", cells(&mut row.iter().map(|cell| escape(cell)), "td"))).collect();
    format!("<div class=\"wide\"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")
}

/// Escapes text for HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

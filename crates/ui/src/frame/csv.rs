//! CSV files for spreadsheets, streamed from the database.

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::IntoResponse;
use futures_util::{StreamExt, stream};
use model::Result;

use super::fault::PageResult;
use http_core::server::request;

/// Source of the lines of a file.
pub trait Source: Send + Sized + 'static {
    /// Returns the next lines, which may be empty, or `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<String>>> + Send;
}

/// Sends a file: the headings, then the lines of the source.
pub async fn send(name: &str, headings: &str, mut source: impl Source) -> PageResult {
    let place = request::acquire_costly()?;
    // The first part is read before the response begins, because this read refuses callers who may not see the file.
    let first = source.next().await?.map(|lines| format!("{headings}\r\n{lines}"));
    let parts = stream::unfold((first, Some((source, place))), |(first, rest)| async move {
        let (mut source, place) = rest?;
        let part = match first {
            Some(text) => Ok(text),
            None => source.next().await.transpose()?,
        };
        let rest = part.is_ok().then_some((source, place));
        Some((part.map(Bytes::from), (None, rest)))
    });
    // The compression layer polls again after the end.
    let parts = parts.fuse();
    let fields = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    Ok((fields, Body::from_stream(parts)).into_response())
}

/// Formats one line.
pub fn line<const N: usize>(fields: [&str; N]) -> String {
    fields.map(quoted).join(",") + "\r\n"
}

/// Quotes a field. A field that begins like a formula gets an apostrophe in front, because spreadsheets would execute
/// it.
fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    format!("\"{}{}\"", if formula { "'" } else { "" }, text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_files_run_nothing() {
        assert_eq!(quoted("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(quoted("=HYPERLINK(1)"), "\"'=HYPERLINK(1)\"");
    }
}

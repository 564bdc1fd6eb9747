//! One run of LibreOffice.

use std::io;
use std::path::Path;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use model::Result;
use repository::{Program, Sandbox, office};
use tokio::io::AsyncReadExt;

use super::work::{Conversion, Work, disk_error};

/// Page range to convert.
const PAGES: &str = "1-20";

/// Returns the LibreOffice filter that exports documents with this extension to PDF.
pub fn filter(extension: &str) -> Option<&'static str> {
    match extension {
        "doc" | "docx" | "docm" | "dot" | "dotx" | "dotm" | "odt" | "ott" | "rtf" => Some("writer_pdf_Export"),
        "xls" | "xlsx" | "xlsm" | "xltx" | "ods" | "ots" => Some("calc_pdf_Export"),
        "ppt" | "pptx" | "pptm" | "pps" | "ppsx" | "potx" | "odp" | "otp" => Some("impress_pdf_Export"),
        _ => None,
    }
}

/// Returns the LibreOffice import filter for this extension and these first bytes, or `None` when they do not match
/// any. The filter is always named explicitly: when LibreOffice guesses, it falls back to plain text, and a damaged
/// document would become pages of noise. The names are those of LibreOffice's registry.
fn reader(extension: &str, head: &[u8]) -> Option<&'static str> {
    let kind = match filter(extension)? {
        "writer_pdf_Export" => 0,
        "calc_pdf_Export" => 1,
        _ => 2,
    };
    let readers = match head {
        [0xd0, 0xcf, 0x11, 0xe0, ..] => ["MS Word 97", "MS Excel 97", "MS PowerPoint 97"],
        [b'P', b'K', 3, 4, ..] if matches!(extension, "odt" | "ott" | "ods" | "ots" | "odp" | "otp") => {
            ["writer8", "calc8", "impress8"]
        }
        [b'P', b'K', 3, 4, ..] => ["MS Word 2007 XML", "Calc MS Excel 2007 XML", "Impress MS PowerPoint 2007 XML"],
        // RTF content, also under a Word extension.
        [b'{', b'\\', b'r', b't', b'f', ..] if kind == 0 => ["Rich Text Format"; 3],
        // A web page saved under a Word extension.
        [b'<', ..] if kind == 0 => ["HTML (StarWriter)"; 3],
        _ => return None,
    };
    Some(readers[kind])
}

/// Reads the first bytes of a file, at most eight.
async fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    tokio::fs::File::open(path).await?.take(8).read_to_end(&mut head).await?;
    Ok(head)
}

/// Converts `document.{extension}` in the work directory. Returns `None` when the program produces no PDF, or one
/// longer than `most`.
#[boxed]
pub async fn run(
    sandbox: &Sandbox,
    program: &Path,
    work: Work,
    most: u64,
    time: Duration,
) -> Result<(Conversion, Work)> {
    let place = work.place.path();
    let document = format!("document.{}", work.extension);
    let head = head(&place.join(&document)).await.map_err(|error| disk_error(&error))?;
    let read = reader(&work.extension, &head);
    let (Some(filter), Some(read)) = (filter(&work.extension), read) else { return Ok((None, work)) };
    prepare(place).await.map_err(|error| disk_error(&error))?;
    let mut arguments = office::common_arguments(place);
    arguments.extend([
        format!("--infilter={read}"),
        "--convert-to".to_owned(),
        format!(r#"pdf:{filter}:{{"PageRange":{{"type":"string","value":"{PAGES}"}}}}"#),
        "--outdir".to_owned(),
        "made".to_owned(),
        document,
    ]);
    let program = Program {
        path: office::binary(program),
        arguments: arguments.into_iter().map(Into::into).collect(),
        place: place.to_owned(),
        time,
        file: 2 * most,
        disk: 8 * most,
    };
    // The exit status is not reliable. Only the file that the program produced counts.
    let (in_time, work) = sandbox.run(program, work).await?;
    if !in_time {
        tracing::warn!(target: "http", extension = work.extension, "a document was not converted within {time:?}");
        return Ok((None, work));
    }
    let made = result(work.place.path(), most).await.map_err(|error| disk_error(&error))?;
    Ok((made, work))
}

/// Writes the profile into the work directory.
async fn prepare(place: &Path) -> io::Result<()> {
    let place = place.to_owned();
    tokio::task::spawn_blocking(move || office::write_profile(&place)).await.map_err(io::Error::other)?
}

/// Reads the PDF that the program produced, unless it is too long. Only a regular file counts: the program could have
/// left something else at that path.
async fn result(place: &Path, most: u64) -> io::Result<Conversion> {
    let made = place.join("made/document.pdf");
    match tokio::fs::symlink_metadata(&made).await {
        Ok(about) if about.is_file() && about.len() <= most => {}
        _ => return Ok(None),
    }
    let mut bytes = Vec::new();
    tokio::fs::File::open(made).await?.take(most + 1).read_to_end(&mut bytes).await?;
    Ok((bytes.len() as u64 <= most).then(|| bytes.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_as_what_it_begins_like() {
        assert_eq!(reader("doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), Some("MS Word 97"));
        assert_eq!(reader("doc", b"{\\rtf1\\an"), Some("Rich Text Format"));
        assert_eq!(reader("docx", b"PK\x03\x04...."), Some("MS Word 2007 XML"));
        assert_eq!(reader("ots", b"PK\x03\x04"), Some("calc8"));
        assert_eq!(reader("pptx", b"PK\x03\x04"), Some("Impress MS PowerPoint 2007 XML"));
        assert_eq!(reader("doc", b"<html>"), Some("HTML (StarWriter)"));
        for other in [&b""[..], b"P", b"words", b"{\\rt"] {
            assert_eq!(reader("doc", other), None);
        }
        assert_eq!(reader("xls", b"{\\rtf1"), None);
        assert_eq!(reader("txt", b"PK\x03\x04"), None);
    }
}

//! One run of LibreOffice.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use model::Result;
use repository::{Program, Sandbox};
use tokio::io::AsyncReadExt;

use super::work::{Conversion, Work, disk_error};

/// Page range to convert.
const PAGES: &str = "1-20";

/// Profile that is in place before a document is opened: no macros, no active content, and a proxy that refuses
/// connections, so that nothing can be fetched. The names are those of LibreOffice's registry schema.
const PROFILE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>3</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="DisableActiveContent" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings">
<prop oor:name="ooInetProxyType" oor:op="fuse"><value>2</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings">
<prop oor:name="ooInetHTTPProxyName" oor:op="fuse"><value>127.0.0.1</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings">
<prop oor:name="ooInetHTTPProxyPort" oor:op="fuse"><value>9</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings">
<prop oor:name="ooInetHTTPSProxyName" oor:op="fuse"><value>127.0.0.1</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings">
<prop oor:name="ooInetHTTPSProxyPort" oor:op="fuse"><value>9</value></prop></item>
</oor:items>
"#;

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
    let arguments = [
        format!("-env:UserInstallation=file://{}", place.join("profile").display()),
        format!("-env:OSL_SOCKET_PATH={}", place.display()),
        "--headless".to_owned(),
        "--norestore".to_owned(),
        "--nologo".to_owned(),
        format!("--infilter={read}"),
        "--convert-to".to_owned(),
        format!(r#"pdf:{filter}:{{"PageRange":{{"type":"string","value":"{PAGES}"}}}}"#),
        "--outdir".to_owned(),
        "made".to_owned(),
        document,
    ];
    let program = Program {
        path: binary(program),
        arguments: arguments.map(Into::into).into(),
        place: place.to_owned(),
        time,
        file: 2 * most,
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

/// Returns the path of the real binary. The launcher script beside it starts a splash-screen process that needs a pipe
/// in `/tmp`.
fn binary(program: &Path) -> PathBuf {
    let beside = program.canonicalize().ok().map(|real| real.with_file_name("soffice.bin"));
    beside.filter(|binary| binary.is_file()).unwrap_or_else(|| program.to_owned())
}

/// Writes the profile into the work directory.
async fn prepare(place: &Path) -> io::Result<()> {
    let settings = place.join("profile/user");
    tokio::fs::create_dir_all(&settings).await?;
    tokio::fs::write(settings.join("registrymodifications.xcu"), PROFILE).await
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

//! One run of LibreOffice.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::Result;
use repository::{Program, Sandbox};
use tokio::io::AsyncReadExt;

use super::work::{Made, Work, no_room};

/// Pages that are made.
const PAGES: &str = "1-20";

/// What a profile says before anything is opened: no macros, nothing fetched for a document, and no way to fetch it.
/// The names are those of LibreOffice's own registry schema.
const PROFILE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>3</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableActiveContent" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetProxyType" oor:op="fuse"><value>2</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPProxyName" oor:op="fuse"><value>127.0.0.1</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPProxyPort" oor:op="fuse"><value>9</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPSProxyName" oor:op="fuse"><value>127.0.0.1</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPSProxyPort" oor:op="fuse"><value>9</value></prop></item>
</oor:items>
"#;

/// The part of LibreOffice that writes PDF for documents with this extension.
pub fn filter(extension: &str) -> Option<&'static str> {
    match extension {
        "doc" | "docx" | "docm" | "dot" | "dotx" | "dotm" | "odt" | "ott" | "rtf" => Some("writer_pdf_Export"),
        "xls" | "xlsx" | "xlsm" | "xltx" | "ods" | "ots" => Some("calc_pdf_Export"),
        "ppt" | "pptx" | "pptm" | "pps" | "ppsx" | "potx" | "odp" | "otp" => Some("impress_pdf_Export"),
        _ => None,
    }
}

/// The part of LibreOffice that reads documents with this extension which begin so; none when nothing of the kind does.
/// Named, since what it is left to guess it reads as plain text at last, and a damaged document would be pages of noise.
/// The names are those of LibreOffice's own registry.
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
        // Also what a name calls a document of Word.
        [b'{', b'\\', b'r', b't', b'f', ..] if kind == 0 => ["Rich Text Format"; 3],
        // A page of the web that was saved under a name of Word.
        [b'<', ..] if kind == 0 => ["HTML (StarWriter)"; 3],
        _ => return None,
    };
    Some(readers[kind])
}

/// The first bytes of a file, up to eight.
async fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    tokio::fs::File::open(path).await?.take(8).read_to_end(&mut head).await?;
    Ok(head)
}

/// Converts `document.{extension}` in its place; none when the program makes nothing of it, or nothing that is short enough.
pub async fn run(sandbox: &Sandbox, program: &Path, work: Work, most: u64, time: Duration) -> Result<(Made, Work)> {
    let place = work.place.path();
    let document = format!("document.{}", work.extension);
    let head = head(&place.join(&document)).await.map_err(|error| no_room(&error))?;
    let read = reader(&work.extension, &head);
    let (Some(filter), Some(read)) = (filter(&work.extension), read) else { return Ok((None, work)) };
    prepare(place).await.map_err(|error| no_room(&error))?;
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
    // Its status says little: what counts is what it made.
    let (in_time, work) = sandbox.run(program, work).await?;
    if !in_time {
        tracing::warn!(target: "http", extension = work.extension, "a document was not converted within {time:?}");
        return Ok((None, work));
    }
    let made = result(work.place.path(), most).await.map_err(|error| no_room(&error))?;
    Ok((made, work))
}

/// The program itself. The script beside it only starts one that draws a picture meanwhile, and that one insists on a pipe in `/tmp`.
fn binary(program: &Path) -> PathBuf {
    let beside = program.canonicalize().ok().map(|real| real.with_file_name("soffice.bin"));
    beside.filter(|binary| binary.is_file()).unwrap_or_else(|| program.to_owned())
}

/// Writes the profile.
async fn prepare(place: &Path) -> io::Result<()> {
    let settings = place.join("profile/user");
    tokio::fs::create_dir_all(&settings).await?;
    tokio::fs::write(settings.join("registrymodifications.xcu"), PROFILE).await
}

/// What the program made, if that is short enough. Only a file counts: the program could have left something else there.
async fn result(place: &Path, most: u64) -> io::Result<Made> {
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

//! Conversion of Word, Excel and PowerPoint documents of the time before 2007 by LibreOffice.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{Error, Result};

use super::scratch::Scratch;
use crate::extract::unreadable;
use crate::readers::{MAX_DOCUMENT_BYTES, ReadableFormat};
use crate::sandbox::{Program, Sandbox};

/// Time limit for a conversion.
const TIME: Duration = Duration::from_secs(60);
/// Limit on the bytes of all files of a conversion.
const DISK: u64 = 4 * MAX_DOCUMENT_BYTES;

/// Free space below which a conversion without a result says nothing about the document.
const LEAST_FREE: u64 = MAX_DOCUMENT_BYTES;

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

/// How a format is converted.
struct Conversion {
    /// File extensions of the document and of the result.
    extension: &'static str,
    made: &'static str,
    /// LibreOffice's names of the formats.
    import: &'static str,
    export: &'static str,
    /// Format of the result.
    format: ReadableFormat,
}

/// Returns the path of the real program. The launcher script beside it starts a splash-screen process that needs a pipe
/// in `/tmp`.
pub fn binary(program: &Path) -> PathBuf {
    let beside = program.canonicalize().ok().map(|real| real.with_file_name("soffice.bin"));
    beside.filter(|binary| binary.is_file()).unwrap_or_else(|| program.to_owned())
}

/// Writes a profile into the directory of a conversion. Blocks.
pub fn write_profile(place: &Path) -> io::Result<()> {
    let settings = place.join("profile/user");
    fs::create_dir_all(&settings)?;
    fs::write(settings.join("registrymodifications.xcu"), PROFILE)
}

/// Returns the arguments for a conversion in this directory, apart from the formats and the document.
pub fn common_arguments(place: &Path) -> Vec<String> {
    vec![
        format!("-env:UserInstallation=file://{}/profile", url_path(place)),
        format!("-env:OSL_SOCKET_PATH={}", place.display()),
        "--headless".to_owned(),
        "--norestore".to_owned(),
        "--nologo".to_owned(),
    ]
}

/// Converts a document. Returns the result and its format.
///
/// # Errors
/// `Invalid` with code `not_readable` if the program makes no document of it, with `took_too_long` at the time limit;
/// `Unavailable` if the program cannot be started, or files cannot be written.
pub async fn convert(
    sandbox: &Sandbox,
    program: &Path,
    place: &Path,
    format: ReadableFormat,
    bytes: &[u8],
) -> Result<(ReadableFormat, Vec<u8>)> {
    let conversion = conversion(format);
    let document = format!("document.{}", conversion.extension);
    let scratch = prepare(place, &document, bytes).map_err(|error| disk_error(&error))?;
    let mut arguments = common_arguments(scratch.path());
    arguments.extend([
        format!("--infilter={}", conversion.import),
        "--convert-to".to_owned(),
        format!("{}:{}", conversion.made, conversion.export),
        "--outdir".to_owned(),
        "made".to_owned(),
        document,
    ]);
    let program = Program {
        path: binary(program),
        arguments: arguments.into_iter().map(Into::into).collect(),
        place: scratch.path().to_owned(),
        time: TIME,
        file: MAX_DOCUMENT_BYTES,
        disk: DISK,
    };
    // The exit status is not reliable. Only the file that the program produced counts.
    let (in_time, scratch) = sandbox.run(program, scratch).await?;
    if !in_time {
        return Err(crate::sandbox::too_long(TIME));
    }
    let made = scratch.path().join("made/document").with_extension(conversion.made);
    match result(&made).map_err(|error| disk_error(&error))? {
        Some(bytes) => Ok((conversion.format, bytes)),
        // A full disk leaves no file either.
        None if free_bytes(scratch.path()).map_err(|error| disk_error(&error))? < LEAST_FREE => {
            Err(disk_error(&io::ErrorKind::StorageFull.into()))
        }
        None => Err(unreadable("it is damaged or encrypted, or LibreOffice cannot convert it")),
    }
}

fn conversion(format: ReadableFormat) -> Conversion {
    let (extension, made, import, export, format) = match format {
        ReadableFormat::Xls => ("xls", "xlsx", "MS Excel 97", "Calc MS Excel 2007 XML", ReadableFormat::Xlsx),
        ReadableFormat::Ppt => {
            ("ppt", "pptx", "MS PowerPoint 97", "Impress MS PowerPoint 2007 XML", ReadableFormat::Pptx)
        }
        _ => ("doc", "docx", "MS Word 97", "MS Word 2007 XML", ReadableFormat::Docx),
    };
    Conversion { extension, made, import, export, format }
}

fn prepare(place: &Path, document: &str, bytes: &[u8]) -> io::Result<Scratch> {
    let scratch = Scratch::create(place)?;
    write_profile(scratch.path())?;
    fs::write(scratch.path().join(document), bytes)?;
    Ok(scratch)
}

/// Reads the document that the program produced, unless it is too long. Only a regular file counts: the program could
/// have left something else at that path, or a link on the way to it. `path` begins with a path without links.
fn result(path: &Path) -> io::Result<Option<Vec<u8>>> {
    if !path.canonicalize().is_ok_and(|real| real == path) {
        return Ok(None);
    }
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_file() && about.len() <= MAX_DOCUMENT_BYTES => {}
        _ => return Ok(None),
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_DOCUMENT_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn free_bytes(place: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(place)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn disk_error(error: &io::Error) -> Error {
    Error::unavailable(format!("a document cannot be converted now: {error}"))
}

/// Returns a path as it is written in a URL.
fn url_path(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(*byte)),
            // Writing to a string cannot fail.
            other => drop(write!(text, "%{other:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_encoded_in_a_url() {
        assert_eq!(url_path(Path::new("/a b/100%\u{e4}")), "/a%20b/100%25%C3%A4");
    }

    #[test]
    fn only_a_regular_file_is_a_result() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let secret = place.join("secret");
        fs::write(&secret, "secret").unwrap();
        let (made, linked) = (place.join("made"), place.join("linked"));
        std::os::unix::fs::symlink(&secret, &made).unwrap();
        std::os::unix::fs::symlink(&place, &linked).unwrap();
        assert_eq!(result(&made).unwrap(), None);
        assert_eq!(result(&linked.join("secret")).unwrap(), None);
        assert_eq!(result(&place.join("none")).unwrap(), None);
        assert_eq!(result(&secret).unwrap(), Some(b"secret".to_vec()));
    }
}

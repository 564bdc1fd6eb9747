//! One run of LibreOffice.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// Most address space, in bytes.
const SPACE: u64 = 4 << 30;
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

/// Converts `document.{extension}` in this directory; none when the program makes nothing of it, or nothing that is short enough.
pub async fn run(
    program: &Path,
    place: &Path,
    extension: &str,
    most: u64,
    time: Duration,
) -> io::Result<Option<Bytes>> {
    let document = format!("document.{extension}");
    let read = reader(extension, &head(&place.join(&document)).await?);
    let (Some(filter), Some(read)) = (filter(extension), read) else { return Ok(None) };
    let settings = place.join("profile/user");
    tokio::fs::create_dir_all(&settings).await?;
    tokio::fs::write(settings.join("registrymodifications.xcu"), PROFILE).await?;
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", place)
        .env("TMPDIR", place)
        .env("LC_ALL", "C.UTF-8")
        .current_dir(place)
        .arg(format!("-env:UserInstallation=file://{}", place.join("profile").display()))
        .args(["--headless", "--norestore", "--nologo"])
        .arg(format!("--infilter={read}"))
        .arg("--convert-to")
        .arg(format!(r#"pdf:{filter}:{{"PageRange":{{"type":"string","value":"{PAGES}"}}}}"#))
        .args(["--outdir", "made"])
        .arg(document)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // It starts others, which end with it.
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn()?;
    let group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    group.limit(Resource::As, SPACE);
    group.limit(Resource::Cpu, time.as_secs() + 1);
    group.limit(Resource::Fsize, 2 * most);
    // Its status says little: what counts is what it made.
    let ended = tokio::time::timeout(time, child.wait()).await;
    drop(group);
    if ended.is_err() {
        tracing::warn!(target: "http", extension, "a document was not converted within {time:?}");
        return Ok(None);
    }
    let Ok(file) = tokio::fs::File::open(place.join("made/document.pdf")).await else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).await?;
    Ok((bytes.len() as u64 <= most).then(|| bytes.into()))
}

/// The program and all that it started; ended when this is dropped.
struct Group(Option<Pid>);

impl Group {
    /// Bounds what each of them may take, as far as the system lets us.
    fn limit(&self, resource: Resource, most: u64) {
        if let Some(leader) = self.0 {
            let _ = prlimit(Some(leader), resource, Rlimit { current: Some(most), maximum: Some(most) });
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // Most often none of them is left.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Runs a stand-in for the program on a document.
    async fn run_script(script: &str, most: u64) -> (tempfile::TempDir, io::Result<Option<Bytes>>) {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(place.path().join("document.odt"), "PK\x03\x04words").unwrap();
        let made = run(&program, place.path(), "odt", most, Duration::from_secs(2)).await;
        (place, made)
    }

    fn is_there(id: &str) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
        // Ended and not yet taken note of is ended.
        !state.is_empty() && !state.contains(") Z ")
    }

    #[tokio::test]
    async fn what_the_program_makes_is_taken_up_to_a_length() {
        let copy = "mkdir made && cp document.odt made/document.pdf";
        assert_eq!(run_script(copy, 9).await.1.unwrap().unwrap(), "PK\x03\x04words");
        assert!(run_script(copy, 8).await.1.unwrap().is_none());
        assert!(run_script("exit 0", 5).await.1.unwrap().is_none());
        assert!(run_script("kill -SEGV $$", 5).await.1.unwrap().is_none());
    }

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

    #[tokio::test]
    async fn a_program_that_does_not_end_is_ended_with_all_that_it_started() {
        let hangs = "sleep 1000 & echo $! > child; echo $$ > own; wait";
        let (place, made) = run_script(hangs, 5).await;
        assert!(made.unwrap().is_none());
        for name in ["own", "child"] {
            let id = std::fs::read_to_string(place.path().join(name)).unwrap();
            let start = std::time::Instant::now();
            while is_there(&id) {
                assert!(start.elapsed() < Duration::from_secs(20), "{name} is still there");
                tokio::task::yield_now().await;
            }
        }
    }

    #[tokio::test]
    async fn the_program_knows_nothing_of_the_server_and_has_bounds() {
        let tells = "mkdir made && (env; ulimit -v; ulimit -f) > made/document.pdf";
        let said = run_script(tells, 10_000).await.1.unwrap().unwrap();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("LC_ALL") && !said.contains("CARGO"), "{said}");
        assert!(!said.contains("unlimited") && said.contains(&(SPACE / 1024).to_string()), "{said}");
    }
}

//! Sandboxed child processes that open documents, tested with substitutes for LibreOffice: their rights, and their
//! termination.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use model::Id;
use rustix::process::Signal;
use search::extract::{Content, Format};
use search::readers::{DocumentText, ReadableFormat};
use search::sandbox::{Document, MissingRestriction, PipedOutput, PipedProgram, Program, ReadLimit, Sandbox};

use crate::support::processes;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_strongroom"))
}

/// A shell script with its own directory as the program to run.
fn script(place: &Path, text: &str, time: u64) -> Program {
    let path = place.join("program");
    std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (time, place) = (Duration::from_secs(time), place.to_owned());
    Program { path, arguments: vec!["one argument".into(), "--two".into()], place, time, file: 1 << 20, disk: 16 << 20 }
}

fn id_in(file: &Path) -> Option<u32> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_reads_a_document_and_this_system_confines_it() {
    let sandbox = sandbox();
    let document = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../search/tests/documents/text.docx")).unwrap();
    let mut input = Document::new().unwrap();
    document.chunks(1_000).for_each(|chunk| input.write(chunk).unwrap());
    let permit = sandbox.permit_to_read(Id::new(1)).await.unwrap();
    let found = sandbox.read(permit, Format::Docx, input).await.unwrap();
    assert!(matches!(found.content, Content::Lines(lines) if lines[0] == "Minutes of the board"));
    let permit = sandbox.permit_to_read(Id::new(1)).await.unwrap();
    let refused = sandbox.read(permit, Format::Docx, Document::new().unwrap()).await.unwrap_err();
    assert_eq!(refused.code(), "not_readable");
    let lacks = sandbox.missing_restrictions().await.unwrap();
    assert!(!lacks.contains(&MissingRestriction::Files), "{lacks:?}");
    assert!(!lacks.contains(&MissingRestriction::Calls), "{lacks:?}");
    let permit = sandbox.permit_to_read(Id::new(1)).await.unwrap();
    sandbox.end_all().await;
    sandbox.read(permit, Format::Docx, Document::new().unwrap()).await.unwrap_err();
}

async fn read_text(sandbox: &Sandbox, format: ReadableFormat, text: &str) -> model::Result<DocumentText> {
    let room = sandbox.text_room(ReadLimit::Short, text.len() as u64).await?;
    sandbox.read_text(ReadLimit::Short, room, format, text.as_bytes()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warm_child_reads_one_document_after_the_other() {
    let sandbox = sandbox();
    let read = async |text: &str| read_text(&sandbox, ReadableFormat::Html, text).await.unwrap().text;
    let children = || processes::text_readers(std::process::id());
    assert_eq!(read("<p>one").await, "one");
    let child = *children().first().unwrap();
    assert_eq!(read(&"<p>two".repeat(100_000)).await.len(), 399_999);
    let refused = read_text(&sandbox, ReadableFormat::Pdf, "no PDF").await.unwrap_err();
    assert_eq!(refused.code(), "not_readable");
    assert_eq!(children(), [child], "the child is used again");
    let status = |figure: &str| processes::status(child, figure).unwrap_or_default();
    assert_eq!(
        (status("Seccomp").as_str(), status("NoNewPrivs").as_str(), status("Threads").as_str()),
        ("2", "1", "1")
    );
    let limits = std::fs::read_to_string(format!("/proc/{child}/limits")).unwrap();
    for (name, most) in
        [("Max data size", 512 << 20), ("Max cpu time", 150), ("Max file size", 0), ("Max processes", 0)]
    {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        assert!(line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() <= most, "{name}: {limits}");
    }
    // A child that ended meanwhile is no fault of the next document.
    processes::send(child, Signal::KILL);
    assert_eq!(read("<p>three").await, "three");
    let (one, other) = tokio::join!(read("<p>one"), read("<p>other"));
    assert_eq!((one.as_str(), other.as_str()), ("one", "other"));
    sandbox.end_all().await;
    let gone = || children().is_empty().then_some(());
    processes::wait_for("the end of all children", gone).await;
    read_text(&sandbox, ReadableFormat::Html, "<p>four").await.unwrap_err();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_fails_on_a_document_or_does_not_start_is_told_apart() {
    let place = tempfile::tempdir().unwrap();
    for (text, expected) in [
        ("exit 0", "unavailable"),
        ("printf no", "unavailable"),
        ("printf '\\245'; head -c 8 >/dev/null; exit 1", "reader_failed"),
        ("printf '\\245'; head -c 8 >/dev/null; kill -KILL $$", "unavailable"),
        ("printf '\\245'; exec sleep 100", "took_too_long"),
        ("printf '\\245'; head -c 8 >/dev/null; printf '\\1\\0\\377\\377\\377\\377%08d' 0", "reader_failed"),
    ] {
        let child = script(place.path(), text, 0).path;
        let error = read_text(&Sandbox::new(child), ReadableFormat::Html, "<p>").await.unwrap_err();
        assert_eq!(error.code(), expected, "{text}: {}", error.report());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_has_its_place_and_nothing_else() {
    let (place, others) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secret = others.path().join("secret");
    std::fs::write(&secret, "secret words").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let (port, own, others) = (listener.local_addr().unwrap().port(), std::process::id(), others.path().display());
    let text = format!(
        r#"
        exec > said 2>&1
        try() {{ if "$@" 2>/dev/null; then echo "could $*"; fi; }}
        echo "arguments:$1:$2"; pwd; env
        try cat {others}/secret
        try ls {others}
        try cat /etc/shadow
        try cat /proc/{own}/environ
        try touch {others}/new
        try touch /tmp/of-a-program-in-the-sandbox
        try kill -0 {own}
        try setsid true
        try bash -c 'echo x > /dev/tcp/127.0.0.1/{port}'
        try bash -c 'echo x > /dev/udp/127.0.0.1/{port}'
        try unshare -U true
        try bash -c 'ulimit -t unlimited'
        try python3 -c 'import os; os.memfd_create("of a program")'
        try python3 -c 'import os; os.kill(-1, 0)'
        try python3 -c 'import ctypes; ctypes.CDLL(None).syscall(0x40000000 + 39)'
        python3 -c 'print("python runs")'
        echo "limits:$(ulimit -v):$(ulimit -t):$(ulimit -c):$(ulimit -f)"
        echo done
        "#
    );
    let (in_time, ()) = sandbox().run(script(place.path(), &text, 20), ()).await.unwrap();
    let said = std::fs::read_to_string(place.path().join("said")).unwrap();
    assert!(in_time, "{said}");
    assert!(said.ends_with("done\n"), "{said}");
    assert!(!said.contains("could "), "{said}");
    assert!(!said.contains("secret words"), "{said}");
    assert!(!said.contains("CARGO"), "{said}");
    assert!(said.contains("arguments:one argument:--two\n"), "{said}");
    assert!(said.contains("python runs\n"), "{said}");
    assert!(said.contains("limits:4194304:21:0:1024\n"), "{said}");
    assert!(listener.accept().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_ends_with_all_that_it_started() {
    let hangs = "(trap '' HUP TERM; sleep 1000) & echo $! > child; echo $$ > own; wait";
    let started = |place: &Path| id_in(&place.join("child")).zip(id_in(&place.join("own")));
    // The program is killed at its deadline.
    let place = tempfile::tempdir().unwrap();
    let (in_time, ()) = sandbox().run(script(place.path(), hangs, 2), ()).await.unwrap();
    assert!(!in_time);
    let ids = started(place.path()).unwrap();
    assert!(!processes::exists(ids.0));
    assert!(!processes::exists(ids.1));
    // The program is killed when the caller no longer waits for it, and when the server stops. Its resources are
    // released once it has exited.
    for stops in [false, true] {
        let (sandbox, place) = (sandbox(), tempfile::tempdir().unwrap());
        let permit = sandbox.permit_to_run(Id::new(1)).await.unwrap();
        let program = script(place.path(), hangs, 1_000);
        let waits = tokio::spawn({
            let sandbox = sandbox.clone();
            async move { sandbox.run(program, permit).await.map(drop) }
        });
        let ids = processes::wait_for("the program to start", || started(place.path())).await;
        match stops {
            true => sandbox.end_all().await,
            false => waits.abort(),
        }
        let answer = waits.await;
        assert!(answer.map_or_else(|error| error.is_cancelled(), |answer| answer.is_err()));
        match stops {
            // The permit became free only after the child had exited.
            true => drop(sandbox.permit_to_run(Id::new(1)).await.unwrap_err()),
            false => drop(sandbox.permit_to_run(Id::new(1)).await.unwrap()),
        }
        assert!(!processes::exists(ids.0), "a permit is free before its child is gone");
        assert!(!processes::exists(ids.1), "a permit is free before its child is gone");
    }
    // The program has exited and left another process behind.
    let place = tempfile::tempdir().unwrap();
    let leaves = "(sleep 1000 &>/dev/null) & echo $! > child";
    sandbox().run(script(place.path(), leaves, 100), ()).await.unwrap();
    assert!(!processes::exists(id_in(&place.path().join("child")).unwrap()));
}

/// Gives a document to a shell script that becomes a filter. It can use nothing but what the shell has in itself.
async fn filtered(place: &Path, text: &str) -> PipedOutput {
    let time = Duration::from_secs(3);
    let path = script(place, text, 0).path;
    let filter = PipedProgram { path, arguments: vec!["one argument".into()], time, memory: 64 << 20, most: 1 << 20 };
    sandbox().run_piped(filter, Document::of(b"the document\n").unwrap(), ()).await.unwrap().0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_has_its_document_and_nothing_else() {
    let (place, others) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secret = others.path().join("secret");
    std::fs::write(&secret, "secret words").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let (port, own) = (listener.local_addr().unwrap().port(), std::process::id());
    let (others, place_name) = (others.path().display(), place.path().display());
    let text = format!(
        r#"
        read -r line; echo "$line:$1"
        try() {{ if eval "$1" 2>/dev/null; then echo "could $1"; fi; }}
        try 'read -r words < {others}/secret && echo "$words"'
        try 'echo x > {others}/new'
        try 'echo x > {place_name}/new'
        try 'echo x > /tmp/of-a-filter-in-the-sandbox'
        try 'read -r words < /proc/{own}/environ'
        try 'kill -0 {own}'
        try 'echo x > /dev/tcp/127.0.0.1/{port}'
        try 'echo x > /dev/udp/127.0.0.1/{port}'
        try 'ulimit -t unlimited'
        echo done
        (echo forked)
        "#
    );
    let PipedOutput { bytes, is_cut, fault } = filtered(place.path(), &text).await;
    assert_eq!(String::from_utf8(bytes).unwrap(), "the document:one argument\ndone\n");
    // The shell ends when it cannot start another process.
    assert!(!is_cut && fault.is_some_and(|fault| fault.code() == "reader_failed"));
    assert!(listener.accept().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_hangs_grows_or_crashes_is_ended() {
    let place = tempfile::tempdir().unwrap();
    let code = |filtered: &PipedOutput| filtered.fault.as_ref().map(|fault| fault.code().as_str().to_owned());
    for (text, code_of_fault, said) in [
        ("echo begun; while :; do :; done", Some("took_too_long"), "begun\n"),
        ("x=xxxxxxxx; while :; do x=$x$x; done", Some("reader_failed"), ""),
        ("echo begun; kill -SEGV $$", Some("reader_failed"), "begun\n"),
        ("exit 3", Some("reader_failed"), ""),
    ] {
        let found = filtered(place.path(), text).await;
        assert_eq!((code(&found).as_deref(), found.is_cut), (code_of_fault, false), "{text}");
        assert_eq!(found.bytes, said.as_bytes(), "{text}");
    }
    let found = filtered(place.path(), "while :; do echo more and more; done").await;
    assert_eq!((code(&found), found.is_cut, found.bytes.len()), (None, true, 1 << 20));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_uses_too_much_is_ended() {
    for (what, text) in [
        ("disk", "for i in {1..1000}; do head -c 500000 /dev/zero > $i; done; sleep 1000"),
        ("memory", "for i in {1..12}; do (x=xxxxxxxx; for j in {1..25}; do x=$x$x; done; sleep 1000) & done; wait"),
    ] {
        let place = tempfile::tempdir().unwrap();
        let begun = Instant::now();
        let (in_time, ()) = sandbox().run(script(place.path(), text, 100), ()).await.unwrap();
        assert!(in_time && begun.elapsed() < Duration::from_secs(60), "{what}");
    }
}

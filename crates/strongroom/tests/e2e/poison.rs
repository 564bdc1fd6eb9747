//! Malicious documents. Each affects its own preview and nothing else.

use std::io::{Cursor, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use database::Engine;
use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::support::{Client, Farm, PASSWORD, Server, SignedIn, processes};

fn package(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn workbook(sheet: &str, texts: &str) -> Vec<u8> {
    package(&[
        ("xl/workbook.xml", b"<workbook><sheets><sheet r:id=\"r1\"/></sheets></workbook>"),
        ("xl/_rels/workbook.xml.rels", b"<Relationships><Relationship Id=\"r1\" Target=\"a.xml\"/></Relationships>"),
        ("xl/a.xml", format!("<worksheet><sheetData>{sheet}</sheetData></worksheet>").as_bytes()),
        ("xl/sharedStrings.xml", format!("<sst>{texts}</sst>").as_bytes()),
    ])
}

/// A presentation of 2,000 slides of one megabyte each, filled with repetitions of `bit`.
fn slides(bit: &[u8]) -> Vec<u8> {
    let one: Vec<u8> = bit.iter().copied().cycle().take((1 << 20) / bit.len() * bit.len()).collect();
    let mut one = ZipArchive::new(Cursor::new(package(&[("one", &one)]))).unwrap();
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for number in 1..=2_000 {
        let slide = one.by_index_raw(0).unwrap();
        writer.raw_copy_file_rename(slide, format!("ppt/slides/slide{number}.xml")).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A document that uses most of the CPU time allowed for it, in a build without optimisation.
fn slow() -> Vec<u8> {
    slides(b"<a/>")
}

/// Falsifies the uncompressed sizes of all entries in an archive to 100 bytes.
fn with_lying_sizes(mut archive: Vec<u8>) -> Vec<u8> {
    for (mark, at) in [(&b"PK\x03\x04"[..], 22), (b"PK\x01\x02", 24)] {
        let found: Vec<usize> = (0..archive.len() - 30).filter(|from| archive[*from..].starts_with(mark)).collect();
        found.into_iter().for_each(|from| archive[from + at..from + at + 4].copy_from_slice(&100_u32.to_le_bytes()));
    }
    archive
}

/// Stores a document, and waits until it is in the search index, which reads it in a child of its own.
async fn store(client: &Client, name: &str, content: Vec<u8>) {
    let answer = client.put(name, content).await.unwrap();
    assert!(answer.status.is_success(), "{name}: {}", answer.text());
    // With an accent on its first letter. Only the index ignores accents; names are compared with them.
    let path = format!("/api/v1/search?q={}%CC%81{}", &name[..1], &name[1..]);
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let found = client.send(reqwest::Method::GET, &path, Vec::new()).await.unwrap().json();
        if found["items"].as_array().is_some_and(|items| !items.is_empty()) {
            return;
        }
        assert!(Instant::now() < deadline, "{name} is not indexed: {found}");
        // sleep: polled, since the index follows the database by itself
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Texts on pages of documents that have a preview, and of those that do not.
const SHOWN: &str = "class=\"card flush preview\"";
const DAMAGED: &str = "is damaged";
const LARGE: &str = "is too large";
const TOO_LONG: &str = "takes too long";

const GOOD: &str = "/browse/Documents/good.docx";

async fn store_good(client: &Client) {
    let good = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../search/tests/documents/text.docx")).unwrap();
    store(client, "good.docx", good).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poison_document_costs_its_own_preview_and_nothing_else() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let (client, browser) = (server.client(&farm.token()), SignedIn::sign_in(&server, "admin").await);
    store_good(&client).await;
    let cells: String = (1..=200)
        .map(|row| {
            let cell = |column| format!("<c r=\"{}{row}\" t=\"s\"><v>0</v></c>", char::from(b'A' + column));
            format!("<row r=\"{row}\">{}</row>", (0..20).map(cell).collect::<String>())
        })
        .collect();
    let one = format!("<row r=\"1\">{}</row>", "<c r=\"A1\"><v>1</v></c>".repeat(1_500_000));
    let bomb = slides(b"<a b=\"c\"/>");
    let long = |bytes: usize| format!("<si><t>{}</t></si>", "x".repeat(bytes));
    let attributes: String = (0..500_000).map(|i| format!("a{i}=\"&lt;\" ")).collect();
    let entities: String = (1..20_000).map(|i| format!("<!ENTITY e{i} \"&e{0};&e{0};\">", i - 1)).collect();
    let poisons: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("shared.xlsx", workbook(&cells, &long(7 << 20)), &[SHOWN]),
        ("endless.xlsx", workbook(&cells, &long(12 << 20)), &[DAMAGED]),
        ("cells.xlsx", workbook(&one, ""), &[SHOWN, TOO_LONG]),
        ("lying.pptx", with_lying_sizes(bomb.clone()), &[DAMAGED, LARGE, TOO_LONG]),
        ("nested.odt", package(&[("content.xml", &package(&[("content.xml", &bomb)]))]), &[""]),
        ("bomb.pptx", bomb, &[LARGE, TOO_LONG]),
        ("deep.odt", package(&[("content.xml", &b"<text:p>".repeat(10_000))]), &[""]),
        (
            "attributes.odt",
            package(&[("content.xml", format!("<text:p {attributes}>x</text:p>").as_bytes())]),
            &[SHOWN, DAMAGED],
        ),
        (
            "entities.odt",
            package(&[("content.xml", format!("<!DOCTYPE x [{entities}]><text:p>x&e9;</text:p>").as_bytes())]),
            &[SHOWN],
        ),
        ("noise.docx", (0..60_000_u32).map(|i| (i * i % 251) as u8).collect(), &[DAMAGED]),
    ];
    browser.get(GOOD).await;
    let before = processes::memory(server.pid(), "VmHWM");
    for (name, content, expected) in poisons {
        store(&client, name, content).await;
        let begun = Instant::now();
        let path = format!("/browse/Documents/{name}");
        let page = browser.get(&path);
        tokio::pin!(page);
        let mut most = 0;
        let (status, text) = loop {
            tokio::select! {
                page = &mut page => break page,
                // sleep: a child's memory is sampled at intervals
                () = tokio::time::sleep(Duration::from_millis(20)) => {
                    let readers = processes::readers(server.pid()).into_iter();
                    let taken = readers.map(|id| processes::memory(id, "VmHWM")).max();
                    most = most.max(taken.unwrap_or(0));
                }
            }
        };
        println!("{name}: {:?}, at most {most} KiB", begun.elapsed());
        assert!(status.is_success(), "{name}: {status} {text}");
        assert!(expected.iter().any(|words| text.contains(words)), "{name}: {status} {text}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{name}: {:?}", begun.elapsed());
        assert!(most < 400 << 10, "{name}: {most} KiB");
        assert!(browser.get(GOOD).await.1.contains("Minutes of the board"), "after {name}");
        assert!(processes::readers(server.pid()).is_empty(), "{name} has left a child");
    }
    let after = processes::memory(server.pid(), "VmHWM");
    // The growth includes uploads of up to 2 MB and their responses.
    assert!(after - before < 100 << 10, "the server went from {before} to {after} KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_crashes_or_hangs_is_told_of_and_takes_no_turn_of_others() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let (client, browser) = (server.client(&farm.token()), SignedIn::sign_in(&server, "admin").await);
    let mut other = Command::new(env!("CARGO_BIN_EXE_strongroom"));
    other.args(["user", "add", "other", "--administrator", "--password-stdin", "--data"]).arg(&farm.data);
    let mut other = other.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    writeln!(other.stdin.take().unwrap(), "{PASSWORD}").unwrap();
    assert!(other.wait().unwrap().success());
    let other = SignedIn::sign_in(&server, "other").await;
    store_good(&client).await;
    store(&client, "slow.pptx", slow()).await;
    for (signal, words) in [
        (Signal::SEGV, "the document failed"),
        (Signal::ABORT, "the document failed"),
        (Signal::STOP, "takes too long"),
    ] {
        let hurt = async {
            let reader = || processes::readers(server.pid()).first().copied();
            let reader = processes::wait_for("a child", reader).await;
            processes::send(reader, signal);
            if signal == Signal::SEGV {
                // The first signal only reaches the handler that reports stack overflows; the second one kills the
                // child.
                processes::wait_for("its handler", || processes::has_no_handler(reader, signal).then_some(())).await;
                processes::send(reader, signal);
            }
            // Other requests are served while the child hangs.
            assert!(other.get(GOOD).await.1.contains("Minutes of the board"));
        };
        let ((status, page), ()) = tokio::join!(browser.get("/browse/Documents/slow.pptx"), hurt);
        assert!(status.is_success(), "{signal:?}: {status} {page}");
        assert!(page.contains(words), "{signal:?}: {status} {page}");
        assert!(browser.get(GOOD).await.1.contains("Minutes of the board"), "after {signal:?}");
        assert!(processes::readers(server.pid()).is_empty());
    }
    let (_, page) = browser.get("/browse/Documents/slow.pptx").await;
    assert!([TOO_LONG, LARGE].iter().any(|words| page.contains(words)), "{page}");
    let metrics = client.send(reqwest::Method::GET, "/metrics", Vec::new()).await.unwrap().text();
    for (result, least) in [("done", 4), ("failed", 2), ("killed", 1)] {
        let start = format!("strongroom_sandbox_total{{task=\"read\",result=\"{result}\"}} ");
        let count = metrics.lines().find_map(|line| line.strip_prefix(&start)?.parse::<u32>().ok());
        assert!(count.is_some_and(|count| count >= least), "{result}: {count:?}\n{metrics}");
    }
}

/// A child that has entered its sandbox. Before that it may not have requested to die with its parent yet.
fn confined(server: &Server) -> Option<u32> {
    let is_confined = |id: &u32| processes::status(*id, "Seccomp").as_deref() == Some("2");
    processes::readers(server.pid()).into_iter().find(is_confined)
}

#[tokio::test(flavor = "multi_thread")]
async fn children_end_with_whoever_waits_for_them() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    store(&server.client(&farm.token()), "slow.pptx", slow()).await;
    // A client that disconnects.
    let browser = SignedIn::sign_in(&server, "admin").await;
    let mut asking = TcpStream::connect(server.host()).await.unwrap();
    asking.write_all(&browser.http2("/browse/Documents/slow.pptx")).await.unwrap();
    let reader = || confined(&server);
    let child = processes::wait_for("a child", reader).await;
    processes::send(child, Signal::STOP);
    let begun = Instant::now();
    // The client resets its HTTP/2 stream. HTTP/1.1 has no such message, and there the deadline ends the child.
    asking.write_all(b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08").await.unwrap();
    processes::wait_for("its end", || (!processes::exists(child)).then_some(())).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(asking);
    // A server that is stopped, and one that is killed.
    let asking = tokio::spawn(browser.request("/browse/Documents/slow.pptx").send());
    let child = processes::wait_for("a child", reader).await;
    processes::send(child, Signal::STOP);
    let begun = Instant::now();
    assert!(server.stop().success());
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    processes::wait_for("its end", || (!processes::exists(child)).then_some(())).await;
    let _ = asking.await;
    let server = farm.start();
    let browser = SignedIn::sign_in(&server, "admin").await;
    let asking = tokio::spawn(browser.request("/browse/Documents/slow.pptx").send());
    let reader = || confined(&server);
    let child = processes::wait_for("a child", reader).await;
    processes::send(child, Signal::STOP);
    processes::send(server.pid(), Signal::KILL);
    processes::wait_for("its end", || (!processes::exists(child)).then_some(())).await;
    let _ = asking.await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_read_after_an_upgrade_has_replaced_the_program() {
    let mut farm = Farm::on(Engine::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("strongroom");
    // Copied by another process. A child started by this process meanwhile would inherit the new file open for writing,
    // and the file could then not be executed.
    let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_strongroom")).arg(&program).status();
    assert!(copied.unwrap().success());
    farm.program = program.clone();
    let server = farm.start();
    store_good(&server.client(&farm.token())).await;
    std::fs::remove_file(&program).unwrap();
    std::fs::write(&program, "another program").unwrap();
    let browser = SignedIn::sign_in(&server, "admin").await;
    assert!(browser.get(GOOD).await.1.contains("Minutes of the board"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_reads_has_only_what_it_needs() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let browser = SignedIn::sign_in(&server, "admin").await;
    store(&server.client(&farm.token()), "slow.pptx", slow()).await;
    let asking = tokio::spawn(browser.request("/browse/Documents/slow.pptx").send());
    // The child enters its sandbox before it reads a byte; the costly work comes afterwards.
    let reader = || {
        let reader = processes::readers(server.pid()).first().copied()?;
        (processes::status(reader, "Seccomp")? == "2").then_some(reader)
    };
    let reader = processes::wait_for("a child that is confined", reader).await;
    let status = |figure: &str| processes::status(reader, figure).unwrap_or_default();
    assert_eq!((status("NoNewPrivs").as_str(), status("Threads").as_str()), ("1", "1"));
    let limits = std::fs::read_to_string(format!("/proc/{reader}/limits")).unwrap();
    for (name, most) in [
        ("Max data size", 512 << 20),
        ("Max cpu time", 60),
        ("Max file size", 0),
        ("Max processes", 0),
        ("Max open files", 4),
        ("Max core file size", 0),
    ] {
        let line =
            limits.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {limits}"));
        let hard: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap_or(u64::MAX);
        assert!(hard <= most, "{name} is {hard}: {limits}");
    }
    let open = std::fs::read_dir(format!("/proc/{reader}/fd")).map_or(0, Iterator::count);
    assert!(open <= 4, "{open} files are open");
    processes::send(reader, Signal::KILL);
    assert!(asking.await.unwrap().unwrap().status().is_success());
}

//! Streams to and from clients that stop reading or sending, ranges of all kinds, tables, copies and backups of all
//! sizes. Tests that take too long for each run need `RIG_LONG_STREAMS=1`: archives of more than 4 GB, and streams of 3
//! GB.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

use ::bytes::Bytes;
use blobs::testing::s3::S3Server;
use database::Engine;
use http_body_util::BodyExt;

use crate::streams::{SIZES, id, same, summed, unpacked, with_documents};
use crate::support::backups::Place;
use crate::support::wire::{Http, Pace, RawClient, read_body};
use crate::support::{Farm, bytes};

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_stop_for_long_get_everything() {
    let (farm, server, all) = with_documents().await;
    let token = farm.token_named("wire");
    let long = &all["20000000.bin"];
    for http in [Http::One, Http::Two] {
        let wire = RawClient::with_token(&server, http, &token).with_small_buffer();
        let browser = RawClient::signed_in(&server, http).await.with_small_buffer();
        let (document, folder) = (id(&wire, "Documents/sizes/20000000.bin").await, id(&wire, "Documents/sizes").await);
        for (client, path) in [
            (&wire, "/api/v1/content/Documents/sizes/20000000.bin".to_owned()),
            (&wire, "/dav/Documents/sizes/20000000.bin".to_owned()),
            (&browser, format!("/download/{document}/20000000.bin")),
        ] {
            let answer = client.send("GET", &path, &[], RawClient::nothing()).await;
            same(&read_body(answer, Pace::Stopping).await, long, &format!("{path} {http:?}"));
        }
        let path = format!("/api/v1/archive?ids={folder}");
        let found =
            unpacked(&read_body(wire.send("GET", &path, &[], RawClient::nothing()).await, Pace::Stopping).await);
        for (name, content) in &all {
            same(&found[&format!("sizes/{name}")], content, &format!("{name} {http:?}"));
        }
    }
    assert!(!server.output().contains("a response was aborted"), "{}", server.output());
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_are_whole_in_every_way() {
    let (farm, server, all) = with_documents().await;
    let name = "1500000.bin";
    let content = &all[name];
    for http in [Http::One, Http::Two] {
        let wire = RawClient::with_token(&server, http, &farm.token_named(&format!("{http:?}")));
        let browser = RawClient::signed_in(&server, http).await;
        let document = id(&wire, &format!("Documents/sizes/{name}")).await;
        for (client, path) in
            [(&wire, format!("/dav/Documents/sizes/{name}")), (&browser, format!("/download/{document}/{name}"))]
        {
            for edge in SIZES.into_iter().filter(|edge| *edge > 1 && *edge < content.len()) {
                for (from, to) in [(edge - 1, edge), (edge, content.len() - 1), (0, edge)] {
                    let range = format!("bytes={from}-{to}");
                    let answer = client.send("GET", &path, &[("range", &range)], RawClient::nothing()).await;
                    assert_eq!(answer.status().as_u16(), 206, "{path} {range}");
                    same(&read_body(answer, Pace::Fast).await, &content[from..=to], &format!("{path} {range}"));
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_that_are_cut_leave_nothing_and_those_of_tus_go_on() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let content = Bytes::from(bytes(5, 3_000_000));
    for http in [Http::One, Http::Two] {
        let wire = RawClient::with_token(&server, http, &token);
        let browser = RawClient::signed_in(&server, http).await;
        let library = id(&wire, "Documents").await;
        wire.send_and_disconnect("/dav/Documents/cut.bin", 700_000).await;
        let form = format!(
            "--cut\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n{}\r\n--cut\r\n\
             Content-Disposition: form-data; name=\"file\"; filename=\"cut.bin\"\r\n\r\n",
            browser.form_token().await
        );
        let begin = Bytes::from([form.as_bytes(), &content[..700_000]].concat());
        let kind = ("content-type", "multipart/form-data; boundary=cut");
        browser.cut_after("POST", &format!("/items/{library}/upload"), &[kind], begin).await;
        let gone = wire.send("GET", "/api/v1/content/Documents/cut.bin", &[], RawClient::nothing()).await;
        assert_eq!(gone.status().as_u16(), 404, "half a body is no document, {http:?}");

        let (version, length) = (("tus-resumable", "1.0.0"), content.len().to_string());
        // Base64 of `Documents/big.bin` and of `replace`.
        let said = ("upload-metadata", "path RG9jdW1lbnRzL2JpZy5iaW4=,on_conflict cmVwbGFjZQ==");
        let fields = [version, ("upload-length", length.as_str()), said];
        let begun = wire.send("POST", "/api/v1/uploads", &fields, RawClient::nothing()).await;
        let path = begun.headers()["location"].to_str().unwrap().to_owned();
        let kind = ("content-type", "application/offset+octet-stream");
        let (mut at, mut rounds) = (0, 0);
        while at < content.len() {
            let offset = at.to_string();
            let fields = [version, kind, ("upload-offset", offset.as_str())];
            if rounds < 3 {
                let end = content.len().min(at + 500_001);
                wire.cut_after("PATCH", &path, &fields, content.slice(at..end)).await;
            } else {
                let body = RawClient::pieces(content.slice(at..), 90_000, Pace::Slow);
                assert_eq!(wire.send("PATCH", &path, &fields, body).await.status().as_u16(), 204);
            }
            rounds += 1;
            if at + 1 >= content.len() || rounds > 3 {
                break;
            }
            // The server may still be processing data that arrived before the connection ended.
            let (mut asked, deadline) = (at, Instant::now() + std::time::Duration::from_secs(60));
            while asked == at {
                let answer = wire.send("HEAD", &path, &[version], RawClient::nothing()).await;
                if answer.status().as_u16() == 200 {
                    asked = answer.headers()["upload-offset"].to_str().unwrap().parse().unwrap();
                }
                assert!(Instant::now() < deadline, "nothing of what came is kept");
                // sleep: polled, since an upload progresses without a notification
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            at = asked;
        }
        same(&wire.get("/api/v1/content/Documents/big.bin").await, &content, &format!("tus, {http:?}"));
    }
    farm.check_blobs();
}

/// Decompresses bytes with `gzip`.
fn unzipped(packed: Vec<u8>) -> Vec<u8> {
    let mut gzip = Command::new("gzip").arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = gzip.stdin.take().unwrap();
    let feeding = std::thread::spawn(move || input.write_all(&packed).unwrap());
    let output = gzip.wait_with_output().unwrap();
    feeding.join().unwrap();
    assert!(output.status.success(), "what came compressed has no end");
    output.stdout
}

async fn answer_of(client: &RawClient, path: &str, fields: &[(&str, &str)], pace: Pace) -> Vec<u8> {
    let answer = client.send("GET", path, fields, RawClient::nothing()).await;
    assert_eq!(answer.status().as_u16(), 200, "{path}");
    let is_packed = answer.headers().get("content-encoding").is_some_and(|coding| coding == "gzip");
    assert_eq!(is_packed, !fields.is_empty(), "{path}");
    let bytes = read_body(answer, pace).await;
    if is_packed { unzipped(bytes) } else { bytes }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_many_events_is_whole_compressed_or_not_for_clients_that_stop() {
    const EVENTS: usize = 1_600;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let load = (0..8).map(|worker| {
        let client = client.clone();
        tokio::spawn(async move {
            for number in 0..EVENTS / 8 {
                let answer = client.put(&format!("w{worker}/n{number}.txt"), b"text".to_vec()).await.unwrap();
                assert_eq!(answer.status.as_u16(), 201, "{}", answer.text());
            }
        })
    });
    for load in load.collect::<Vec<_>>() {
        load.await.unwrap();
    }
    let item = client.send(reqwest::Method::GET, "/api/v1/items/by-path?path=Documents", Vec::new()).await.unwrap();
    let collection = item.json()["site_collection"].as_str().unwrap().to_owned();
    for http in [Http::One, Http::Two] {
        let browser = RawClient::signed_in(&server, http).await.with_small_buffer();
        let path = format!("/audit/{collection}/export");
        let plain = answer_of(&browser, &path, &[], Pace::Fast).await;
        let text = String::from_utf8(plain.clone()).unwrap();
        assert!(text.ends_with("\r\n"), "the last line is whole");
        for (worker, number) in [(0, 0), (3, 100), (7, EVENTS / 8 - 1)] {
            assert!(text.contains(&format!("/w{worker}/n{number}.txt")), "w{worker}/n{number} is not told of");
        }
        let lines = text.lines().filter(|line| line.contains(".txt")).count();
        assert!(lines >= EVENTS, "{lines} lines");
        for (fields, pace) in [
            (&[][..], Pace::Slow),
            (&[("accept-encoding", "gzip")], Pace::Fast),
            (&[("accept-encoding", "gzip")], Pace::Slow),
        ] {
            same(&answer_of(&browser, &path, fields, pace).await, &plain, &format!("{fields:?} {pace:?} {http:?}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_of_the_pages_are_whole_for_browsers_that_take_gzip() {
    let (_farm, server, all) = with_documents().await;
    for http in [Http::One, Http::Two] {
        let browser = RawClient::signed_in(&server, http).await;
        let folder = id(&browser, "Documents/sizes").await;
        let form = format!("form_token={}&ids={folder}", browser.form_token().await);
        let fields = [("content-type", "application/x-www-form-urlencoded"), ("accept-encoding", "gzip, deflate, br")];
        let answer = browser.send("POST", "/selection/archive", &fields, RawClient::bytes(form)).await;
        let is_packed = answer.headers().contains_key("content-encoding");
        let bytes = read_body(answer, Pace::Slow).await;
        let found = unpacked(&if is_packed { unzipped(bytes) } else { bytes });
        for (name, content) in &all {
            same(&found[&format!("sizes/{name}")], content, &format!("{name} {http:?}"));
        }
    }
}

fn files_equal(directory: &std::path::Path, all: &BTreeMap<String, Bytes>) {
    for (name, content) in all {
        same(&std::fs::read(directory.join(name)).unwrap(), content, name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_and_backups_in_buckets_are_whole_at_every_size() {
    let (farm, server, all) = with_documents().await;
    let place = Place::new();
    let exported = farm.json(&["export", "Documents", &place.text("out")]);
    assert_eq!(exported["written"].as_u64(), Some(all.len() as u64), "{exported:#}");
    files_equal(&place.path("out/sizes"), &all);

    let s3 = S3Server::start(&place.path("service"));
    let (options, secrets) = (s3.options("backups"), s3.secrets());
    let destination = format!("s3://{}/backups", options.bucket);
    let run = |farm: &Farm, words: &[&str]| {
        let mut command = Command::new(&farm.program);
        command.args(words).arg(&destination).arg("--data").arg(&farm.data).stdin(Stdio::null());
        command.env("STRONGROOM_BACKUP_S3_ENDPOINT", options.endpoint.as_deref().unwrap_or_default());
        command.env("STRONGROOM_BACKUP_S3_KEY_ID", &secrets.key_id).env("STRONGROOM_BACKUP_S3_SECRET", &secrets.secret);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run(&farm, &["backup"]);
    run(&farm, &["backup", "verify"]);
    let copy = Farm::at(place.path("copy"));
    run(&copy, &["restore"]);
    copy.json(&["export", "Documents", &place.text("restored")]);
    files_equal(&place.path("restored/sizes"), &all);
    assert!(server.stop().success());
}

/// Returns whether tests with streams that take minutes are enabled.
fn are_long_streams_wanted() -> bool {
    std::env::var_os("RIG_LONG_STREAMS").is_some()
}

/// Uploads a document of this many mebibytes, all with the same bytes, in parts by tus.
async fn long_by_tus(wire: &RawClient, piece: &Bytes, mebibytes: u64) {
    let (version, length) = (("tus-resumable", "1.0.0"), (mebibytes << 20).to_string());
    // Base64 of `Documents/long.bin`.
    let said = ("upload-metadata", "path RG9jdW1lbnRzL2xvbmcuYmlu");
    let begun =
        wire.send("POST", "/api/v1/uploads", &[version, ("upload-length", &length), said], RawClient::nothing()).await;
    assert_eq!(begun.status().as_u16(), 201);
    let path = begun.headers()["location"].to_str().unwrap().to_owned();
    for begin in (0..mebibytes).step_by(1024) {
        let count = (mebibytes - begin).min(1024);
        let offset = (begin << 20).to_string();
        let kind = ("content-type", "application/offset+octet-stream");
        let fields = [version, kind, ("upload-offset", offset.as_str())];
        let answer = wire.send("PATCH", &path, &fields, RawClient::repeated(piece.clone(), count)).await;
        assert_eq!(answer.status().as_u16(), 204);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_gigabytes_pass_by_tus_in_ranges_and_to_a_slow_client() {
    if !are_long_streams_wanted() {
        return;
    }
    const MEBIBYTES: u64 = 3 << 10;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let piece = Bytes::from(bytes(3, 1 << 20));
    let sum_of = |first: u64| {
        let mut sum = crc32fast::Hasher::new();
        (first..MEBIBYTES).for_each(|_| sum.update(&piece));
        sum.finalize()
    };
    let (one, two) = (
        RawClient::with_token(&server, Http::One, &farm.token()),
        RawClient::with_token(&server, Http::Two, &farm.token_named("2")),
    );
    let begun = Instant::now();
    long_by_tus(&one, &piece, MEBIBYTES).await;
    println!("3 GB by tus: {:?}", begun.elapsed());
    let begun = Instant::now();
    let range = format!("bytes={}-", 1 << 20);
    let answer = two.send("GET", "/dav/Documents/long.bin", &[("range", &range)], RawClient::nothing()).await;
    assert_eq!(answer.status().as_u16(), 206);
    let (found, length, _) = summed(answer, 0, MEBIBYTES << 20).await;
    assert_eq!((found, length), (sum_of(1), (MEBIBYTES - 1) << 20));
    println!("3 GB as a range: {:?}", begun.elapsed());
    let begun = Instant::now();
    let mut body = one
        .with_small_buffer()
        .send("GET", "/api/v1/content/Documents/long.bin", &[], RawClient::nothing())
        .await
        .into_body();
    let (mut sum, mut taken, mut next_stop) = (crc32fast::Hasher::new(), 0_u64, 1 << 20);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.unwrap().into_data() else { continue };
        sum.update(&data);
        taken += data.len() as u64;
        if taken >= next_stop {
            next_stop += 256 << 20;
            // sleep: this client stops reading until the server can send no more
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        }
    }
    assert_eq!((sum.finalize(), taken), (sum_of(0), MEBIBYTES << 20));
    println!("3 GB to a slow client: {:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_with_more_than_four_gigabytes_is_one_that_others_read() {
    if !are_long_streams_wanted() {
        return;
    }
    const MEBIBYTES: u64 = 4_200;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let wire = RawClient::with_token(&server, Http::One, &farm.token());
    let begun = Instant::now();
    let body = RawClient::repeated(Bytes::from(vec![0; 1 << 20]), MEBIBYTES);
    let stored = wire.send("PUT", "/api/v1/content/Documents/all/zeros.bin", &[], body).await;
    assert_eq!(stored.status().as_u16(), 201);
    let small = wire.send("PUT", "/api/v1/content/Documents/all/z.txt", &[], RawClient::bytes("behind it")).await;
    assert_eq!(small.status().as_u16(), 201);
    println!("4.1 GB stored: {:?}", begun.elapsed());
    let begun = Instant::now();
    let path = format!("/api/v1/archive?ids={}", id(&wire, "Documents/all").await);
    let scratch = tempfile::tempdir().unwrap();
    let archive = scratch.path().join("all.zip");
    let mut file = std::fs::File::create(&archive).unwrap();
    let mut body = wire.send("GET", &path, &[], RawClient::nothing()).await.into_body();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.unwrap().into_data() {
            file.write_all(&data).unwrap();
        }
    }
    println!("the archive taken: {:?}", begun.elapsed());
    let script = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\n\
                  print(sorted((i.filename, i.file_size) for i in z.infolist() if not i.is_dir()), \
                  z.read('all/z.txt'))";
    let read = Command::new("python3").args(["-c", script]).arg(&archive).output().unwrap();
    let said = String::from_utf8_lossy(&read.stdout).into_owned() + &String::from_utf8_lossy(&read.stderr);
    let expected = format!("[('all/z.txt', 9), ('all/zeros.bin', {})] b'behind it'\n", MEBIBYTES << 20);
    assert_eq!(said, expected);
}

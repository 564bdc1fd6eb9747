//! Reads that fail, one at a time, in all that the program keeps: its databases, key, stores and backups. A process
//! never panics, hangs or takes a failed read for a missing file. It completes, or ends with an error that names what
//! could not be read. Afterwards all data is intact.
//!
//! The n-th call of each thread fails, with n growing in increasing steps; `RIG_READ_STEP=1` tries every n.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reqwest::{Method, StatusCode};

use crate::support::backups::{Place, compare, document, fill};
use crate::support::wire::{Http, RawClient};
use crate::support::{Farm, Injector, bytes, files_below};

/// System calls that read files.
const CALLS: &str = "openat,read,pread64,preadv2";
/// Number of documents in the farm.
const COUNT: usize = 12;
/// Half the size of the unfinished upload, in bytes.
const HALF: u64 = 300_000;

/// A stopped farm with documents of all sizes, a half-finished upload, two stores and a backup.
struct Template {
    place: Place,
    token: String,
    /// Path of the unfinished upload, of which half has arrived.
    upload: String,
}

/// A copy of a [`Template`].
struct Copy {
    place: Place,
    farm: Farm,
}

impl Template {
    async fn make() -> Self {
        let place = Place::new();
        let farm = Farm::at(place.path("farm"));
        let server = farm.start();
        let token = farm.token();
        let client = server.client(&token);
        fill(&client, "kept", COUNT).await;
        let upload = begin_upload(&RawClient::with_token(&server, Http::One, &token)).await;
        farm.json(&["blobs", "stores", "add", "second", "--kind", "directory", "--path", "second"]);
        farm.json(&["backup", &place.text("backups")]);
        assert!(server.stop().success());
        Self { place, token, upload }
    }

    fn copy(&self) -> Copy {
        let place = Place::new();
        for part in ["farm", "backups"] {
            let mut command = Command::new("cp");
            let done = command.args(["-a", "--reflink=auto"]).arg(self.place.path(part)).arg(place.path(part)).status();
            assert!(done.unwrap().success());
        }
        let farm = Farm::at(place.path("farm"));
        Copy { place, farm }
    }
}

impl Copy {
    /// Makes the n-th read of each thread fail in all following commands.
    fn fail(&mut self, error: &str, nth: usize) {
        let (trace, inject) = (format!("trace={CALLS}"), format!("inject={CALLS}:error={error}:when={nth}"));
        let words = ["strace", "-D", "-f", "-qq", "-e", "signal=none", "-e", &trace, "-e", &inject, "-o"];
        self.farm.command_prefix = words.map(str::to_owned).into();
        self.farm.command_prefix.push(self.log().display().to_string());
        let mut paths = files_below(&self.place.path("farm"));
        paths.extend(files_below(&self.place.path("backups")));
        // The WAL and shared-memory files of the databases may not exist yet.
        let databases = ["configuration.sqlite", "databases/main.sqlite"].map(|name| self.farm.data.join(name));
        let beside = |path: &PathBuf| ["-wal", "-shm"].map(|end| PathBuf::from(format!("{}{end}", path.display())));
        paths.extend(databases.iter().flat_map(beside));
        paths.sort();
        paths.dedup();
        self.farm.command_prefix.extend(paths.iter().flat_map(|path| ["-P".to_owned(), path.display().to_string()]));
    }

    fn log(&self) -> PathBuf {
        self.place.path("strace")
    }

    /// Ends the fault injection. Returns the calls that failed.
    fn heal(&mut self) -> Vec<String> {
        self.farm.command_prefix.clear();
        let text = std::fs::read_to_string(self.log()).unwrap();
        text.lines().filter(|line| line.contains("(INJECTED)")).map(str::to_owned).collect()
    }

    /// Runs a command. Returns whether it succeeded, and all its output.
    fn run(&self, words: &[&str]) -> (bool, String) {
        let mut line = self.farm.command_prefix.iter();
        let mut command = Command::new("timeout");
        // More time than anything here takes on a slow machine. A command that hangs fails.
        command.arg("240").args(&mut line).arg(&self.farm.program).args(words).arg("--data").arg(&self.farm.data);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let code = output.status.code();
        assert!(matches!(code, Some(0..=2)), "{words:?} ended with {code:?}: {said}");
        assert!(!said.contains("panicked"), "{words:?} ended with {code:?}: {said}");
        (code == Some(0), said)
    }

    /// Checks that all documents and the upload are intact and that `strongroom blobs check` finds no fault.
    async fn is_whole(&self, template: &Template) {
        // A read that failed may have been recorded as damage, which a check takes back.
        self.farm.check_blobs();
        let server = self.farm.start();
        compare(&server.client(&template.token), "kept", COUNT).await;
        let wire = RawClient::with_token(&server, Http::One, &template.token);
        assert_eq!(upload_at(&wire, &template.upload).await, (200, Some(HALF)));
        assert!(server.stop().success());
    }
}

/// Starts a resumable upload and sends half of it. Returns its path.
async fn begin_upload(wire: &RawClient) -> String {
    let (version, length) = (("tus-resumable", "1.0.0"), (2 * HALF).to_string());
    // Base64 of `Documents/half.bin`.
    let said = ("upload-metadata", "path RG9jdW1lbnRzL2hhbGYuYmlu");
    let kind = ("content-type", "application/offset+octet-stream");
    let fields = [version, ("upload-length", length.as_str()), said, kind];
    let begun = wire.send("POST", "/api/v1/uploads", &fields, RawClient::bytes(bytes(1, HALF as usize))).await;
    assert_eq!(begun.status().as_u16(), 201);
    begun.headers()["location"].to_str().unwrap().to_owned()
}

/// Queries an upload. Returns the status of the response and the offset.
async fn upload_at(wire: &RawClient, path: &str) -> (u16, Option<u64>) {
    let answer = wire.send("HEAD", path, &[("tus-resumable", "1.0.0")], RawClient::nothing()).await;
    let offset = answer.headers().get("upload-offset").map(|offset| offset.to_str().unwrap().parse().unwrap());
    (answer.status().as_u16(), offset)
}

/// Returns whether an error names what could not be read: a file, a document, a BLOB or a database.
fn names_something(said: &str, place: &Path) -> bool {
    said.contains(place.to_str().unwrap()) || ["kept/", "BLOB ", "database"].iter().any(|word| said.contains(word))
}

/// Runs a command on copies of a farm, and lets each of its reads fail in turn.
async fn fail_each_of(
    error: &str,
    template: &Template,
    words: impl Fn(&Copy) -> Vec<String>,
    after: impl AsyncFn(&Copy, bool, &str),
) {
    let step: usize = std::env::var("RIG_READ_STEP").map_or(0, |step| step.parse().unwrap());
    let (mut nth, mut fired) = (0, 0);
    loop {
        nth += if step > 0 { step } else { 1 + nth };
        let mut copy = template.copy();
        let line = words(&copy);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        copy.fail(error, nth);
        let (done, said) = copy.run(&line);
        let failed = copy.heal();
        if failed.is_empty() {
            break;
        }
        fired += failed.len();
        let context = format!("{line:?} with {error} at {nth}:\n{}\n{said}", failed.join("\n"));
        println!("done: {done}, {context}");
        assert!(done || names_something(&said, &copy.place.path("")), "{context}");
        for wrong in [
            "no farm",
            "is not there",
            "is missing: check",
            "does not exist: create",
            "is missing from",
            "a database is damaged",
            "is not a database",
        ] {
            assert!(!said.contains(wrong), "a failed read is taken for absence or damage: {context}");
        }
        after(&copy, done, &context).await;
    }
    assert!(fired > 3, "{fired} calls failed: the test does not test");
}

/// Like [`fail_each_of`], for a command that leaves the farm intact whether it succeeds or not.
async fn fail_each(error: &str, words: impl Fn(&Copy) -> Vec<String>, after: impl AsyncFn(&Copy, bool, &str)) {
    let template = Template::make().await;
    fail_each_of(error, &template, words, async |copy, done, context| {
        copy.is_whole(&template).await;
        after(copy, done, context).await;
    })
    .await;
}

fn line(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_is_whole_or_says_what_it_could_not_read() {
    fail_each("EIO", |_| line(&["blobs", "check"]), async |_, _, _| ()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_whole_or_says_that_it_is_not() {
    let words = |copy: &Copy| line(&["backup", &copy.place.text("backups")]);
    fail_each("EIO", words, async |copy, done, context| {
        let sets = copy.farm.json(&["backup", "list", &copy.place.text("backups")]);
        let kept = sets["sets"].as_array().unwrap().len();
        assert!(kept == 2 || !done, "a backup is told of that is not there: {context}");
        copy.farm.json(&["backup", "verify", &copy.place.text("backups"), "--drill"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verification_and_a_drill_are_whole_or_say_what_they_could_not_read() {
    for error in ["EIO", "EBADMSG"] {
        let words = |copy: &Copy| line(&["backup", "verify", &copy.place.text("backups"), "--drill"]);
        fail_each(error, words, async |copy, _, _| {
            copy.farm.json(&["backup", "verify", &copy.place.text("backups"), "--drill"]);
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restoration_is_whole_or_ends_and_succeeds_the_next_time() {
    let words = |copy: &Copy| line(&["restore", &copy.place.text("backups"), "--force"]);
    let template = Template::make().await;
    fail_each_of("EIO", &template, words, async |copy, done, context| {
        if !done {
            let (again, said) = copy.run(&["restore", &copy.place.text("backups"), "--force"]);
            assert!(again, "{said}\nafter {context}");
        }
        copy.farm.check_blobs();
        let server = copy.farm.start();
        compare(&server.client(&template.token), "kept", COUNT).await;
        assert!(server.stop().success());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_loses_nothing() {
    let words = |_: &Copy| line(&["blobs", "migrate", "--from", "files", "--to", "second"]);
    fail_each("EBADMSG", words, async |copy, _, context| {
        let (again, said) = copy.run(&["blobs", "migrate", "--from", "files", "--to", "second"]);
        assert!(again, "{said}\nafter {context}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_loses_nothing() {
    let words = |copy: &Copy| {
        copy.farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "second"]);
        line(&["blobs", "stores", "drain", "files"])
    };
    fail_each("EIO", words, async |copy, _, context| {
        let (again, said) = copy.run(&["blobs", "stores", "drain", "files"]);
        assert!(again, "{said}\nafter {context}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_loses_nothing() {
    let words = |copy: &Copy| line(&["blobs", "repair", "--from-backup", &copy.place.text("backups")]);
    fail_each("EIO", words, async |_, _, _| ()).await;
}

/// An upload is not a read. If the uploaded bytes are in a file that the disk cannot return, the client is asked to
/// retry.
#[tokio::test(flavor = "multi_thread")]
async fn an_upload_of_what_cannot_be_read_is_taken_or_refused_for_now() {
    let template = Template::make().await;
    let copy = template.copy();
    let server = copy.farm.start();
    let client = server.client(&template.token);
    let large = files_below(&copy.farm.data.join("blobs/large"));
    assert!(!large.is_empty());
    let injector = Injector::attach(&server, "openat", "EIO", "1+", &large, &copy.log());
    let mut refused = 0;
    for number in 0..COUNT {
        let answer = client.put(&format!("kept/{number}.bin"), document("kept", number)).await.unwrap();
        let told = answer.status == StatusCode::SERVICE_UNAVAILABLE && answer.text().contains("store_unreadable");
        assert!(answer.status.is_success() || told, "{number}: {} {}", answer.status, answer.text());
        refused += usize::from(told);
    }
    assert!(!injector.detach().is_empty(), "{refused} were refused");
    assert!(refused > 0, "{refused} were refused");
    compare(&client, "kept", COUNT).await;
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_serves_right_bytes_or_says_what_fails_and_makes_no_farm_anew() {
    let template = Template::make().await;
    for error in ["EIO", "EBADMSG"] {
        let (mut nth, mut fired) = (0, 0);
        loop {
            nth = 2 * nth + 1;
            let mut copy = template.copy();
            copy.fail(error, nth);
            // A server whose disk fails is not ready for a minute, but it answers.
            match copy.farm.start_listening() {
                Ok(server) => {
                    let client = server.client(&template.token);
                    for number in 0..COUNT {
                        let (path, content) = (format!("kept/{number}.bin"), document("kept", number));
                        for method in [Method::GET, Method::PUT] {
                            let body = if method == Method::PUT { content.clone() } else { Vec::new() };
                            let address = format!("/api/v1/content/Documents/{path}");
                            // A response may break off in the middle. A complete response is right, or reports the
                            // error.
                            let Ok(answer) = client.send(method.clone(), &address, body).await else { continue };
                            let right = answer.status.is_success() && (method == Method::PUT || answer.body == content);
                            let told =
                                answer.status == StatusCode::SERVICE_UNAVAILABLE && answer.text().contains("code");
                            assert!(
                                right || told,
                                "{method} {path}, {error} at {nth}: {} {}\n{}",
                                answer.status,
                                answer.text(),
                                server.output()
                            );
                        }
                    }
                    let wire = RawClient::with_token(&server, Http::One, &template.token);
                    let upload = upload_at(&wire, &template.upload).await;
                    assert!(upload == (200, Some(HALF)) || upload == (503, None), "{error} at {nth}: {upload:?}");
                    assert!(!server.output().contains("panicked"), "{}", server.output());
                    assert!(server.stop().success());
                }
                Err(refusal) => {
                    assert_eq!(refusal.status.code(), Some(2), "{error} at {nth}: {}", refusal.output);
                    let named = names_something(&refusal.output, &copy.place.path(""));
                    assert!(named, "{error} at {nth}: {}", refusal.output);
                    assert!(!refusal.output.contains("panicked"), "{error} at {nth}: {}", refusal.output);
                }
            }
            let failed = copy.heal();
            println!("{error} at {nth}: {}", failed.join("\n"));
            copy.is_whole(&template).await;
            fired += failed.len();
            if failed.is_empty() {
                break;
            }
        }
        assert!(fired > 3, "{fired} calls failed: the test does not test");
    }
}

//! Compares whole answers of commands with the files in `snapshots/`. A word in brackets replaces what differs from
//! run to run. `INSTA_UPDATE=always` writes the files anew.

use std::process::Command;

use database::Engine;

use crate::support::backups::filled;

/// Compares what a command wrote with its snapshot.
fn assert_written(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    for (varying, word) in [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "[id]"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?", "[time]"),
        (r"/\S*/\.tmp\w+", "[directory]"),
        (r"[0-9.]+ [KMGT]?i?B\b", "[size]"),
        (r"\b\d{17,20}\b", "[id]"),
        (r"in [0-9.]+ s\b", "in [seconds] s"),
        (r"\d+ objects", "[count] objects"),
        // The width of a column depends on what stands in it.
        (r" {2,}", "  "),
    ] {
        settings.add_filter(varying, word);
    }
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// The help of a command. What it takes from the environment is left out.
fn help(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
    let output = command.args(words).arg("--help").env("COLUMNS", "100").output().unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_help_of_the_commands_is_as_before() {
    for words in [&[][..], &["serve"], &["blobs"], &["blobs", "migrate"], &["backup"], &["restore"], &["lab", "run"]] {
        assert_written(&format!("help-{}", words.join("-")), &help(words));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_read_as_before() {
    let (farm, _server, _client) = filled(Engine::Sqlite, 6).await;
    let backups = tempfile::tempdir().unwrap();
    let place = backups.path().to_str().unwrap();
    assert_written("stores", &farm.run(&["blobs", "stores", "list"]).unwrap());
    assert_written("policies", &farm.run(&["blobs", "policy", "show"]).unwrap());
    assert_written("check", &farm.run(&["blobs", "check"]).unwrap());
    assert_written("backup", &farm.run(&["backup", place]).unwrap());
    assert_written("sets", &farm.run(&["backup", "list", place]).unwrap());
    assert_written("verified", &farm.run(&["backup", "verify", place]).unwrap());
    assert_written("unknown-store", &farm.run(&["blobs", "stores", "remove", "none"]).unwrap_err().output);
}

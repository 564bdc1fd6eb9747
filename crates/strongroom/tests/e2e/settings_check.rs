//! Settings are checked before anything is created. Errors name the file, and no farm or directory is left behind.

use std::path::Path;
use std::process::Command;

use database::Engine;

use crate::support::Farm;
use crate::support::backups::{Place, filled};

/// Runs the server with these arguments on a data directory that does not exist. Returns the error output of the
/// refusal.
fn refused(data: &Path, words: &[&str]) -> String {
    // A server that starts anyway is ended by `timeout`, with a different exit status.
    let mut command = Command::new("timeout");
    command.args(["60", env!("CARGO_BIN_EXE_strongroom"), "serve", "--listen", "127.0.0.1:0"]).args(words);
    let ended = command.arg("--data").arg(data).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(2), "{words:?}: {said}");
    assert!(ended.stdout.is_empty(), "{words:?}: {}", String::from_utf8_lossy(&ended.stdout));
    assert!(!data.exists(), "{words:?} made {}", data.display());
    said
}

#[test]
fn a_data_directory_that_is_a_file_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("farm.tar");
    std::fs::write(&file, "kept").unwrap();
    let said = format!("{} is a file, not a directory: give --data a directory", file.display());
    let commands: [&[&str]; 8] = [
        &["serve", "--listen", "127.0.0.1:0"],
        &["blobs", "status"],
        &["user", "add", "anna"],
        &["jobs", "list"],
        &["site", "list"],
        &["backup", "/nowhere/backups"],
        &["restore", "/nowhere/backups"],
        &["restore", "/nowhere/backups", "--content-database", "main"],
    ];
    for data in [file.clone(), file.join("below")] {
        for words in commands {
            let refusal = Farm::at(&data).run(words).unwrap_err();
            assert_eq!(refusal.status.code(), Some(2), "{words:?}: {}", refusal.output);
            assert!(refusal.output.contains(&said), "{words:?}: {}", refusal.output);
            assert!(!refusal.output.contains("os error"), "{words:?}: {}", refusal.output);
        }
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"kept");
}

/// Creates a key and a self-signed certificate for `name`.
fn certificate(directory: &Path, name: &str) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"])
        .args(["-subj", &format!("/CN={name}"), "-keyout", &format!("{name}.key"), "-out", &format!("{name}.crt")])
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn tls_files_that_cannot_be_used_are_refused_before_anything_is_made() {
    let scratch = tempfile::tempdir().unwrap();
    let place = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    certificate(scratch.path(), "one");
    certificate(scratch.path(), "two");
    std::fs::write(place("text"), "no certificate and no key\n").unwrap();
    std::fs::write(place("torn"), "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n").unwrap();
    std::fs::write(
        place("locked"),
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    )
    .unwrap();
    let older = Command::new("openssl")
        .args(["genrsa", "-traditional", "-aes128", "-passout", "pass:secret", "-out", &place("older"), "2048"])
        .output()
        .unwrap();
    assert!(older.status.success(), "{}", String::from_utf8_lossy(&older.stderr));
    assert!(std::fs::read_to_string(place("older")).unwrap().contains("Proc-Type: 4,ENCRYPTED"));
    let cases = [
        ("nowhere", "one.key", "the certificate ", "nowhere", "cannot be read: No such file"),
        ("one.crt", "nowhere", "the private key ", "nowhere", "cannot be read: No such file"),
        ("text", "one.key", "no certificate in PEM form in ", "text", ": name the file that holds it"),
        ("one.crt", "text", "no private key in PEM form in ", "text", ": name the file that holds it"),
        ("one.crt", "one.crt", "no private key in PEM form in ", "one.crt", ": name the file that holds it"),
        ("torn", "one.key", "the certificate in ", "torn", "is damaged"),
        ("one.crt", "locked", "the private key in ", "locked", "is encrypted"),
        ("one.crt", "older", "the private key in ", "older", "is encrypted"),
        ("one.crt", "two.key", "the private key in ", "two.key", "does not belong to the certificate in "),
    ];
    for (certificate, key, before, file, after) in cases {
        let words = ["--tls-certificate", &place(certificate), "--tls-key", &place(key)];
        let said = refused(&scratch.path().join("data"), &words);
        assert!(said.contains(&format!("{before}{}", place(file))), "{said}");
        assert!(said.contains(after), "{said}");
    }
}

#[test]
fn settings_that_mean_nothing_are_refused_before_anything_is_made() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("settings.toml");
    for (setting, word) in [
        ("listen = 'nowhere'", "\"nowhere\" is not an address to listen on"),
        ("log_format = 'xml'", "log_format is \"xml\": write \"text\" or \"json\""),
        ("trusted_proxies = ['10.0.0']", "\"10.0.0\" in trusted_proxies"),
        ("client_address = 'guess'", "guess"),
        ("public_url = 'here'", "here"),
        ("recycle_days = 'many'", "recycle_days"),
        ("database = 'mysql://host/farm'", "mysql"),
        ("tls_key = '/nowhere'", "tls_certificate and tls_key belong together"),
    ] {
        std::fs::write(&file, setting).unwrap();
        let mut command = Command::new("timeout");
        command.args(["60", env!("CARGO_BIN_EXE_strongroom"), "serve", "--data"]).arg(scratch.path().join("data"));
        let ended = command.arg("--config").arg(&file).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{setting}: {said}");
        assert!(said.contains(word), "{setting}: {said}");
        assert!(!scratch.path().join("data").exists(), "{setting} made something");
    }
    let unknown = refused(&scratch.path().join("data"), &["--database", "mysql://host/farm"]);
    assert!(unknown.contains("mysql"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_form_of_the_log_stops_the_server_alone() {
    let place = Place::new();
    let (farm, server, _client) = filled(Engine::Sqlite, 1).await;
    assert!(server.stop().success());
    std::fs::write(farm.data.join("strongroom.toml"), "log_format = 'xml'").unwrap();
    let refusal = farm.try_start().err().expect("the server starts with a form that is unknown");
    assert!(refusal.output.contains("log_format is \"xml\""), "{}", refusal.output);
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    farm.json(&["restore", &destination, "--force"]);
    farm.check_blobs();
}

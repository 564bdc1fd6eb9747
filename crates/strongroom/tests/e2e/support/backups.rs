//! Backup destinations, documents of all sizes, and restored farms.

use std::path::{Path, PathBuf};
use std::process::Command;

use database::Engine;
use reqwest::StatusCode;
use tempfile::TempDir;

use super::{Client, Farm, Server, bytes};

/// Document sizes: in the database, in segments, and in separate files that are streamed through the codec.
pub const SIZES: &[usize] = &[0, 300, 20_000, 150_000, 700_000, 5_000_000];

/// A scratch directory for backups and farms restored from them.
pub struct Place {
    scratch: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { scratch: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}

/// Uploads documents of all sizes. Returns their number.
pub async fn fill(client: &Client, folder: &str, count: usize) -> usize {
    for number in 0..count {
        let answer = client.put(&format!("{folder}/{number}.bin"), document(folder, number)).await.unwrap();
        assert!(answer.status.is_success(), "{}", answer.text());
    }
    count
}

/// The content of a document.
pub fn document(folder: &str, number: usize) -> Vec<u8> {
    let seed = folder.bytes().fold(number as u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
    bytes(seed, SIZES[number % SIZES.len()])
}

/// Asserts that documents have the bytes that [`fill`] gave them.
pub async fn compare(client: &Client, folder: &str, count: usize) {
    for number in 0..count {
        let answer = client.get(&format!("{folder}/{number}.bin")).await.unwrap();
        assert_eq!(answer.status, StatusCode::OK, "{folder}/{number}");
        assert!(answer.body == document(folder, number), "{folder}/{number} is not what it was");
    }
}

/// A farm with some documents, its server, and a client.
pub async fn filled(engine: Engine, count: usize) -> (Farm, Server, Client) {
    let farm = Farm::on(engine).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    fill(&client, "kept", count).await;
    (farm, server, client)
}

/// Restores into a new directory, with new databases for PostgreSQL, and checks every byte of the result.
pub async fn restored(engine: Engine, place: &Place, source: &str, name: &str, words: &[&str]) -> Farm {
    let farm = Farm::at(place.path(name));
    let mut all: Vec<String> = ["restore", &place.text(source)].map(str::to_owned).into();
    if engine == Engine::Postgres {
        for database in ["main", "configuration"] {
            let url = database::testing::fresh_postgres().await;
            all.extend(["--database-url".to_owned(), format!("{database}={url}")]);
        }
    }
    all.extend(words.iter().map(|word| (*word).to_owned()));
    farm.json(&all.iter().map(String::as_str).collect::<Vec<_>>());
    farm.check_blobs();
    farm
}

/// Runs the scripts in the format descriptions on a backup set. Returns the directory with the extracted content.
pub fn by_description(place: &Place, source: &str, set: &str) -> PathBuf {
    let run = |description: &str, arguments: &[PathBuf]| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = std::fs::read_to_string(root.join("docs/formats").join(description)).unwrap();
        let script = text.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let done = Command::new("python3").args(["-c", script]).args(arguments).output().unwrap();
        assert!(done.status.success(), "{description}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let (stored, out) = (place.path(&format!("{set}-stored")), place.path(&format!("{set}-out")));
    std::fs::create_dir_all(&stored).unwrap();
    run("blob-store.md", &[place.path(source).join("data"), stored.clone()]);
    let sets = super::files_below(&place.path(source).join("sets"));
    let manifest = sets.into_iter().find(|file| file.to_str().unwrap().contains(&format!("/{set}-"))).unwrap();
    run("backup.md", &[stored, manifest, out.clone()]);
    out
}

/// Identifiers of the backups in a destination, oldest first.
pub fn sets(farm: &Farm, place: &str) -> Vec<String> {
    let listed = farm.json(&["backup", "list", place]);
    let ids = listed["sets"].as_array().unwrap().iter().map(|set| set["id"].as_str().unwrap().to_owned());
    ids.collect()
}

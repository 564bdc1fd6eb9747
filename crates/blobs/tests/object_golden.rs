//! Objects that the first version of the provider for object stores wrote stay readable for ever.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use blobs::testing::random_bytes;
use blobs::testing::s3::S3Server;
use blobs::{BlobStore, ObjectOptions, ObjectSecrets, StoreKey, digest_of};
use bytes::Bytes;
use model::{Code, ErrorKind};
use support::*;

/// The forms of the golden stores: name, compression level, whether encrypted.
const FORMS: [(&str, Option<i32>, bool); 4] =
    [("plain", None, false), ("compressed", Some(3), false), ("encrypted", None, true), ("both", Some(3), true)];

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/object-v1")
}

/// Contents: an empty BLOB, an incompressible one, a compressible one, one that looks like an envelope, and one with a
/// data object.
fn contents() -> Vec<Bytes> {
    let text = |length: usize| Bytes::from(b"Strongroom keeps what is written here. ".repeat(length / 39));
    vec![Bytes::new(), random_bytes(1, 300), text(3000), Bytes::from_static(b"SRobject, or so it seems"), text(140_000)]
}

fn key() -> StoreKey {
    StoreKey::from_bytes(std::array::from_fn(|i| i as u8))
}

async fn store(server: &S3Server, form: (&str, Option<i32>, bool), keys: Vec<StoreKey>) -> BlobStore {
    let options = ObjectOptions { compression: form.1, put_limit: 64 << 10, ..server.options(form.0) };
    let secrets = ObjectSecrets { encryption_keys: keys, ..server.secrets() };
    BlobStore::open_object(&options, &secrets, &owner()).await.unwrap()
}

/// Creates the golden stores. Run by hand when a new version of the format is introduced, never to make a test pass.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes the golden stores of a new version"]
async fn write_golden_stores() {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    for form in FORMS {
        let store = store(&server, form, if form.2 { vec![key()] } else { vec![] }).await;
        for content in contents() {
            let mut writer = store.writer(None).await.unwrap();
            writer.write(content).await.unwrap();
            writer.finish().await.unwrap();
        }
    }
    let target = PathBuf::from(std::env::var_os("BLOBS_GOLDEN").unwrap());
    for (name, ..) in FORMS {
        fs::create_dir_all(target.join(name)).unwrap();
        copy(&server.bucket().join(name), &target.join(name));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_version_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    for form in FORMS {
        fs::create_dir_all(server.bucket().join(form.0)).unwrap();
        copy(&golden().join(form.0), &server.bucket().join(form.0));
        // Neither a newer key in front nor other settings prevent reading.
        let keys = vec![StoreKey::generate().unwrap(), key()];
        let store = store(&server, (form.0, None, false), keys).await;
        for content in contents() {
            let (digest, size) = (digest_of(&content), content.len() as u64);
            assert!(get_by_digest(&store, digest, size).await.unwrap() == content[..], "{} {size}", form.0);
        }
        assert_eq!(store.enumerate(None, 100).await.unwrap().entries.len(), contents().len());
        assert!(damage(&store).await.is_empty());
        assert_eq!(store.compact(Default::default()).await.unwrap().damaged, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn encrypted_blobs_need_their_key_and_show_nothing_without_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    for (name, ..) in &FORMS[2..] {
        fs::create_dir_all(server.bucket().join(name)).unwrap();
        copy(&golden().join(name), &server.bucket().join(name));
        for keys in [vec![], vec![StoreKey::generate().unwrap()]] {
            let store = store(&server, (name, None, false), keys).await;
            for content in contents() {
                let read = get_by_digest(&store, digest_of(&content), content.len() as u64).await;
                let error = read.unwrap_err();
                assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, Code::StoreKeyMissing));
                assert!(error.message().contains(&key().identifier()), "{}", error.message());
            }
        }
        for folder in ["blobs", "data"] {
            for file in fs::read_dir(golden().join(name).join(folder)).unwrap() {
                let bytes = fs::read(file.unwrap().path()).unwrap();
                assert!(!bytes.windows(10).any(|part| part == b"Strongroom"), "plain text in {name}/{folder}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_bit_of_an_encrypted_object_can_be_turned_unnoticed() {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    let name = "both";
    fs::create_dir_all(server.bucket().join(name)).unwrap();
    copy(&golden().join(name), &server.bucket().join(name));
    let store = store(&server, (name, None, false), vec![key()]).await;
    let content = &contents()[2];
    let (digest, size) = (digest_of(content), content.len() as u64);
    let file = server.bucket().join(format!("{name}/blobs/{digest}.{size}"));
    let good = fs::read(&file).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        // An attacker that alters the header can also correct its checksum.
        let sum = crc32fast::hash(&bad[..188]);
        if at < 188 {
            bad[188..192].copy_from_slice(&sum.to_le_bytes());
        }
        fs::write(&file, &bad).unwrap();
        match get_by_digest(&store, digest, size).await {
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unavailable), "{at}: {error:?}")
            }
            // Unused bytes of the header, which were zero.
            Ok(read) => assert!(read == content[..] && (168..188).contains(&at), "byte {at}"),
        }
    }
}

#[test]
fn the_format_is_what_its_description_says() {
    let contents = contents();
    let object = |form: &str, content: &Bytes| {
        fs::read(golden().join(form).join(format!("blobs/{}.{}", digest_of(content), content.len()))).unwrap()
    };
    assert!(object("plain", &contents[1]) == contents[1][..], "a small BLOB is its own object");
    assert!(object("compressed", &contents[1]) == contents[1][..], "one that does not shrink as well");
    let escaped = object("plain", &contents[3]);
    assert_eq!((&escaped[..8], &escaped[196..]), (&b"SRobject"[..], &contents[3][..]));
    assert!(object("compressed", &contents[2]).len() < 400);
    let pointer = object("plain", &contents[4]);
    assert_eq!(pointer.len(), 192 + 3 * 4);
    let id: String = pointer[72..88].iter().map(|byte| format!("{byte:02x}")).collect();
    let data = fs::read(golden().join("plain/data").join(id)).unwrap();
    let length = contents[4].len();
    assert!(data[..length] == contents[4][..]);
    assert!(data[length..length + 12] == pointer[192..]);
    assert!(data[length + 12..] == pointer[..192]);
}

#[test]
fn the_script_in_the_description_gets_everything_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/formats/object-store.md")).unwrap();
    let script = text.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let out = tempfile::tempdir().unwrap();
    let store = golden().join("plain");
    let done = std::process::Command::new("python3").args(["-c", script]).arg(store).arg(out.path()).output();
    let done = done.expect("python3 must be installed");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for content in contents() {
        assert!(fs::read(out.path().join(digest_of(&content).to_string())).unwrap() == content[..]);
    }
}

//! The contract, tested on the provider for object stores with a real S3 server.

#![allow(clippy::unwrap_used, reason = "tests")]

use blobs::testing::s3::S3Server;
use blobs::{BlobStore, ObjectOptions, ObjectSecrets, Owner, StoreKey};
use model::Code;
use tempfile::TempDir;

/// Creates an empty store on a server of its own. The server and its directory last as long as the second value.
async fn bucket(change: impl Fn(&mut ObjectOptions, &mut ObjectSecrets)) -> (BlobStore, (S3Server, TempDir)) {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    let (mut options, mut secrets) = (server.options("store"), server.secrets());
    change(&mut options, &mut secrets);
    let store = BlobStore::open_object(&options, &secrets, &Owner::new("farm").unwrap()).await.unwrap();
    (store, (server, dir))
}

fn data_objects_only(options: &mut ObjectOptions, _: &mut ObjectSecrets) {
    options.put_limit = 64 << 10;
    options.part_bytes = 5 << 20;
    options.prefix.push_str("/deeper");
}

fn encrypted(options: &mut ObjectOptions, secrets: &mut ObjectSecrets) {
    options.put_limit = 1 << 20;
    secrets.encryption_keys = vec![StoreKey::generate().unwrap()];
}

blobs::provider_contract! {
    with_defaults => bucket(|_, _| {}),
    with_data_objects_only => bucket(data_objects_only),
    compressed => bucket(|options, _| options.compression = Some(3)),
    encrypted_before_sending => bucket(encrypted),
}

#[tokio::test(flavor = "multi_thread")]
async fn listings_of_many_pages_are_complete_and_tell_strangers_apart() {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    let store =
        BlobStore::open_object(&server.options("many"), &server.secrets(), &Owner::new("farm").unwrap()).await.unwrap();
    let folder = server.bucket().join("many/blobs");
    std::fs::create_dir_all(&folder).unwrap();
    let mut digests: Vec<_> = (0..2500u32).map(|i| blobs::digest_of(&i.to_le_bytes())).collect();
    digests.sort_unstable();
    digests.iter().for_each(|digest| std::fs::write(folder.join(format!("{digest}.0")), b"").unwrap());
    std::fs::write(folder.join("notes.txt"), b"a stranger").unwrap();
    std::fs::write(folder.join(format!("{}.00", digests[3])), b"").unwrap();
    assert_eq!(store.usage().await.unwrap().blobs, 2500);
    for limit in [999, 1000, 3000] {
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let page = store.enumerate(after, limit).await.unwrap();
            assert!(page.entries.len() <= limit);
            listed.extend(page.entries.iter().map(|entry| entry.digest));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert!(listed == digests, "{limit} at a time");
    }
    let mut verification = store.verify();
    let (mut strangers, mut damaged) = (0, 0);
    while let Some(checked) = verification.next().await {
        match checked.unwrap().digest {
            Some(_) => damaged += 1,
            None => strangers += 1,
        }
    }
    assert_eq!((strangers, damaged), (2, 2500), "none of these has its digest");
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_spoken_with_whom_the_options_trust_and_nobody_else() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
    let (certificate, dir) = (folder.join("certificate.pem"), tempfile::tempdir().unwrap());
    let server = S3Server::start_tls(dir.path(), &certificate, &folder.join("key.pem"));
    let options = ObjectOptions {
        endpoint: Some(format!("https://{}", server.address())),
        allow_http: false,
        ca_certificates: Some(std::fs::read_to_string(certificate).unwrap()),
        ..server.options("tls")
    };
    let owner = Owner::new("farm").unwrap();
    let store = BlobStore::open_object(&options, &server.secrets(), &owner).await.unwrap();
    let report = store.test().await;
    assert!(report.is_good(), "{report}");
    let stranger = ObjectOptions { ca_certificates: None, ..options.clone() };
    let error = BlobStore::open_object(&stranger, &server.secrets(), &owner).await.err().unwrap();
    assert_eq!((error.kind(), error.code()), (model::ErrorKind::Unavailable, Code::StoreCertificate), "{error:?}");
    let unreadable = ObjectOptions { ca_certificates: Some("no certificate".to_owned()), ..options };
    let error = BlobStore::open_object(&unreadable, &server.secrets(), &owner).await.err().unwrap();
    assert_eq!(error.kind(), model::ErrorKind::Invalid, "{error:?}");
}

#[test]
fn options_and_secrets_are_kept_apart_and_secrets_are_not_shown() {
    let secrets = ObjectSecrets {
        key_id: "AKIDEXAMPLE".to_owned(),
        secret: "wJalrXUtnFEMI".to_owned(),
        session_token: Some("token-of-a-session".to_owned()),
        encryption_keys: vec![StoreKey::from_bytes([7; 32])],
    };
    let shown = format!("{secrets:?}");
    assert!(shown.contains("***"));
    assert!(shown.contains(&secrets.encryption_keys[0].identifier()));
    for hidden in [&secrets.key_id, &secrets.secret, "token-of-a-session", &secrets.encryption_keys[0].to_hex()] {
        assert!(!shown.contains(hidden), "{shown}");
    }
    let kept = serde_json::to_string(&secrets).unwrap();
    assert_eq!(serde_json::from_str::<ObjectSecrets>(&kept).unwrap(), secrets);
    let options = ObjectOptions { bucket: "b".to_owned(), compression: Some(3), ..Default::default() };
    let kept = serde_json::to_string(&options).unwrap();
    assert_eq!(serde_json::from_str::<ObjectOptions>(&kept).unwrap(), options);
    let short: ObjectOptions = serde_json::from_str(r#"{"kind": "azure", "bucket": "b"}"#).unwrap();
    assert_eq!((short.kind, short.put_limit), (blobs::ObjectKind::Azure, options.put_limit));
    assert!(serde_json::from_str::<ObjectOptions>(r#"{"bucket": "b", "secret": "x"}"#).is_err());
}

#[test]
fn options_that_cannot_work_are_refused() {
    let good = ObjectOptions { bucket: "b".to_owned(), ..Default::default() };
    good.check().unwrap();
    let endpoint = |text: &str| ObjectOptions { endpoint: Some(text.to_owned()), ..good.clone() };
    let prefix = |text: &str| ObjectOptions { prefix: text.to_owned(), ..good.clone() };
    endpoint("https://s3.example:9000").check().unwrap();
    prefix("farm-1/blobs.d").check().unwrap();
    for bad in [
        ObjectOptions { bucket: String::new(), ..good.clone() },
        ObjectOptions { bucket: "a/b".to_owned(), ..good.clone() },
        endpoint("s3.example"),
        endpoint("http://s3.example"),
        endpoint("https://user:password@s3.example"),
        prefix("/a"),
        prefix("a/../b"),
        prefix("ä"),
        ObjectOptions { compression: Some(20), ..good.clone() },
        ObjectOptions { put_limit: 1 << 30, ..good.clone() },
        ObjectOptions { part_bytes: 1 << 20, ..good.clone() },
        ObjectOptions { orphan_seconds: 0, ..good.clone() },
        ObjectOptions { orphan_seconds: 24 * 3600 - 1, ..good.clone() },
    ] {
        assert_eq!(bad.check().unwrap_err().kind(), model::ErrorKind::Invalid, "{bad:?}");
    }
}

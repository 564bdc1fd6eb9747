//! Tests of importing and exporting real trees, on both engines.

#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

mod support;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use bytes::Bytes;
use maintenance::Reason;
use model::{Name, NodePath};
use repository::{Destination, Target, UploadOptions, VersionChoice};
use support::{each_farm, pipe, set_time, tree, write};

fn at(path: &str) -> Target {
    Target::path(path).unwrap()
}

/// Creates a tree with files of every size class, deep folders, empty folders, and various times.
fn sample(root: &std::path::Path) {
    write(root, "empty", b"");
    write(root, "small.txt", b"a few bytes");
    write(root, "Ordner/Größe (2).txt", "schön".as_bytes());
    write(root, "Ordner/medium.bin", &vec![7; 200_000]);
    let large: Vec<u8> = (0..5_000_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
    write(root, "Ordner/deep/er/large.bin", &large);
    write(root, "Ordner/deep/er/same.bin", &large);
    std::fs::create_dir(root.join("nothing in it")).unwrap();
    for n in 0..700 {
        write(root, &format!("many/{}/{n}.txt", n % 70), format!("file {n}").as_bytes());
    }
    set_time(&root.join("small.txt"), -86_400, 5_000);
    set_time(&root.join("Ordner/medium.bin"), 1_234_567_890, 123_456_000);
    set_time(&root.join("empty"), 0, 0);
    // Times of directories are set last, because writing into a directory changes its time.
    for (n, directory) in ["many", "nothing in it", "Ordner/deep/er", "Ordner/deep", "Ordner"].iter().enumerate() {
        set_time(&root.join(directory), 1_600_000_000 + n as i64, 1_000);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_comes_back_byte_for_byte_with_its_times_and_a_second_run_does_nothing() {
    each_farm(async |farm| {
        let (source, destination) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        sample(source.path());
        let (first, faults) = farm.import(source.path()).await;
        assert_eq!((first.created, first.replaced, first.unchanged), (706, 0, 0));
        assert_eq!((first.folders, faults), (75, BTreeMap::new()));

        let (second, _) = farm.import(source.path()).await;
        assert_eq!((second.created, second.replaced, second.unchanged, second.folders), (0, 0, 706, 0));

        let (exported, faults) = farm.export(destination.path(), false).await;
        assert_eq!((exported.written, exported.folders, faults), (706, 75, BTreeMap::new()));
        let (before, after) = (tree(source.path()), tree(destination.path()));
        let differing: Vec<_> = before.keys().filter(|path| before.get(*path) != after.get(*path)).collect();
        // Times of directories that were not set above may have more digits than the farm stores; `tree` truncates
        // them.
        assert_eq!(differing, Vec::<&std::path::PathBuf>::new());
        assert_eq!(before.len(), after.len());

        let (again, _) = farm.export(destination.path(), false).await;
        assert_eq!((again.written, again.unchanged), (0, 706));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_file_becomes_a_new_version_and_a_dry_run_changes_nothing() {
    each_farm(async |farm| {
        let source = tempfile::tempdir().unwrap();
        write(source.path(), "a/report.txt", b"first");
        write(source.path(), "a/other.txt", b"other");
        farm.import(source.path()).await;
        write(source.path(), "a/report.txt", b"second");
        write(source.path(), "b/new.txt", b"new");
        let (dry, _) = farm.import_with(source.path(), None, true).await.unwrap();
        assert_eq!((dry.created, dry.replaced, dry.unchanged, dry.folders), (1, 1, 1, 1));
        let session = farm.administrator().await;
        assert!(session.item(&at("Documents/b")).await.is_err());
        assert_eq!(session.item(&at("Documents/a/report.txt")).await.unwrap().version.to_string(), "1.0");

        let (real, _) = farm.import(source.path()).await;
        assert_eq!((real.created, real.replaced, real.unchanged, real.folders), (1, 1, 1, 1));
        let item = session.item(&at("Documents/a/report.txt")).await.unwrap();
        assert_eq!((item.version.to_string().as_str(), item.size), ("2.0", 6));
        let (summary, _) = farm.import(source.path()).await;
        assert_eq!(summary.unchanged, 3);

        // Both versions are exported, the earlier one into a directory of its own.
        let destination = tempfile::tempdir().unwrap();
        let (exported, faults) = farm.export(destination.path(), true).await;
        assert_eq!((exported.written, exported.versions, faults), (3, 1, BTreeMap::new()));
        let earlier = destination.path().join(".versions/a/report.txt/1.0.txt");
        assert_eq!(std::fs::read(earlier).unwrap(), b"first");
        assert_eq!(std::fs::read(destination.path().join("a/report.txt")).unwrap(), b"second");
        let (again, _) = farm.export(destination.path(), true).await;
        assert_eq!((again.written, again.versions), (0, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_taken_is_named_and_nothing_outside_is_followed() {
    each_farm(async |farm| {
        let outside = tempfile::tempdir().unwrap();
        write(outside.path(), "secret.txt", b"secret");
        let source = tempfile::tempdir().unwrap();
        let root = source.path();
        write(root, "good.txt", b"good");
        symlink(outside.path(), root.join("way out")).unwrap();
        symlink(outside.path().join("secret.txt"), root.join("secret.txt")).unwrap();
        symlink(".", root.join("loop")).unwrap();
        symlink("/nowhere", root.join("broken")).unwrap();
        pipe(&root.join("pipe"));
        std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        write(root, " space", b"");
        write(root, "line\nbreak", b"");
        write(root, "back\\slash", b"");
        write(root, "dot.", b"");
        std::fs::write(root.join(OsStr::from_bytes(b"not\xffutf8")), b"").unwrap();
        std::fs::create_dir(root.join(OsStr::from_bytes(b"dir\xfe"))).unwrap();
        write(root, "Twin", b"upper");
        write(root, "twin", b"lower");
        std::fs::hard_link(root.join("good.txt"), root.join("hard link.txt")).unwrap();

        let (summary, faults) = farm.import(root).await;
        let expected: BTreeMap<String, Reason> = [
            ("way out", Reason::Link),
            ("secret.txt", Reason::Link),
            ("loop", Reason::Link),
            ("broken", Reason::Link),
            ("pipe", Reason::Special),
            ("socket", Reason::Special),
            (" space", Reason::Name),
            ("line\nbreak", Reason::Name),
            ("back\\slash", Reason::Name),
            ("dot.", Reason::Name),
            ("not\\xFFutf8", Reason::Name),
            ("dir\\xFE", Reason::Name),
            ("twin", Reason::Name),
        ]
        .into_iter()
        .map(|(path, reason)| (path.to_owned(), reason))
        .collect();
        assert_eq!(faults, expected);
        assert_eq!(summary.created, 3, "good.txt, its hard link and Twin");
        assert_eq!(summary.faults.values().sum::<u64>(), 13);
        let session = farm.administrator().await;
        assert!(session.item(&at("Documents/secret.txt")).await.is_err());
        let mut twin = session.open(&at("Documents/twin"), VersionChoice::Visible).await.unwrap();
        assert_eq!(twin.next_chunk().await.unwrap().unwrap(), "upper");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_are_left_out_count_as_processed() {
    each_farm(async |farm| {
        let source = tempfile::tempdir().unwrap();
        let root = source.path();
        // Of every pair, the second or both are left out.
        write(root, "good.txt", b"good");
        write(root, "dot.", b"12");
        write(root, "Twin", b"upper");
        write(root, "twin", b"lower");
        write(root, "folder./deep/one", b"123");
        write(root, "folder./two", b"1234");
        write(root, "taken/three", b"1");
        write(root, "file", b"123456");
        let mut deep = "d".to_owned();
        while deep.len() < 500 {
            deep.push_str("/d");
        }
        write(root, &format!("{deep}/bottom"), b"1234567");
        let session = farm.administrator().await;
        session.create_folder(&at("Documents"), &Name::new("file").unwrap()).await.unwrap();
        let document = Destination::Path(NodePath::parse("Documents/taken").unwrap());
        session.upload_bytes(&document, UploadOptions::default(), Bytes::from_static(b"a document")).await.unwrap();
        assert_eq!(farm.import_progress(root).await, (9, 4 + 2 + 5 + 5 + 3 + 4 + 1 + 6 + 7));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_farms_own_data_and_names_of_another_kind_are_refused_and_the_rest_goes_on() {
    each_farm(async |farm| {
        let source = tempfile::tempdir().unwrap();
        write(source.path(), "folder/in it.txt", b"x");
        write(source.path(), "file", b"x");
        write(source.path(), "rest.txt", b"x");
        let session = farm.administrator().await;
        let name = Name::new("file").unwrap();
        session.create_folder(&at("Documents"), &name).await.unwrap();
        let destination = Destination::Path(NodePath::parse("Documents/folder").unwrap());
        session.upload_bytes(&destination, UploadOptions::default(), Bytes::from_static(b"a document")).await.unwrap();
        let (summary, faults) = farm.import(source.path()).await;
        assert_eq!(summary.created, 1);
        assert_eq!(faults.keys().collect::<Vec<_>>(), ["file", "folder"]);

        let (summary, faults) = farm.import(farm.directory.path()).await;
        assert_eq!((summary.created, faults.get("data")), (0, Some(&Reason::Refused)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_never_leaves_its_directory_nor_overwrites_what_is_no_file() {
    each_farm(async |farm| {
        let source = tempfile::tempdir().unwrap();
        write(source.path(), "folder/a.txt", b"a");
        write(source.path(), "link.txt", b"b");
        write(source.path(), "directory", b"c");
        let long = format!("{}.txt", "ü".repeat(200));
        farm.import(source.path()).await;
        let session = farm.administrator().await;
        let destination = Destination::Path(NodePath::parse(&format!("Documents/{long}")).unwrap());
        session.upload_bytes(&destination, UploadOptions::default(), Bytes::from_static(b"long")).await.unwrap();

        let outside = tempfile::tempdir().unwrap();
        write(outside.path(), "kept.txt", b"kept");
        let destination = tempfile::tempdir().unwrap();
        let root = destination.path();
        symlink(outside.path(), root.join("folder")).unwrap();
        symlink(outside.path().join("kept.txt"), root.join("link.txt")).unwrap();
        std::fs::create_dir(root.join("directory")).unwrap();
        write(root, ".strongroom-export-7.part", b"half");
        let (summary, faults) = farm.export(root, false).await;
        assert_eq!(summary.written, 0);
        let expected = [
            ("directory", Reason::Unwritable),
            ("folder", Reason::Unwritable),
            ("link.txt", Reason::Unwritable),
            (long.as_str(), Reason::Name),
        ];
        assert_eq!(faults, expected.map(|(path, reason)| (path.to_owned(), reason)).into_iter().collect());
        assert_eq!(tree(outside.path()).len(), 1);
        assert_eq!(std::fs::read(outside.path().join("kept.txt")).unwrap(), b"kept");
        assert!(!root.join(".strongroom-export-7.part").exists(), "what a killed export left is removed");
    })
    .await;
}

//! Tests of the corpus: it is deterministic for a seed, its containers are real zip files, and any damage is detected.

use super::document::ContentKind;
use super::*;

fn corpus(seed: u64) -> Corpus {
    let text = format!(
        "seed = {seed}\n\
         libraries = 3\n\
         files = [{{ size = '20KB', count = 50, spread = 0.8 }}, {{ size = '200KB', count = 20 }}]"
    );
    Corpus::new(toml::from_str(&text).unwrap())
}

fn bytes(corpus: &Corpus, document: &Document, version: u32) -> Vec<u8> {
    corpus.content(document, version).flat_map(|piece| piece.to_vec()).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_gives_others() {
    let (one, same, other) = (corpus(1), corpus(1), corpus(2));
    for number in 0..one.count() {
        let document = one.document(number);
        assert_eq!(document, same.document(number));
        let content = bytes(&one, &document, 0);
        assert_eq!(content.len() as u64, document.size, "{document:?}");
        assert_eq!(content, bytes(&same, &document, 0));
        assert_ne!(content, bytes(&one, &document, 1), "another version");
        assert_ne!(content, bytes(&other, &other.document(number), 0));
    }
    assert_ne!(one.fingerprint(), other.fingerprint());
}

#[test]
fn documents_lie_in_all_libraries_of_all_sites() {
    let of = |sites: u32| {
        let text = format!("sites = {sites}\nlibraries = 2\nfolders = 2\nfiles = [{{ size = '2KB', count = 60 }}]");
        Corpus::new(toml::from_str(&text).unwrap())
    };
    let (one, three) = (of(1), of(3));
    assert_eq!((one.sites(), one.library_path(1).as_str()), (Vec::new(), "Lab 1-2"), "in the place itself");
    assert_eq!((three.sites().len(), three.libraries()), (3, 6));
    let mut counts = std::collections::BTreeMap::new();
    for document in (0..60).map(|number| three.document(number)) {
        *counts.entry(three.library_path(document.library)).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 6, "{counts:?}");
    assert!(counts.values().all(|count| *count == 10), "{counts:?}");
    assert_eq!(counts.keys().last().map(String::as_str), Some("Lab 1 site 3/Lab 1-2"));
    assert_ne!(one.fingerprint(), three.fingerprint());
}

#[test]
fn sizes_have_the_mean_that_was_asked_for() {
    let plan: CorpusPlan = toml::from_str("files = [{ size = '100KB', count = 20000, spread = 0.5 }]").unwrap();
    let mean = Corpus::new(plan).bytes() / 20_000;
    assert!((97_000..103_000).contains(&mean), "{mean}");
}

#[test]
fn any_version_is_taken_and_any_damage_is_noticed() {
    let corpus = corpus(1);
    for number in [0, 3, 51, 60, 69] {
        let document = corpus.document(number);
        let content = bytes(&corpus, &document, 7);
        let check = |bytes: &[u8], step: usize| {
            let mut verifier = corpus.verifier(&document);
            bytes.chunks(step).try_for_each(|chunk| verifier.feed(chunk)).and_then(|()| verifier.end())
        };
        assert_eq!(check(&content, 1000), Ok(()));
        assert_eq!(check(&content, 7), Ok(()));
        for at in [20, content.len() / 2, content.len() - 1] {
            let mut damaged = content.clone();
            damaged[at] ^= 1;
            assert!(
                check(&damaged, 1000).is_err() || damaged[at..=at] == content[at..=at],
                "byte {at} of {document:?}"
            );
        }
        assert!(check(&content[..content.len() - 1], 1000).is_err(), "cut");
        assert!(check(&[&content[..], b"x"].concat(), 1000).is_err(), "longer");
        assert!(check(b"<html>Something went wrong</html>", 1000).is_err());
        let other = bytes(&corpus, &corpus.document(number + 1), 0);
        assert!(check(&other, 1000).is_err(), "another document");
    }
}

#[test]
fn office_like_documents_are_whole_zip_containers() {
    let corpus = corpus(1);
    let document =
        (0..corpus.count()).map(|number| corpus.document(number)).find(|d| d.kind == ContentKind::Office).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.zip");
    std::fs::write(&file, bytes(&corpus, &document, 0)).unwrap();
    let script =
        "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print(len(z.namelist()))";
    let done = std::process::Command::new("python3").args(["-c", script]).arg(&file).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "2", "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn words_for_searches_stand_in_the_texts() {
    let corpus = corpus(7);
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..50 {
        let document = corpus.any_text(&mut random).unwrap();
        let text = String::from_utf8(bytes(&corpus, &document, 0)).unwrap();
        let all: Vec<&str> = text.split_whitespace().collect();
        let words = corpus.text_words(&document, &mut random, 3);
        assert_eq!(words.len(), 3);
        assert!(all.windows(3).any(|window| window == words), "{words:?}");
        let unique = corpus.unique_words(&document);
        let has_it = |number: &u64| {
            let content = bytes(&corpus, &corpus.document(*number), 1);
            content.windows(unique.len()).any(|window| window == unique.as_bytes())
        };
        assert_eq!((0..corpus.count()).filter(has_it).collect::<Vec<_>>(), [document.number]);
    }
    let text = "files = [{ size = '2KB', count = 60 }]\nkinds = { text = 0.0, office = 0.5, media = 0.5 }";
    assert_eq!(Corpus::new(toml::from_str(text).unwrap()).any_text(&mut random), None);
}

//! Entry points of fuzz targets. Each function takes the bytes of one input and asserts what must hold for any input.
//!
//! Exists only when built with `--cfg fuzzing`; `fuzz/run` explains how to run it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::content::event_detail::{Detail, DetailVisibility};
use crate::farm::seal;
use crate::items::page_cursor as sealed;
use crate::jobs::Work;
use crate::people::link_hash;
use crate::uploads::fuzzing as resumable;

/// Link secrets as they may appear in a URL.
pub fn secrets(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let looks_right = text.len() == 68 && text.starts_with("srl_") && text.is_ascii();
    assert!(link_hash(text).is_none() || looks_right, "{text:?}");
}

/// Sealed page cursors and other sealed secrets, under a known key. The first byte selects the operation for the rest.
pub fn sealed(input: &[u8]) {
    const KEY: [u8; seal::KEY] = [7; seal::KEY];
    let key_file = "07".repeat(seal::KEY);
    let Some((choice, rest)) = input.split_first() else { return };
    match choice & 3 {
        0 => {
            let _ = sealed::text_of(rest.to_vec());
        }
        1 => {
            let place = String::from_utf8_lossy(rest);
            let plain = sealed::plain_of(&place);
            let sealed = seal::seal_by_key(&KEY, "place", &plain).expect("it is short");
            assert_eq!(sealed.len() % 128, 1 + 12 + 16, "lengths tell little");
            let opened = seal::open_by_key(&KEY, "place", &sealed).expect("it was sealed with this key");
            assert_eq!(sealed::text_of(opened).as_deref(), Some(&*place));
            assert!(seal::open_by_key(&KEY, "store 5", &sealed).is_none());
        }
        2 => {
            let (file, sealed) = rest.split_at(rest.len().min(65));
            let _ = seal::open_with(file, "store 5", sealed);
        }
        _ => assert!(seal::open_with(key_file.as_bytes(), "store 5", rest).is_err(), "nobody can guess a tag"),
    }
}

/// The file of an incomplete upload. An odd first byte has the checksums of its slots corrected first.
pub fn upload_state(input: &[u8]) {
    let Some((mends, content)) = input.split_first() else { return };
    let mut content = content.to_vec();
    if mends & 1 != 0 {
        resumable::mend(&mut content);
    }
    let path = scratch("upload");
    File::create(&path).and_then(|mut file| file.write_all(&content)).expect("a scratch file");
    read_upload(&path, &content);
}

fn read_upload(path: &Path, content: &[u8]) {
    let Ok(mut partial) = resumable::Partial::open(path) else { return };
    let durable = partial.durable();
    for offset in [0, 1, durable.saturating_sub(1), durable] {
        let Ok(bytes) = partial.read(offset, 1 << 16) else { continue };
        assert_eq!(bytes.len() as u64, durable.saturating_sub(offset).min(1 << 16));
        let from = usize::try_from(offset).unwrap_or(usize::MAX).saturating_add(4_096);
        assert!(bytes.is_empty() || content.get(from..from + bytes.len()) == Some(&bytes[..]));
    }
    if durable > 1 << 20 {
        return;
    }
    partial.write(&[Bytes::from_static(b"more")], durable).expect("a scratch file");
    partial.commit(durable + 4).expect("a scratch file");
    drop(partial);
    let partial = resumable::Partial::open(path).expect("it was there");
    assert_eq!(partial.durable(), durable + 4);
    assert_eq!(&partial.read(durable, 10).expect("it was written")[..], b"more");
}

/// Values stored as text in database columns: event details or jobs, selected by the first byte.
pub fn records(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    if choice & 1 == 0 {
        let detail = Detail::read(text);
        let whole = detail.visible_to(DetailVisibility::FULL);
        let facts = detail.visible_to(DetailVisibility::of(model::Rights::NONE));
        assert!(whole.contains(&facts));
        assert!(facts.len() <= text.len());
        let written = detail.clone().stored().expect("what was read can be written");
        // Plain text is stored as it is. Text with the prefix of a detail in parts cannot come from a name.
        assert!(written.starts_with('\u{1}') || Detail::read(&written) == detail);
    } else if let Ok(work) = Work::from_text(text) {
        let written = work.to_text().expect("what was read can be written");
        assert_eq!(Work::from_text(&written).ok(), Some(work));
    }
}

/// Templates, and files that may be logos, selected by the first byte.
pub fn template(input: &[u8]) {
    let Some((choice, rest)) = input.split_first() else { return };
    if *choice == 0 {
        let _ = model::SmallImage::new(rest.to_vec());
        return;
    }
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(template) = crate::Template::parse(text) {
        let written = template.write();
        assert_eq!(crate::Template::parse(&written).ok().as_ref(), Some(&template), "{written}");
        assert_eq!(crate::Template::parse(&written).map(|again| again.write()).ok(), Some(written));
    }
}

/// Returns the path of a scratch file that each run overwrites.
fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("strongroom-fuzz-{name}-{}", std::process::id()))
}

//! Entry points of the fuzz targets. Each function takes the bytes of one input and asserts properties that must hold
//! for every input.
//!
//! Stored data has checksums, which hardly any mutated input matches. So the first byte of an input selects the
//! checksums that are corrected before reading. This module exists only when built with `--cfg fuzzing`; `fuzz/run`
//! shows how to run the targets.

pub(crate) mod fixtures;

use crate::locator::Locator;
use crate::marker::{self, Owner};

pub use crate::coding::fuzzing::envelope;
pub use crate::directory::fuzzing::{cache, deletions, index, large, segment};
pub use crate::object::fuzzing::object_names;

/// Treats the input as the owner marker of a store.
pub fn store_mark(input: &[u8]) {
    // Rewriting a marker converts line endings to LF, so inputs with CR are left out.
    let Some(text) = std::str::from_utf8(input).ok().filter(|text| !text.contains('\r')) else { return };
    let owner = Owner::new("farm").expect("a plain word");
    let _ = marker::check(text, "marker", "store", &owner, marker::FORMAT_ENCODED);
    let held = marker::with_holder(text, Some("r1"));
    assert_eq!(marker::holder(&held).as_deref(), Some("r1"));
    assert_eq!(marker::with_holder(&held, Some("r1")), held);
    let free = marker::with_holder(&held, None);
    assert_eq!(marker::holder(&free), None);
    for key in ["format", "owner", "created"] {
        assert_eq!(marker::value(&free, key), marker::value(text, key), "{key}");
    }
    if let Ok(locator) = Locator::from_bytes(input) {
        crate::directory::fuzzing::locator(locator);
    }
}

//! What fuzz targets call: each function takes the bytes of one input and asserts what must hold for any.
//!
//! What is stored has checksums, which hardly any changed input fits. So the first byte of an input says which of them
//! are put right before it is read. Exists only when built with `--cfg fuzzing`; `fuzz/run` says how to run it.

pub(crate) mod fixtures;

use crate::locator::Locator;
use crate::mark::{self, Owner};

pub use crate::coding::fuzzing::envelope;
pub use crate::directory::fuzzing::{cache, deletions, index, large, segment};
pub use crate::object::fuzzing::object_names;

/// Markers of stores.
pub fn store_mark(input: &[u8]) {
    // Ends of lines become those of Unix.
    let Some(text) = std::str::from_utf8(input).ok().filter(|text| !text.contains('\r')) else { return };
    let owner = Owner::new("farm").expect("a plain word");
    let _ = mark::check(text, "marker", "store", &owner, mark::FORMAT_ENCODED);
    let held = mark::with_holder(text, Some("r1"));
    assert_eq!(mark::holder(&held).as_deref(), Some("r1"));
    assert_eq!(mark::with_holder(&held, Some("r1")), held);
    let free = mark::with_holder(&held, None);
    assert_eq!(mark::holder(&free), None);
    for key in ["format", "owner", "created"] {
        assert_eq!(mark::value(&free, key), mark::value(text, key), "{key}");
    }
    if let Ok(locator) = Locator::from_bytes(input) {
        crate::directory::fuzzing::locator(locator);
    }
}

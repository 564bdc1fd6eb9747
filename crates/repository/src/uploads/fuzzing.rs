//! Entry points of fuzz targets for unfinished uploads.

pub use super::partial::Partial;
use super::partial::{SLOT, SLOTS, slot};

/// Recomputes the checksums of both slots for the numbers in them.
pub fn mend(content: &mut [u8]) {
    for place in SLOTS {
        let Some(bytes) = content.get_mut(place as usize..place as usize + SLOT) else { continue };
        let number = u64::from_le_bytes(std::array::from_fn(|at| bytes[8 + at]));
        bytes.copy_from_slice(&slot(number));
    }
}

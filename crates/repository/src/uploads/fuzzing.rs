//! What fuzz targets call of uploads that are not complete.

pub use super::partial::Partial;
use super::partial::{SLOT, SLOTS, slot};

/// Gives both slots the checks of the numbers in them.
pub fn mend(content: &mut [u8]) {
    for place in SLOTS {
        let Some(bytes) = content.get_mut(place as usize..place as usize + SLOT) else { continue };
        let number = u64::from_le_bytes(std::array::from_fn(|at| bytes[8 + at]));
        bytes.copy_from_slice(&slot(number));
    }
}

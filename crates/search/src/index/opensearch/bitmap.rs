//! Sets of numbers in the form that the search server compares with a field: a roaring bitmap in base64.
//!
//! Form: <https://github.com/RoaringBitmap/RoaringFormatSpec>, without run containers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Marks a bitmap without run containers.
const COOKIE: u32 = 12_346;
/// Most numbers of a container that are stored one by one.
const MAX_LISTED: usize = 4_096;
/// Bytes of a container with a bit for each number.
const BITS: usize = 8_192;

/// Returns a set of numbers, which must be in ascending order.
pub(super) fn bitmap(numbers: &[u32]) -> String {
    let containers: Vec<&[u32]> = numbers.chunk_by(|one, other| one >> 16 == other >> 16).collect();
    let mut bytes = Vec::with_capacity(8 + 2 * numbers.len() + 8 * containers.len());
    bytes.extend(COOKIE.to_le_bytes());
    bytes.extend((containers.len() as u32).to_le_bytes());
    for container in &containers {
        let key = container.first().map_or(0, |first| first >> 16);
        bytes.extend((key as u16).to_le_bytes());
        bytes.extend((container.len().saturating_sub(1) as u16).to_le_bytes());
    }
    let mut offset = bytes.len() + 4 * containers.len();
    for container in &containers {
        bytes.extend((offset as u32).to_le_bytes());
        offset += if container.len() > MAX_LISTED { BITS } else { 2 * container.len() };
    }
    for container in &containers {
        if container.len() > MAX_LISTED {
            let mut bits = [0_u8; BITS];
            for number in container.iter() {
                let low = (number & 0xffff) as usize;
                bits[low / 8] |= 1 << (low % 8);
            }
            bytes.extend(bits);
        } else {
            container.iter().for_each(|number| bytes.extend((*number as u16).to_le_bytes()));
        }
    }
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_that_of_the_specification() {
        let bytes = |numbers: &[u32]| STANDARD.decode(bitmap(numbers)).unwrap();
        assert_eq!(bytes(&[]), [0x3a, 0x30, 0, 0, 0, 0, 0, 0]);
        let two = [0x3a, 0x30, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 24, 0, 0, 0, 28, 0, 0, 0, 1, 0, 3, 0, 2, 0];
        assert_eq!(bytes(&[1, 3, 65_538]), two);
        let many: Vec<u32> = (0..5_000).collect();
        let dense = bytes(&many);
        assert_eq!(dense.len(), 16 + BITS);
        assert_eq!((dense[16], dense[16 + 624], dense[16 + 625]), (0xff, 0xff, 0));
    }
}

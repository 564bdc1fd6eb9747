//! A set of numbers in about 18 bits each. A look-up wrongly finds about one in 65,536 of the numbers that the set does
//! not hold.
//!
//! The numbers are mapped evenly onto 65,536 times as many positions as there are numbers. The differences between the
//! sorted positions are written in a Golomb-Rice code: the upper part of a difference in unary (ones and a final zero),
//! the lower 16 bits verbatim (S. Golomb, "Run-length encodings", 1966; R. Rice, "Some practical universal noiseless
//! coding techniques", 1979).

use model::{Error, Result};

/// Bits of a difference that are written verbatim. The rate of false positives is one in two to this power.
const RICE_BITS: u32 = 16;
/// Maximum number of entries in a set. A larger count was not written by [`encode`].
const MAX_ENTRIES: u64 = 1 << 32;

/// Encodes a set. The numbers may come in any order and may repeat.
pub(super) fn encode(numbers: &[u64]) -> Vec<u8> {
    let mut places: Vec<u64> = numbers.iter().map(|number| place(*number, numbers.len() as u64)).collect();
    places.sort_unstable();
    let mut bits = Bits::default();
    let mut before = 0;
    for place in places {
        let distance = place - before;
        before = place;
        (0..distance >> RICE_BITS).for_each(|_| bits.push(true));
        bits.push(false);
        (0..RICE_BITS).rev().for_each(|bit| bits.push(distance >> bit & 1 == 1));
    }
    bits.bytes
}

/// Returns whether an encoded set of `entries` numbers holds `number`.
///
/// # Errors
/// `Corrupt` when the encoded set ends too early.
pub(super) fn holds(coded: &[u8], entries: u64, number: u64) -> Result<bool> {
    let wanted = place(number, entries);
    let mut bits = coded.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1));
    let mut next = || bits.next().ok_or_else(|| Error::corrupt("a part of the list of passwords is cut short"));
    let mut at: u64 = 0;
    for _ in 0..entries {
        let mut distance: u64 = 0;
        while next()? {
            distance += 1;
        }
        for _ in 0..RICE_BITS {
            distance = distance << 1 | u64::from(next()?);
        }
        at = at.saturating_add(distance);
        if at >= wanted {
            return Ok(at == wanted);
        }
    }
    Ok(false)
}

/// Returns the position of a number in a set of `entries` numbers.
fn place(number: u64, entries: u64) -> u64 {
    let places = u128::from(entries.min(MAX_ENTRIES)) << RICE_BITS;
    ((u128::from(number) * places) >> 64) as u64
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.used.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (7 - self.used % 8);
        }
        self.used = self.used.wrapping_add(1);
    }
}

/// SHA-1 sum of a password.
pub(super) type Sum = [u8; 20];

/// Returns the part of a list that a sum belongs to, given by the sum's leading bits.
pub(super) fn part_of(sum: &Sum, bits: u32) -> u64 {
    number(sum, 0).checked_shr(64 - bits.min(MAX_BITS)).unwrap_or(0)
}

pub(super) fn number(sum: &Sum, from: usize) -> u64 {
    sum[from..from + 8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Maximum number of leading bits of a sum that select its part.
pub(super) const MAX_BITS: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: u64, salt: u64) -> Vec<u64> {
        let mut number = salt | 1;
        (0..count)
            .map(|_| {
                number ^= number << 13;
                number ^= number >> 7;
                number ^= number << 17;
                number
            })
            .collect()
    }

    #[test]
    fn a_set_holds_what_it_was_made_of_and_hardly_anything_else() {
        for count in [1, 2, 100, 4_096] {
            let set = numbers(count, 5);
            let coded = encode(&set);
            assert!(set.iter().all(|number| holds(&coded, count, *number).unwrap()), "{count}");
            assert!(coded.len() as u64 * 8 <= count * 19 + 8, "{count} numbers take {} bytes", coded.len());
        }
        let (set, strange) = (numbers(4_096, 5), numbers(1_000, 77));
        let coded = encode(&set);
        let wrong = strange.iter().filter(|number| holds(&coded, 4_096, **number).unwrap()).count();
        assert!(wrong < 3, "{wrong} of 1,000");
        assert!(!holds(&[], 0, 9).unwrap());
    }

    #[test]
    fn what_is_cut_short_is_no_set() {
        let coded = encode(&numbers(100, 3));
        assert!(holds(&coded[..coded.len() / 2], 100, u64::MAX).is_err());
        assert!(holds(&vec![0xff; 1 << 20], u64::MAX, u64::MAX).is_err());
    }
}

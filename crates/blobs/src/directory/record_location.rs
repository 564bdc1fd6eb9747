//! The locators of the directory provider.

use crate::locator::Locator;

const VERSION: u8 = 1;

/// The location of a BLOB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordLocation {
    Segment { id: u64, offset: u64 },
    Large,
}

impl RecordLocation {
    pub fn locator(self) -> Locator {
        let mut bytes = [0; 18];
        bytes[0] = VERSION;
        let length = match self {
            Self::Segment { id, offset } => {
                bytes[1] = b's';
                bytes[2..10].copy_from_slice(&id.to_le_bytes());
                bytes[10..18].copy_from_slice(&offset.to_le_bytes());
                18
            }
            Self::Large => {
                bytes[1] = b'l';
                2
            }
        };
        Locator::from_slice(&bytes[..length])
    }

    /// Decodes the location in a locator; `None` for locators of other stores and versions.
    pub fn of(locator: &Locator) -> Option<Self> {
        match locator.as_bytes() {
            [VERSION, b's', rest @ ..] if rest.len() == 16 => {
                Some(Self::Segment { id: super::record::u64_at(rest, 0), offset: super::record::u64_at(rest, 8) })
            }
            [VERSION, b'l'] => Some(Self::Large),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_round_trip_and_foreign_locators_mean_nothing() {
        for place in [RecordLocation::Large, RecordLocation::Segment { id: 77, offset: u64::MAX }] {
            assert_eq!(RecordLocation::of(&place.locator()), Some(place));
        }
        for foreign in [&b""[..], b"\x01", b"\x02l", b"\x01sshort", b"\x01l plus"] {
            assert_eq!(RecordLocation::of(&Locator::from_bytes(foreign).unwrap()), None);
        }
    }
}

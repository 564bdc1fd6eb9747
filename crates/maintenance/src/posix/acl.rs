//! POSIX access control lists as stored by Linux in the attribute `system.posix_acl_access`: a version, followed by
//! entries of tag, permissions and number, all little-endian. The mask limits every entry except those of the owner and
//! of others.

/// Subject of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The file's owner.
    Owner,
    /// A user by number.
    User(u32),
    /// The file's group.
    OwningGroup,
    /// A group by number.
    Group(u32),
    /// All others.
    Others,
}

/// Permissions of a subject, with the mask applied. Bits: 4 read, 2 write, 1 search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) class: Class,
    pub(crate) bits: u8,
}

const VERSION: u32 = 2;

/// Returns the entries of the access list, or of the mode if there is no list. With a list present, the group bits of
/// the mode are the list's mask. If the list cannot be parsed, only owner and others count, so that no subject gets
/// more than the list grants.
pub(crate) fn entries(mode: u32, list: Option<&[u8]>) -> Vec<Entry> {
    if let Some(entries) = list.and_then(parse) {
        return entries;
    }
    let bits = |shift: u32| ((mode >> shift) & 7) as u8;
    let mut entries = vec![Entry { class: Class::Owner, bits: bits(6) }, Entry { class: Class::Others, bits: bits(0) }];
    if list.is_none() {
        entries.push(Entry { class: Class::OwningGroup, bits: bits(3) });
    }
    entries
}

fn parse(list: &[u8]) -> Option<Vec<Entry>> {
    let (version, rest) = list.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*version) != VERSION || rest.len() % 8 != 0 {
        return None;
    }
    let mut mask = 7;
    let mut entries = Vec::new();
    for entry in rest.chunks_exact(8) {
        let tag = u16::from_le_bytes([entry[0], entry[1]]);
        let bits = entry[2] & 7;
        let number = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
        let class = match tag {
            0x01 => Class::Owner,
            0x02 => Class::User(number),
            0x04 => Class::OwningGroup,
            0x08 => Class::Group(number),
            0x10 => {
                mask = bits;
                continue;
            }
            0x20 => Class::Others,
            _ => return None,
        };
        entries.push(Entry { class, bits });
    }
    for entry in &mut entries {
        if !matches!(entry.class, Class::Owner | Class::Others) {
            entry.bits &= mask;
        }
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let mut bytes = VERSION.to_le_bytes().to_vec();
        for (tag, bits, number) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(bits.to_le_bytes());
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn the_mask_limits_users_and_groups_but_not_owner_and_others() {
        let bytes = list(&[(1, 7, 0), (2, 7, 1001), (4, 5, 0), (8, 6, 200), (0x10, 4, 0), (0x20, 5, 0)]);
        let found: Vec<_> = entries(0o755, Some(&bytes)).iter().map(|e| (e.class, e.bits)).collect();
        let expected = [
            (Class::Owner, 7),
            (Class::User(1001), 4),
            (Class::OwningGroup, 4),
            (Class::Group(200), 4),
            (Class::Others, 5),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn without_a_list_the_mode_counts() {
        let mode: Vec<_> = entries(0o40750, None).iter().map(|e| e.bits).collect();
        assert_eq!(mode, [7, 0, 5]);
        for bad in [&b""[..], b"\x02\0\0", b"\x03\0\0\0", b"\x02\0\0\0abc", b"\x02\0\0\0\x77\0\x07\0\0\0\0\0"] {
            assert_eq!(entries(0o770, Some(bad)).len(), 2, "{bad:?}");
        }
    }
}

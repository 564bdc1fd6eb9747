//! The mapping file: operating-system users and groups with their counterparts in the farm, and roles for permission
//! bits.

use std::collections::BTreeMap;

use model::{Error, Result};
use serde::Deserialize;

/// A mapping as written in the file. Names are resolved when an import begins.
///
/// ```toml
/// default_owner = "admin"       # owns files of users not listed below; the importing administrator when absent
///
/// [users]                       # name or number of an operating-system user = login in the farm
/// ann = "ann.miller"
/// 1007 = "bob"
///
/// [groups]                      # name or number of an operating-system group = group of the farm
/// sales = "Sales"
///
/// [permissions]                 # without this table folders inherit permissions
/// others = "Everyone"           # group for the permission class "others"; without it those bits are ignored
///
/// [permissions.roles]           # bits = role; bits that are not listed here grant nothing
/// rwx = "Contribute"
/// r-x = "Read"
/// ```
///
/// With `[permissions]` and without `[permissions.roles]`, `rwx` and `rw-` grant *Contribute*, and `r-x` and `r--`
/// grant *Read*.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    pub(super) default_owner: Option<String>,
    #[serde(default)]
    pub(super) users: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) groups: BTreeMap<String, String>,
    pub(super) permissions: Option<Permissions>,
}

/// Mapping of permission bits to roles.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Permissions {
    pub(super) others: Option<String>,
    /// Roles by bits. [`usual_roles`] when the table is missing.
    #[serde(default = "usual_roles")]
    pub(super) roles: BTreeMap<String, String>,
}

/// Roles of a mapping with permissions that lists no roles of its own.
fn usual_roles() -> BTreeMap<String, String> {
    let roles = [("rwx", "Contribute"), ("rw-", "Contribute"), ("r-x", "Read"), ("r--", "Read")];
    roles.into_iter().map(|(bits, role)| (bits.to_owned(), role.to_owned())).collect()
}

impl Mapping {
    /// Parses a mapping.
    ///
    /// # Errors
    /// `Invalid`, with the position of the mistake in the text.
    pub fn parse(text: &str) -> Result<Self> {
        let mapping: Self = toml::from_str(text)
            .map_err(|error| Error::invalid(format!("the mapping cannot be read: {error}")).with_source(error))?;
        for bits in mapping.permissions.iter().flat_map(|permissions| permissions.roles.keys()) {
            parse_bits(bits)?;
        }
        Ok(mapping)
    }
}

/// Parses bits written as `rwx`, with `-` for each bit that is not set.
pub(super) fn parse_bits(text: &str) -> Result<u8> {
    let wrong = || Error::invalid(format!("\"{text}\" is not a set of permission bits: write rwx, r-x and so on"));
    let letters: Vec<char> = text.chars().collect();
    if letters.len() != 3 {
        return Err(wrong());
    }
    letters.iter().zip(['r', 'w', 'x']).try_fold(0, |bits, (letter, expected)| match letter {
        '-' => Ok(bits << 1),
        letter if *letter == expected => Ok(bits << 1 | 1),
        _ => Err(wrong()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_as_they_are_listed() {
        for (text, bits) in [("rwx", 7), ("r-x", 5), ("-w-", 2), ("---", 0)] {
            assert_eq!(parse_bits(text).unwrap(), bits);
        }
        for bad in ["", "rw", "xwr", "rwxr", "7"] {
            assert!(parse_bits(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_mapping_is_read_and_a_mistake_in_it_is_named() {
        let mapping = Mapping::parse("[users]\n1007 = 'bob'\n[permissions]\nothers = 'Everyone'\n").unwrap();
        assert_eq!(mapping.users["1007"], "bob");
        assert_eq!(mapping.permissions.unwrap().roles.len(), 4);
        for bad in ["user = 3", "[permissions.roles]\nrwxx = 'Read'", "[users", "default_owner = 1"] {
            assert!(Mapping::parse(bad).is_err(), "{bad}");
        }
    }
}

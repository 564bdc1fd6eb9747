//! Parsing of rights, and roles as sets of rights.

use std::fmt;

use crate::{Error, Id, Result, Right};

impl Right {
    /// Parses the word.
    pub fn parse(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|right| right.as_str() == text)
            .ok_or_else(|| Error::invalid(format!("there is no right \"{}\"", text.escape_debug())))
    }
}

/// A set of rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights(u32);

impl Rights {
    /// The empty set.
    pub const NONE: Rights = Rights(0);
    /// Every right.
    pub const ALL: Rights = Rights((1 << 10) - 1);

    /// Reads a stored set; unknown bits are dropped.
    pub const fn from_bits(bits: i64) -> Self {
        Self(bits as u32 & Self::ALL.0)
    }

    /// Returns the stored form.
    pub const fn bits(self) -> i64 {
        self.0 as i64
    }

    /// Returns whether `right` is in the set.
    pub const fn has(self, right: Right) -> bool {
        self.0 & right as u32 != 0
    }

    /// Returns whether no right is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns this set with `right` added.
    #[must_use]
    pub const fn with(self, right: Right) -> Self {
        Self(self.0 | right as u32)
    }

    /// Returns the rights in either set.
    #[must_use]
    pub const fn union(self, other: Rights) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the rights in both sets.
    #[must_use]
    pub const fn intersection(self, other: Rights) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns whether every right of `other` is in this set.
    pub const fn contains(self, other: Rights) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the rights in the set.
    pub fn iter(self) -> impl Iterator<Item = Right> {
        Right::ALL.into_iter().filter(move |right| self.has(*right))
    }
}

impl FromIterator<Right> for Rights {
    fn from_iter<I: IntoIterator<Item = Right>>(rights: I) -> Self {
        rights.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.iter().map(Right::as_str).collect();
        f.write_str(&words.join(","))
    }
}

/// A named set of rights that is assigned to users and groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// The role's identifier; the built-in ones are below 100.
    pub id: Id,
    /// The name shown to people.
    pub name: String,
    /// Rights that it grants.
    pub rights: Rights,
}

impl Role {
    /// Identifier of the built-in role *Full control*.
    pub const FULL_CONTROL: Id = Id::new(1);
    /// Identifier of the built-in role *Design*.
    pub const DESIGN: Id = Id::new(2);
    /// Identifier of the built-in role *Contribute*.
    pub const CONTRIBUTE: Id = Id::new(3);
    /// Identifier of the built-in role *Read*.
    pub const READ: Id = Id::new(4);

    /// Returns the roles of a new farm.
    pub fn built_in() -> Vec<Role> {
        use Right::{Add, Delete, Edit, ManageLibraries, Override, Publish, View, ViewVersions};
        let read: Rights = [View, ViewVersions].into_iter().collect();
        let contribute = [Add, Edit, Delete, Publish].into_iter().fold(read, Rights::with);
        let design = [Override, ManageLibraries].into_iter().fold(contribute, Rights::with);
        [
            (Self::FULL_CONTROL, "Full control", Rights::ALL),
            (Self::DESIGN, "Design", design),
            (Self::CONTRIBUTE, "Contribute", contribute),
            (Self::READ, "Read", read),
        ]
        .into_iter()
        .map(|(id, name, rights)| Role { id, name: name.to_owned(), rights })
        .collect()
    }

    /// Returns whether this role came with the farm and cannot be changed.
    pub fn is_built_in(&self) -> bool {
        self.id.get() < 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_built_in_role_holds_the_next_smaller_one() {
        let roles = Role::built_in();
        for pair in roles.windows(2) {
            assert!(pair[0].rights.contains(pair[1].rights));
            assert!(pair[0].rights != pair[1].rights);
        }
        assert!(!roles[3].rights.has(Right::Edit));
    }

    #[test]
    fn sets_keep_what_was_put_in_and_words_round_trip() {
        for right in Right::ALL {
            assert_eq!(Right::parse(right.as_str()).unwrap(), right);
            assert!(Rights::from_bits(Rights::NONE.with(right).bits()).has(right));
        }
        assert_eq!(Right::ALL.into_iter().collect::<Rights>(), Rights::ALL);
        assert_eq!(Rights::from_bits(-1), Rights::ALL);
    }
}

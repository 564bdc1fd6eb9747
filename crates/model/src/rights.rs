//! Rights, and roles as sets of them.

use std::fmt;

use crate::{Error, Id, Result};

/// One thing that a caller may be allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Right {
    /// See that an item exists, its columns, and open its content.
    View = 1 << 0,
    /// See and open earlier versions.
    ViewVersions = 1 << 1,
    /// Create folders and documents.
    Add = 1 << 2,
    /// Replace content, rename, move within, edit columns, check out.
    Edit = 1 << 3,
    /// Send to the recycle bin.
    Delete = 1 << 4,
    /// See drafts and publish them.
    Publish = 1 << 5,
    /// Delete versions and discard another's check-out.
    Override = 1 << 6,
    /// Create libraries, change their settings and columns.
    ManageLibraries = 1 << 7,
    /// Create sites below, change the site, see its recycle bin and audit log.
    ManageSite = 1 << 8,
    /// Change who may do what.
    ManagePermissions = 1 << 9,
}

impl Right {
    /// All rights.
    pub const ALL: [Right; 10] = [
        Right::View,
        Right::ViewVersions,
        Right::Add,
        Right::Edit,
        Right::Delete,
        Right::Publish,
        Right::Override,
        Right::ManageLibraries,
        Right::ManageSite,
        Right::ManagePermissions,
    ];

    /// The public word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Right::View => "view",
            Right::ViewVersions => "view-versions",
            Right::Add => "add",
            Right::Edit => "edit",
            Right::Delete => "delete",
            Right::Publish => "publish",
            Right::Override => "override",
            Right::ManageLibraries => "manage-libraries",
            Right::ManageSite => "manage-site",
            Right::ManagePermissions => "manage-permissions",
        }
    }

    /// Reads the word.
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
    /// No right.
    pub const NONE: Rights = Rights(0);
    /// Every right.
    pub const ALL: Rights = Rights((1 << 10) - 1);

    /// Reads a stored set; unknown bits are dropped.
    pub const fn from_bits(bits: i64) -> Self {
        Self(bits as u32 & Self::ALL.0)
    }

    /// The stored form.
    pub const fn bits(self) -> i64 {
        self.0 as i64
    }

    /// Whether `right` is in the set.
    pub const fn has(self, right: Right) -> bool {
        self.0 & right as u32 != 0
    }

    /// Whether no right is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// This set and `right`.
    #[must_use]
    pub const fn with(self, right: Right) -> Self {
        Self(self.0 | right as u32)
    }

    /// What is in either set.
    #[must_use]
    pub const fn union(self, other: Rights) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both sets.
    #[must_use]
    pub const fn intersection(self, other: Rights) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether every right of `other` is in this set.
    pub const fn contains(self, other: Rights) -> bool {
        self.0 & other.0 == other.0
    }

    /// The rights in the set.
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
    /// What people call it.
    pub name: String,
    /// What it allows.
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

    /// The roles of a new farm.
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

    /// Whether this role came with the farm and cannot be changed.
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
            assert!(pair[0].rights.contains(pair[1].rights) && pair[0].rights != pair[1].rights);
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

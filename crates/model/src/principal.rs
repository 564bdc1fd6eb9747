//! Who acts: users and groups.

use std::fmt;

use crate::{Code, Error, Id, Limits, Proof, Result};

/// Kind of a principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrincipalKind {
    /// A person or a service with an account.
    User,
    /// A named set of users.
    Group,
}

impl PrincipalKind {
    /// Returns the name used in the database and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Group => "group",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "user" => Ok(Self::User),
            "group" => Ok(Self::Group),
            _ => Err(Error::invalid("a principal is a user or a group")),
        }
    }
}

/// A user as the caller of operations: who it is and all groups that it is in, read afresh for each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The user's identifier.
    pub id: Id,
    /// The login name.
    pub login: String,
    /// The display name.
    pub display_name: String,
    /// Whether the user administers the farm, and the credential does not take that away.
    pub farm_administrator: bool,
    /// Whether all content is open to the user as to those who administer the farm, within the limits.
    pub everywhere: bool,
    /// Groups that the user is in, sorted.
    pub groups: Vec<Id>,
    /// Changes with every change of users, groups or roles; part of the key of cached rights.
    pub directory_version: i64,
    /// What the credential takes away from what the user may do.
    pub limits: Limits,
    /// How the user proved who they are.
    pub proof: Proof,
}

impl Principal {
    /// The built-in group *Everyone*: all accounts that are not disabled, without a list of members.
    pub const EVERYONE: Id = Id::new(50);

    /// The user and all its groups.
    pub fn ids(&self) -> impl Iterator<Item = Id> + '_ {
        std::iter::once(self.id).chain(self.groups.iter().copied())
    }
}

/// The name under which a user signs in, or a group is addressed: 1 to 64 characters, lower case, none of `/ \ :`, no
/// spaces and no control characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoginName(String);

impl LoginName {
    /// Checks and lower-cases a login name.
    pub fn new(text: &str) -> Result<Self> {
        let text = text.to_lowercase();
        let length = text.chars().count();
        let bad = |c: char| c.is_control() || c.is_whitespace() || "/\\:".contains(c);
        if length == 0 || length > 64 || text.contains(bad) {
            return Err(Error::invalid(
                "a login name has 1 to 64 characters, without spaces, control characters, slashes and colons",
            )
            .with_code(Code::InvalidLogin));
        }
        Ok(Self(text))
    }

    /// The login name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LoginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

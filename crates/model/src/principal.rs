//! Principals: users and groups.

use std::fmt;

use crate::{Authentication, Code, Error, Id, Limits, Result};

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
}

/// A user as the caller of operations: the identity and all the user's groups, read afresh for each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The user's identifier.
    pub id: Id,
    /// The login name.
    pub login: String,
    /// The display name.
    pub display_name: String,
    /// Set when the user administers the farm and the credential does not take that away.
    pub farm_administrator: bool,
    /// Set when all content is open to the user as it is to farm administrators, within the limits.
    pub everywhere: bool,
    /// The user's groups, sorted.
    pub groups: Vec<Id>,
    /// Changes with every change of users, groups or roles. Part of the key of cached rights.
    pub directory_version: i64,
    /// Restrictions of the credential on what the user may do.
    pub limits: Limits,
    /// The way in which the user authenticated.
    pub proof: Authentication,
}

impl Principal {
    /// The built-in group *Everyone*: all accounts that are not disabled. It has no list of members.
    pub const EVERYONE: Id = Id::new(50);

    /// Returns the user and all the user's groups.
    pub fn ids(&self) -> impl Iterator<Item = Id> + '_ {
        std::iter::once(self.id).chain(self.groups.iter().copied())
    }
}

/// The name with which a user signs in, or by which a group is addressed: 1 to 64 characters, lower case, none of `/ \
/// :`, no spaces and no control characters.
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
                "a login name has 1 to 64 characters and no spaces, control characters, slashes, backslashes or colons",
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

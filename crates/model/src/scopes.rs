//! The restrictions of a credential on what its owner may do, and the way in which its holder authenticated.

use crate::{Code, Error, Id, Result, Right, Rights, Timestamp};

/// A purpose for which a token may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TokenScope {
    /// Find and open.
    Read = 1,
    /// Add, change, publish and delete.
    Write = 2,
    /// Change sites, libraries and permissions, and override other users.
    Manage = 4,
    /// Administer the farm, if the token's owner may.
    Farm = 8,
}

impl TokenScope {
    /// All scopes.
    pub const ALL: [TokenScope; 4] = [TokenScope::Read, TokenScope::Write, TokenScope::Manage, TokenScope::Farm];

    /// Public name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Manage => "manage",
            Self::Farm => "farm",
        }
    }

    /// Returns the scope that permits a right on content.
    pub const fn of(right: Right) -> Self {
        match right {
            Right::View | Right::ViewVersions => Self::Read,
            Right::Add | Right::Edit | Right::Delete | Right::Publish => Self::Write,
            Right::Override | Right::ManageLibraries | Right::ManageSite | Right::ManagePermissions => Self::Manage,
        }
    }

    /// Parses the word.
    pub fn parse(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or_else(|| {
            Error::invalid(format!("\"{}\" is not a scope: use read, write, manage or farm", text.escape_debug()))
                .with_code(Code::InvalidScope)
        })
    }
}

/// A set of scopes. It restricts what the owner of a credential may do and grants nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenScopes(u8);

impl TokenScopes {
    /// All scopes: no restriction.
    pub const ALL: TokenScopes = TokenScopes(15);

    /// Reads a stored set; unknown bits are dropped.
    pub const fn from_bits(bits: i64) -> Self {
        Self(bits as u8 & Self::ALL.0)
    }

    /// Returns the stored form.
    pub const fn bits(self) -> i64 {
        self.0 as i64
    }

    /// Returns whether `scope` is in the set.
    pub const fn has(self, scope: TokenScope) -> bool {
        self.0 & scope as u8 != 0
    }

    /// Returns whether the set permits nothing.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether the holder may change anything at all.
    pub const fn allows_changes(self) -> bool {
        self.0 & !(TokenScope::Read as u8) != 0
    }

    /// Returns the scopes in the set.
    pub fn iter(self) -> impl Iterator<Item = TokenScope> {
        TokenScope::ALL.into_iter().filter(move |scope| self.has(*scope))
    }

    /// Returns the rights on content that the set permits.
    pub fn rights(self) -> Rights {
        Right::ALL.into_iter().filter(|right| self.has(TokenScope::of(*right))).collect()
    }
}

/// Writing and managing are useless without finding anything, so both include reading.
impl FromIterator<TokenScope> for TokenScopes {
    fn from_iter<I: IntoIterator<Item = TokenScope>>(scopes: I) -> Self {
        let bits = scopes.into_iter().fold(0, |bits, scope| bits | scope as u8);
        let works = bits & (TokenScope::Write as u8 | TokenScope::Manage as u8) != 0;
        Self(if works { bits | TokenScope::Read as u8 } else { bits })
    }
}

/// The restrictions of a credential on what its owner may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Scopes for which it may be used.
    pub scopes: TokenScopes,
    /// The only sites, libraries and folders that exist for it; empty for all.
    pub roots: Vec<Id>,
}

impl Limits {
    /// No restrictions.
    pub const NONE: Limits = Limits { scopes: TokenScopes::ALL, roots: Vec::new() };

    /// Returns whether an item exists for the credential. `way` is the item's path of identifiers from the root site,
    /// the item included.
    pub fn includes(&self, mut way: impl Iterator<Item = Id>) -> bool {
        self.roots.is_empty() || way.any(|id| self.roots.contains(&id))
    }
}

/// The way and time of the caller's authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// Access to the data directory: commands and the server's own work.
    Command,
    /// The password in the request itself.
    Password {
        /// Version of the password, which grows with every change of it.
        version: i64,
    },
    /// A session that began with the password.
    Session {
        /// The session.
        id: Id,
        /// Time when the password was given for the last time.
        proved_at: Timestamp,
    },
    /// A token, which anyone who finds it can use.
    Token,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_takes_away_and_never_adds() {
        let set = |scopes: &[TokenScope]| scopes.iter().copied().collect::<TokenScopes>();
        assert_eq!(TokenScopes::ALL.rights(), Rights::ALL);
        assert_eq!(set(&TokenScope::ALL), TokenScopes::ALL);
        let read = set(&[TokenScope::Read]);
        assert!(read.rights().has(Right::View));
        assert!(!read.rights().has(Right::Edit));
        assert!(!read.allows_changes());
        let write = set(&[TokenScope::Write]);
        assert!(write.rights().has(Right::View));
        assert!(write.rights().has(Right::Delete));
        assert!(write.allows_changes());
        assert!(!write.rights().has(Right::ManagePermissions));
        assert!(!write.rights().has(Right::Override));
        assert!(set(&[TokenScope::Farm]).rights().is_empty());
        assert_eq!(TokenScopes::from_bits(-1), TokenScopes::ALL);
        assert_eq!(TokenScope::parse("farm").unwrap(), TokenScope::Farm);
        assert!(TokenScope::parse("all").is_err());
    }

    #[test]
    fn outside_of_its_places_nothing_exists() {
        let limits = Limits { scopes: TokenScopes::ALL, roots: vec![Id::new(1002)] };
        let way = |ids: &[i64]| limits.includes(ids.iter().map(|id| Id::new(*id)));
        assert!(way(&[1000, 1002, 1003]));
        assert!(way(&[1000, 1002]));
        assert!(!way(&[1000]));
        assert!(!way(&[1000, 1001]));
        assert!(Limits::NONE.includes([Id::new(1000)].into_iter()));
    }
}

//! Who asks, and by which credential.

use std::net::IpAddr;

use model::{Id, Preferences, Principal};

/// With what a request proved whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A session that began with a sign-in.
    Session {
        /// The session's identifier.
        id: Id,
        /// Key for form tokens of this session, derived from its secret.
        csrf_key: [u8; 32],
    },
    /// A personal access token.
    Token {
        /// The token's identifier.
        id: Id,
    },
    /// Login and password with the request itself.
    Password,
}

/// Who makes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The user with all groups.
    pub principal: Principal,
    /// How the user proved it.
    pub credential: Credential,
    /// Language and theme.
    pub preferences: Preferences,
}

/// From where somebody signs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The client's address, as far as it can be believed; never one that the client itself claims.
    pub address: IpAddr,
    /// What the client calls itself, or empty.
    pub agent: String,
    /// The secret of the device that was given to it at an earlier sign-in, if it shows one.
    pub device: Option<String>,
}

/// For what a password is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A session begins, or is proved anew; that is recorded there.
    Session,
    /// One request; the success is recorded when it is checked.
    Request,
    /// A new password takes its place, so that it may be one that nobody may have any more.
    Change,
}

impl Purpose {
    pub(super) fn asks_list(self) -> bool {
        self != Self::Change
    }
}

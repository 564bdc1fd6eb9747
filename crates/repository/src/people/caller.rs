//! The caller of a request, and the credential presented.

use std::net::IpAddr;

use model::{Id, Preferences, Principal};

/// Credential by which a request proved its caller's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A session that began with a sign-in.
    Session {
        /// The session's identifier.
        id: Id,
        /// Key for CSRF tokens in forms of this session, derived from its secret.
        csrf_key: [u8; 32],
    },
    /// A personal access token.
    Token {
        /// Identifier of the token.
        id: Id,
    },
    /// Login and password sent with the request itself.
    Password,
}

/// The user who makes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The user, with all groups.
    pub principal: Principal,
    /// Credential that the user presented.
    pub credential: Credential,
    /// Language, theme and time zone.
    pub preferences: Preferences,
}

/// Origin of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The client's address, as far as it can be trusted; never one that the client itself claims.
    pub address: IpAddr,
    /// Name that the client gives itself (its user agent), or empty.
    pub agent: String,
    /// The device secret that the client received at an earlier sign-in, if it presents one.
    pub device: Option<String>,
}

/// Purpose for which a password is presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To begin a session or renew its proof. The caller of the check records the success.
    Session,
    /// To authenticate one request. The check itself records the success.
    Request,
    /// To replace the password by a new one. The old password may therefore be a forbidden one.
    Change,
}

impl Purpose {
    pub(super) fn asks_list(self) -> bool {
        self != Self::Change
    }
}

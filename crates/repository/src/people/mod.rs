//! People: accounts, groups, roles, and how a request proves whose it is.
//!
//! Identity functions stand on [`Repository`](crate::Repository), because nobody is known before them; everything else stands
//! on [`Session`](crate::Session) and asks first what the caller may do. This module must not know content.

mod accounts;
mod cache;
mod devices;
mod first_start;
mod groups;
mod identity;
mod links;
mod names;
pub(crate) mod password;
mod password_list;
mod proof;
mod roles;
mod secret;
mod sign_in;
#[cfg(feature = "testing")]
mod testing;
mod text;
mod throttle;
mod tokens;
mod web_sessions;

#[cfg(test)]
mod tests;

use std::sync::atomic::AtomicI64;

use crate::farm::busy::Busy;

pub use accounts::{AccountChange, NewAccount};
pub use database::configuration::account::Account;
pub use database::configuration::event::Event as FarmEvent;
pub use database::configuration::group::{Group, Member};
pub use database::configuration::principal::PrincipalName;
pub use database::configuration::token::Token;
pub use database::configuration::web_session::WebSession;
pub use devices::DEVICE_LIFE;
pub use identity::{Caller, Credential};
pub(crate) use links::link_hash;
pub use password::{MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS, generate_password};
pub use password_list::PasswordList;
pub use sign_in::{Client, SignedIn};
pub use tokens::{NewToken, TokenWish};

/// What the identity functions keep in memory, once for each open farm.
pub(crate) struct Identities {
    hasher: password::Hasher,
    verified: cache::VerifiedPasswords,
    /// Who changes their own password.
    changes: Busy,
    held: cache::Credentials,
    groups: cache::GroupCache,
    names: cache::NameCache,
    touches: cache::Touches,
    /// When this process last dropped old counters and sessions, in microseconds.
    purged_at: AtomicI64,
}

impl Identities {
    /// Nothing in memory yet.
    ///
    /// # Errors
    /// Unavailable, when the operating system gives no random numbers.
    pub(crate) fn new() -> model::Result<Self> {
        Ok(Self {
            hasher: password::Hasher::new(),
            verified: cache::VerifiedPasswords::new()?,
            changes: Busy::new(1),
            held: cache::Credentials::default(),
            groups: cache::GroupCache::default(),
            names: cache::NameCache::default(),
            touches: cache::Touches::default(),
            purged_at: AtomicI64::new(0),
        })
    }
}

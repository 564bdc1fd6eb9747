//! People: accounts, groups, roles, and authentication of requests.
//!
//! Identity functions are methods of [`Repository`](crate::Repository), because no user is known before they run.
//! Everything else is a method of [`Session`](crate::Session) and first checks the caller's rights. This module must
//! not know content.

mod accounts;
mod cache;
mod caller;
mod devices;
mod edit_tokens;
mod first_start;
mod groups;
pub(crate) mod identities;
mod identity;
mod links;
mod names;
pub(crate) mod password;
mod password_links;
mod password_list;
mod profiles;
mod proof;
mod roles;
mod secret;
mod sign_in;
#[cfg(feature = "testing")]
mod testing;
pub(crate) mod text;
mod throttle;
mod tokens;
mod web_sessions;

#[cfg(test)]
mod tests;

pub use accounts::{AccountChange, NewAccount};
pub use caller::Client;
pub use caller::{Caller, Credential};
pub use database::configuration::account::Account;
pub use database::configuration::event::Event as FarmEvent;
pub use database::configuration::group::{Group, Member};
pub use database::configuration::principal::PrincipalName;
pub use database::configuration::profile::Profile;
pub use database::configuration::token::Token;
pub use database::configuration::web_session::WebSession;
pub use devices::DEVICE_LIFE;
pub use edit_tokens::{EditAccess, EditToken};
pub(crate) use identity::CLOCK_TOLERANCE;
pub(crate) use links::link_hash;
pub use password::{MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS, generate_password};
pub use password_links::{PasswordLink, PasswordLinkUser};
pub use password_list::PasswordList;
pub use profiles::MAX_ABOUT_CHARS;
pub use sign_in::SignedIn;
pub(crate) use throttle::client_network;
pub use tokens::{NewToken, NewTokenRequest};

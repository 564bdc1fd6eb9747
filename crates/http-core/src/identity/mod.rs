//! Who makes a request, and that nobody makes it in somebody's name. The repository decides whose a credential is.

mod caller;
pub mod cookies;
pub mod csrf;

pub use caller::{Authenticated, client, client_of, device_cookie, from_cookie, session_cookie, session_secret};

//! Authentication of requests and protection against forged ones. The repository decides to which account a credential
//! belongs.

mod caller;
pub mod cookies;
pub mod csrf;

pub use caller::{
    Authenticated, client, client_of, device_cookie, from_cookie, session_cookie, session_of, session_secret,
};

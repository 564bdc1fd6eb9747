//! One connection, from its first byte on: what proxies say in front of it, TLS, and how long a client may let it wait.
//! Must not know what is asked on it.

pub mod preface;
pub mod proxy;
pub mod stall;
pub mod tls;
pub mod traffic;
mod untaken;

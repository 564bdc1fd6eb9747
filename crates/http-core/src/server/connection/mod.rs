//! One connection from its first byte on: the PROXY protocol in front of it, TLS, and limits on how long a client may
//! stall it. Must not know what is requested on it.

mod http2_stall;
pub mod preface;
pub mod proxy;
pub mod stall;
pub mod tls;
pub mod traffic;

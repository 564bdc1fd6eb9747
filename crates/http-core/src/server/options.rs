//! Configuration of a server, taken from the settings of the farm.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::trust::{PublicUrl, Trust};
use crate::office_server::OfficeServer;

/// Longest time without progress while a response is being sent.
pub const STALL_LIMIT: Duration = Duration::from_secs(60);

/// Address and settings of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 lets the system choose one.
    pub listen: SocketAddr,
    /// Certificate and key; without them the server speaks plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Time that requests in flight at shutdown may still take.
    pub grace: Duration,
    /// Time without progress after which a client that does not read its response is given up.
    pub stall: Duration,
    /// True if a proxy in front terminates TLS. Cookies are then `Secure`, and Basic credentials are accepted from
    /// trusted proxies.
    pub behind_tls_proxy: bool,
    /// The trusted proxies, and the source of client addresses.
    pub trust: Trust,
    /// Scheme and host of links, redirects, cookies and our own origin. Without it, the field `Host` of each request
    /// decides.
    pub public_url: Option<PublicUrl>,
    /// True if `PROPFIND` with `Depth: infinity` returns the whole tree; otherwise it is refused.
    pub webdav_depth_infinity: bool,
    /// Token that programs need to read `/metrics`. Without it, only programs on this machine may.
    pub metrics_token: Option<String>,
    /// Limits on clients.
    pub limits: Limits,
    /// The program that renders office documents as pages. Without it, only their text is shown. See
    /// [`crate::Converter::find`].
    pub converter: Option<PathBuf>,
    /// The office server that edits documents in the browser.
    pub office_server: Option<OfficeServer>,
}

/// Limits on clients; 0 means no limit. Requests from this machine are not limited by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of open connections.
    pub connections: usize,
    /// Maximum number of open connections per address; for IPv6, per /64 network.
    pub connections_per_address: usize,
    /// Limit on concurrent requests per client address.
    pub requests_per_address: usize,
    /// Limit on concurrent requests per user.
    pub requests_per_user: usize,
    /// Minimum rate of a request body in bytes per second, after 30 seconds in which it may be slower.
    pub body_rate: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8_192,
            connections_per_address: 256,
            requests_per_address: 512,
            requests_per_user: 256,
            body_rate: 500,
        }
    }
}

/// A certificate chain and its private key, both in PEM files.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The server's certificate first, then its issuers.
    pub certificate: PathBuf,
    /// The private key: PKCS#8, PKCS#1 or SEC1.
    pub key: PathBuf,
}

impl Options {
    /// Plain HTTP on `listen`, with ten seconds of grace at shutdown and a limit of one minute for clients that stop
    /// reading.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            tls: None,
            grace: Duration::from_secs(10),
            stall: STALL_LIMIT,
            behind_tls_proxy: false,
            trust: Trust::default(),
            public_url: None,
            webdav_depth_infinity: false,
            metrics_token: None,
            limits: Limits::default(),
            converter: None,
            office_server: None,
        }
    }
}

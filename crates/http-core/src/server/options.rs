//! How a server is set up, as the settings of the farm say it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::trust::{PublicUrl, Trust};

/// Longest time without any progress while an answer is being sent.
pub const STALL_LIMIT: Duration = Duration::from_secs(60);

/// Where and how to serve.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 lets the system choose one.
    pub listen: SocketAddr,
    /// Certificate and key; without them the server speaks plain HTTP.
    pub tls: Option<TlsFiles>,
    /// How long requests that are under way at shutdown may still take.
    pub grace: Duration,
    /// How long a client may take nothing of an answer before it is given up.
    pub stall: Duration,
    /// Whether a proxy in front ends TLS: cookies are then `Secure` and Basic credentials are accepted from trusted proxies.
    pub behind_tls_proxy: bool,
    /// Which proxies are believed about clients, and what they tell.
    pub trust: Trust,
    /// Scheme and host of links, redirects, cookies and our own origin; without it the field `Host` of each request decides.
    pub public_url: Option<PublicUrl>,
    /// Whether `PROPFIND` answers `Depth: infinity` with the whole tree; otherwise it is refused.
    pub webdav_depth_infinity: bool,
    /// What programs show to read `/metrics`; without it only those on this very machine may.
    pub metrics_token: Option<String>,
    /// What clients may take of the server at a time.
    pub limits: Limits,
    /// The program that makes pages of office documents; without it their text is shown alone. See [`crate::Converter::find`].
    pub converter: Option<PathBuf>,
}

/// What clients may take of the server at a time; 0 is no limit. What comes from this very machine is not limited by
/// its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most open connections.
    pub connections: usize,
    /// Most open connections of one address; of IPv6, of one network of 64 bits.
    pub connections_per_address: usize,
    /// Most requests under way of one address.
    pub requests_per_address: usize,
    /// Most requests under way of one person.
    pub requests_per_user: usize,
    /// Fewest bytes a second of a body, after half a minute in which it may be slower.
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
    /// Plain HTTP on `listen`, with ten seconds of grace at shutdown and a minute for clients that stop reading.
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
        }
    }
}

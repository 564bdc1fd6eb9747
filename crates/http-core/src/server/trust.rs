//! Trusted proxies, the information accepted from them, and the public URL of this server. Must not know requests.

use std::net::IpAddr;
use std::str::FromStr;

use axum::http::Uri;
use model::{Error, Network, Result};

/// Source of the client's address behind trusted proxies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressSource {
    /// None: the peer of the connection is the client.
    #[default]
    Peer,
    /// `X-Forwarded-For`, with `X-Forwarded-Proto` and `X-Forwarded-Host`.
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
    /// The PROXY protocol, version 1 or 2, in front of each connection.
    ProxyProtocol,
}

impl FromStr for AddressSource {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "peer" => Ok(Self::Peer),
            "x-forwarded-for" => Ok(Self::XForwardedFor),
            "forwarded" => Ok(Self::Forwarded),
            "proxy-protocol" => Ok(Self::ProxyProtocol),
            _ => Err(Error::invalid(format!(
                "\"{}\" cannot be client_address: set it to peer, x-forwarded-for, forwarded or proxy-protocol",
                text.escape_debug()
            ))),
        }
    }
}

/// The trusted proxies, and the source of client addresses.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    networks: Vec<Network>,
    /// Source of the client's address.
    pub source: AddressSource,
}

impl Trust {
    /// Trusts proxies in these networks, each an address or `ADDRESS/BITS`.
    ///
    /// # Errors
    /// Invalid for a text that is not a network, and for a source other than `peer` without any network.
    pub fn new<'n>(networks: impl IntoIterator<Item = &'n str>, source: AddressSource) -> Result<Self> {
        let networks = networks.into_iter().map(network).collect::<Result<Vec<_>>>()?;
        if networks.is_empty() && source != AddressSource::Peer {
            return Err(Error::invalid(
                "client_address takes the client's address from proxies, but trusted_proxies names none: set it to the \
                 addresses or networks of your proxies",
            ));
        }
        Ok(Self { networks, source })
    }

    /// Returns whether this is the address of a trusted proxy.
    pub fn has(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }
}

fn network(text: &str) -> Result<Network> {
    text.parse().map_err(|_| {
        Error::invalid(format!(
            "\"{}\" in trusted_proxies is not an address or network: write, for example, 10.0.0.5 or 2001:db8::/64",
            text.escape_debug()
        ))
    })
}

/// The public URL of this server: scheme and host, with a port if it is not the default one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    pub(super) https: bool,
    pub(super) authority: String,
}

impl PublicUrl {
    /// Returns whether browsers reach the server over TLS.
    pub fn is_https(&self) -> bool {
        self.https
    }
}

impl FromStr for PublicUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::invalid(format!(
                "\"{}\" cannot be public_url: write only the scheme and host, such as https://documents.example.org",
                text.escape_debug()
            ))
        };
        let uri: Uri = text.trim().parse().map_err(|_| bad())?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(bad()),
        };
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(bad)?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() || authority.host().is_empty() {
            return Err(bad());
        }
        let host = authority.host().to_ascii_lowercase();
        let usual = if https { 443 } else { 80 };
        let port = authority.port_u16().filter(|port| *port != usual);
        Ok(Self { https, authority: port.map_or_else(|| host.clone(), |port| format!("{host}:{port}")) })
    }
}

/// The client of a connection, as announced by the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced(pub IpAddr);

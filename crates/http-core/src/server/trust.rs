//! Which proxies are believed, what they tell, and the address that people know this server by. Must not know requests.

use std::net::IpAddr;
use std::str::FromStr;

use axum::http::Uri;
use model::{Error, Network, Result};

/// Where trusted proxies write the client's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressSource {
    /// Nowhere: the other end of the connection is the client.
    #[default]
    Peer,
    /// In `X-Forwarded-For`, with `X-Forwarded-Proto` and `X-Forwarded-Host`.
    XForwardedFor,
    /// In `Forwarded` (RFC 7239).
    Forwarded,
    /// In front of each connection, by the PROXY protocol 1 or 2.
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
                "\"{}\" says nothing about addresses of clients: client_address is peer, x-forwarded-for, forwarded or \
                 proxy-protocol",
                text.escape_debug()
            ))),
        }
    }
}

/// Which proxies are believed, and what they tell.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    networks: Vec<Network>,
    /// Where the client's address stands.
    pub source: AddressSource,
}

impl Trust {
    /// Believes proxies in these networks, each an address or `ADDRESS/BITS`.
    ///
    /// # Errors
    /// Invalid for what is no network, and for a source other than `peer` without any network.
    pub fn new<'n>(networks: impl IntoIterator<Item = &'n str>, source: AddressSource) -> Result<Self> {
        let networks = networks.into_iter().map(network).collect::<Result<Vec<_>>>()?;
        if networks.is_empty() && source != AddressSource::Peer {
            return Err(Error::invalid(
                "client_address says that proxies tell the client's address, but trusted_proxies names none: set it to the \
                 addresses or networks of your proxies",
            ));
        }
        Ok(Self { networks, source })
    }

    /// Whether this is the address of a trusted proxy.
    pub fn has(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }
}

fn network(text: &str) -> Result<Network> {
    text.parse().map_err(|_| {
        Error::invalid(format!(
            "\"{}\" in trusted_proxies is no address or network: write such as 10.0.0.5, 10.0.0.0/24 or 2001:db8::/64",
            text.escape_debug()
        ))
    })
}

/// The address of this server as people know it: scheme and host, with a port where it is not the usual one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    pub(super) https: bool,
    pub(super) authority: String,
}

impl PublicUrl {
    /// Whether browsers reach the server over TLS.
    pub fn is_https(&self) -> bool {
        self.https
    }
}

impl FromStr for PublicUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::invalid(format!(
                "\"{}\" cannot be public_url: write scheme and host alone, such as https://documents.example.org",
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

/// The client of a connection, as the proxy named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced(pub IpAddr);

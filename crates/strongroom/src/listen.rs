//! Parsing and resolution of the address to listen on: an IP address or a host name, and a port. Independent of the
//! server that listens there.

use std::net::SocketAddr;
use std::str::FromStr;

use model::{Error, Result};
use serde::Deserialize;

/// An IP address or a host name, with a port.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub struct Listen(String);

impl Default for Listen {
    fn default() -> Self {
        Self("127.0.0.1:8080".to_owned())
    }
}

impl FromStr for Listen {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = || {
            let (host, port) = text.rsplit_once(':')?;
            // A host with colons or brackets is a malformed address, such as an IPv6 address without brackets.
            (!host.is_empty() && !host.contains([':', '[', ']']) && port.parse::<u16>().is_ok()).then_some(())
        };
        if text.parse::<SocketAddr>().is_ok() || named().is_some() {
            return Ok(Self(text.to_owned()));
        }
        Err(Error::invalid(format!(
            "\"{text}\" is not an address to listen on: write an address or a host name and a port, such as \
             127.0.0.1:8080, [::1]:8080 or localhost:8080"
        )))
    }
}

impl TryFrom<String> for Listen {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl Listen {
    /// Resolves the address. A host name resolves to its first IPv4 address, or to its first address if it has no IPv4
    /// address.
    ///
    /// # Errors
    /// Returns `Invalid` for a host name without an address.
    pub async fn resolve(&self) -> Result<SocketAddr> {
        if let Ok(address) = self.0.parse() {
            return Ok(address);
        }
        let unknown = || {
            Error::invalid(format!("the host name in \"{}\" cannot be resolved: choose another with --listen", self.0))
        };
        let found: Vec<_> =
            tokio::net::lookup_host(&self.0).await.map_err(|error| unknown().with_source(error))?.collect();
        found.iter().find(|address| address.is_ipv4()).or(found.first()).copied().ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses_and_names_are_taken() {
        for (text, address) in
            [("127.0.0.1:80", "127.0.0.1:80"), ("[::1]:0", "[::1]:0"), ("localhost:8080", "127.0.0.1:8080")]
        {
            let listen: Listen = text.parse().unwrap();
            assert_eq!(listen.resolve().await.unwrap(), address.parse().unwrap(), "{text}");
        }
    }

    #[tokio::test]
    async fn what_is_no_place_is_refused_with_an_example() {
        for text in
            ["", "nowhere", ":8080", "localhost:", "localhost:x", "localhost:65536", "::1:80", "[::1]", "a:b:80"]
        {
            let error = text.parse::<Listen>().unwrap_err();
            assert!(error.message().contains("localhost:8080"), "{text}: {error}");
        }
        let unknown: Listen = "no-such-host.invalid:80".parse().unwrap();
        let error = unknown.resolve().await.unwrap_err();
        assert!(error.message().contains("no-such-host.invalid:80"), "{error}");
    }
}

//! Origin of a request: the address of the client behind trusted proxies, and the server's origin as browsers know it.
//!
//! Nothing that a client writes into its own request is trusted; what a trusted proxy adds is. Must not know accounts.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::http::uri::Authority;
use axum::http::{Extensions, HeaderMap, HeaderValue, header};

use super::request::REQUEST_ID;
use super::trust::{AddressSource, Announced, PublicUrl, Trust};

/// Origin of a request, determined once per request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestOrigin {
    /// The client's address.
    pub address: IpAddr,
    /// True if the peer of the connection is a trusted proxy.
    pub through_proxy: bool,
    /// True if the peer of the connection is this machine.
    pub is_local: bool,
    /// Scheme and host under which browsers know this server, such as `https://documents.example.org`.
    pub origin: String,
    /// True if the origin is configured and does not depend on the request.
    pub origin_is_set: bool,
}

impl RequestOrigin {
    /// Determines the origin, and removes everything untrusted from the request: afterwards the field `Host` has the
    /// authoritative value, and an `x-request-id` from untrusted peers is gone.
    pub fn determine(request: &mut Request, trust: &Trust, public: Option<&PublicUrl>, tls: bool) -> Self {
        let peer = peer(request.extensions());
        let through_proxy = trust.has(peer);
        let announced = request.extensions().get::<Announced>().map(|announced| announced.0);
        let headers = request.headers();
        let told = if through_proxy { trust.source } else { AddressSource::Peer };
        let address = match told {
            AddressSource::Peer => peer,
            AddressSource::ProxyProtocol => announced.unwrap_or(peer),
            AddressSource::XForwardedFor => client(peer, trust, x_forwarded_for(headers)),
            AddressSource::Forwarded => client(peer, trust, forwarded(headers).map(|hop| hop.address)),
        };
        let (scheme, host) = match told {
            AddressSource::Peer | AddressSource::ProxyProtocol => (None, None),
            AddressSource::XForwardedFor => (
                last(headers, "x-forwarded-proto").map(str::to_owned),
                last(headers, "x-forwarded-host").map(str::to_owned),
            ),
            AddressSource::Forwarded => forwarded(headers).next().map_or((None, None), |hop| (hop.proto, hop.host)),
        };
        let https = match scheme.as_deref() {
            Some(scheme) if scheme.eq_ignore_ascii_case("https") => true,
            Some(scheme) if scheme.eq_ignore_ascii_case("http") => false,
            _ => tls,
        };
        let (https, host) = match public {
            Some(public) => (public.https, Some(public.authority.clone())),
            None => (https, host.filter(|host| is_authority(host)).or_else(|| own_host(request))),
        };
        let headers = request.headers_mut();
        match host.as_deref().and_then(|host| HeaderValue::from_str(host).ok()) {
            Some(host) => drop(headers.insert(header::HOST, host)),
            None => drop(headers.remove(header::HOST)),
        }
        if !through_proxy {
            headers.remove(REQUEST_ID);
        }
        let scheme = if https { "https" } else { "http" };
        let request_origin = Self {
            address,
            through_proxy,
            is_local: peer.is_loopback(),
            origin: format!("{scheme}://{}", host.unwrap_or_default()),
            origin_is_set: public.is_some(),
        };
        request.extensions_mut().insert(request_origin.clone());
        request_origin
    }

    /// Returns the result of [`RequestOrigin::determine`] for the request with these extensions.
    pub fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }
}

/// The other end of the connection.
fn peer(extensions: &Extensions) -> IpAddr {
    // Every served connection has an address. Only a router that is called directly has none.
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(address)| address.ip().to_canonical())
}

fn own_host(request: &Request) -> Option<String> {
    let field = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    // HTTP/2 carries the host in the URI of the request.
    field.or_else(|| request.uri().authority().map(Authority::as_str)).map(str::to_owned)
}

fn is_authority(text: &str) -> bool {
    text.parse::<Authority>().is_ok_and(|found| !found.host().is_empty() && !text.contains('@'))
}

/// Returns the client's address from the hops, nearest first: the first hop that is not a trusted proxy. A malformed or
/// obfuscated hop ends the search at the last trusted one.
fn client(peer: IpAddr, trust: &Trust, hops: impl Iterator<Item = Option<IpAddr>>) -> IpAddr {
    let mut believed = peer;
    for hop in hops {
        let Some(address) = hop else { return believed };
        believed = address;
        if !trust.has(address) {
            return believed;
        }
    }
    believed
}

/// The addresses in `X-Forwarded-For`, last one first; `None` for a malformed one.
fn x_forwarded_for(headers: &HeaderMap) -> impl Iterator<Item = Option<IpAddr>> {
    let lines = headers.get_all("x-forwarded-for").iter().rev();
    lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b',')).map(|hop| {
        let text = std::str::from_utf8(hop).ok()?;
        address(text.trim())
    })
}

/// Returns the last value of a list in a header field, which the nearest proxy wrote.
fn last<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let line = headers.get_all(name).iter().next_back()?.to_str().ok()?;
    line.rsplit(',').next().map(str::trim).filter(|value| !value.is_empty())
}

/// One element of `Forwarded`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hop {
    address: Option<IpAddr>,
    proto: Option<String>,
    host: Option<String>,
}

/// The elements of `Forwarded`, last one first. They are split from the right, so that nothing that a client wrote on
/// the left, such as an unpaired quotation mark, changes what the proxies wrote.
fn forwarded(headers: &HeaderMap) -> impl Iterator<Item = Hop> {
    let lines = headers.get_all("forwarded").iter().rev();
    lines.flat_map(|line| from_right(line.as_bytes(), b',')).map(|element| hop(element).unwrap_or_default())
}

/// Parts between separators outside quotation marks, from the right.
fn from_right(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut quoted = false;
        let at = text.iter().rposition(|byte| {
            quoted ^= *byte == b'"';
            *byte == separator && !quoted
        });
        rest = at.map(|at| &text[..at]);
        Some(at.map_or(text, |at| &text[at + 1..]))
    })
}

/// Parses an element; `None` if it is malformed or repeats a parameter.
fn hop(element: &[u8]) -> Option<Hop> {
    let (mut hop, mut seen) = (Hop::default(), Vec::new());
    for pair in from_right(element, b';') {
        let pair = std::str::from_utf8(pair).ok()?.trim();
        if pair.is_empty() {
            continue;
        }
        let (name, value) = pair.split_once('=')?;
        let name = name.to_ascii_lowercase();
        let value = match value.strip_prefix('"') {
            Some(value) => value.strip_suffix('"')?,
            None => value,
        };
        if seen.contains(&name) || value.contains(['"', '\\']) || seen.len() >= 8 {
            return None;
        }
        match name.as_str() {
            "for" => hop.address = address(value),
            "proto" => hop.proto = Some(value.to_owned()),
            "host" => hop.host = Some(value.to_owned()),
            _ => {}
        }
        seen.push(name);
    }
    Some(hop)
}

/// Parses an address with or without a port, IPv6 with or without brackets.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.parse::<IpAddr>().ok();
    let found = bare.or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    let found = found.or_else(|| text.strip_prefix('[')?.strip_suffix(']')?.parse().ok());
    found.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests;

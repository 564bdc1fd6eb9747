//! The PROXY protocol, versions 1 and 2: a trusted proxy announces the client's address in front of each connection.
//!
//! It is required from trusted proxies and refused from all others, whose bytes would not be HTTP. Knows no HTTP.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::Pin;
use std::time::Duration;

use axum::Extension;
use axum::middleware::AddExtension;
use axum_server::accept::Accept;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;
use tower::Layer;

use crate::server::trust::{AddressSource, Announced, Trust};

/// The first bytes of version 2.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Longest line of version 1, including its end.
const MAX_LINE: usize = 107;
/// Limit on the bytes after the header of version 2: addresses, and extensions that are skipped.
const MAX_V2_REST: usize = 4_096;

/// Accepts connections. From those of trusted proxies it reads the client's address.
#[derive(Clone)]
pub struct ProxyAcceptor<A> {
    inner: A,
    trust: Trust,
    limit: Duration,
}

impl<A> ProxyAcceptor<A> {
    /// Waits for the announcement for at most `limit`, if the address source is this protocol.
    pub fn new(inner: A, trust: Trust, limit: Duration) -> Self {
        Self { inner, trust, limit }
    }
}

impl<A, S> Accept<TcpStream, S> for ProxyAcceptor<A>
where
    A: Accept<TcpStream, AddExtension<S, Announced>> + Clone + Send + 'static,
    A::Future: Send + 'static,
    S: Send + 'static,
{
    type Stream = A::Stream;
    type Service = A::Service;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, mut stream: TcpStream, service: S) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let peer = stream.peer_addr()?.ip().to_canonical();
            let mut announced = None;
            if this.trust.source == AddressSource::ProxyProtocol && this.trust.has(peer) {
                let reading = tokio::time::timeout(this.limit, announcement(&mut stream));
                announced = reading.await.map_err(|_| io::Error::from(ErrorKind::TimedOut))??;
            }
            let service = Extension(Announced(announced.unwrap_or(peer))).layer(service);
            this.inner.accept(stream, service).await
        })
    }
}

/// Reads the proxy's announcement and no byte after it. Returns `None` when the connection is the proxy's own or the
/// client is unknown to it.
pub async fn announcement(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<IpAddr>> {
    // No announcement is shorter.
    let mut head = [0; 12];
    stream.read_exact(&mut head).await?;
    if head == SIGNATURE {
        return second(stream).await;
    }
    if !head.starts_with(b"PROXY ") {
        return Err(bad("a trusted proxy did not begin the connection with the PROXY protocol"));
    }
    let mut line = head.to_vec();
    while !line.ends_with(b"\r\n") {
        if line.len() == MAX_LINE {
            return Err(bad("the line of the PROXY protocol does not end"));
        }
        line.push(stream.read_u8().await?);
    }
    first(&line[..line.len() - 2])
}

fn first(line: &[u8]) -> io::Result<Option<IpAddr>> {
    let garbled = || bad("the line of the PROXY protocol is garbled");
    let text = std::str::from_utf8(line).map_err(|_| garbled())?;
    let parts: Vec<&str> = text.split(' ').collect();
    let address: IpAddr = match parts[..] {
        ["PROXY", "UNKNOWN", ..] => return Ok(None),
        ["PROXY", "TCP4", from, to, ..] => {
            to.parse::<Ipv4Addr>().map_err(|_| garbled())?;
            from.parse::<Ipv4Addr>().map_err(|_| garbled())?.into()
        }
        ["PROXY", "TCP6", from, to, ..] => {
            to.parse::<Ipv6Addr>().map_err(|_| garbled())?;
            from.parse::<Ipv6Addr>().map_err(|_| garbled())?.into()
        }
        _ => return Err(garbled()),
    };
    let ports = parts.get(4..).unwrap_or_default();
    if ports.len() != 2 || ports.iter().any(|port| port.parse::<u16>().is_err()) {
        return Err(garbled());
    }
    Ok(Some(address.to_canonical()))
}

async fn second(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<IpAddr>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    if length > MAX_V2_REST {
        return Err(bad("the head of the PROXY protocol is too long"));
    }
    let mut rest = vec![0; length];
    stream.read_exact(&mut rest).await?;
    let too_short = || bad("the head of the PROXY protocol ends before its addresses");
    match (head[0], head[1]) {
        // The proxy's own connection, such as a health check.
        (0x20, _) => Ok(None),
        (0x21, 0x11 | 0x12) => {
            let from = rest.get(..12).and_then(|all| all.first_chunk::<4>()).ok_or_else(too_short)?;
            Ok(Some(Ipv4Addr::from(*from).into()))
        }
        (0x21, 0x21 | 0x22) => {
            let from = rest.get(..36).and_then(|all| all.first_chunk::<16>()).ok_or_else(too_short)?;
            Ok(Some(IpAddr::V6(Ipv6Addr::from(*from)).to_canonical()))
        }
        (0x21, _) => Ok(None),
        _ => Err(bad("the version of the PROXY protocol is not supported")),
    }
}

fn bad(text: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8]) -> Result<(Option<String>, usize), ErrorKind> {
        let mut rest = bytes;
        let found = announcement(&mut rest).await.map_err(|error| error.kind())?;
        Ok((found.map(|address| address.to_string()), rest.len()))
    }

    fn v2(command: u8, family: u8, length: u16, body: &[u8]) -> Vec<u8> {
        [&SIGNATURE[..], &[command, family], &length.to_be_bytes(), body].concat()
    }

    #[tokio::test]
    async fn both_versions_are_read_to_their_end_and_not_further() {
        let four = [203, 0, 113, 7, 10, 0, 0, 1, 0, 1, 0, 2];
        let six = [&Ipv6Addr::from_bits(7).octets()[..], &[0; 20]].concat();
        for (bytes, client) in [
            (b"PROXY TCP4 203.0.113.7 10.0.0.1 4711 80\r\n".to_vec(), Some("203.0.113.7")),
            (b"PROXY TCP6 ::7 ::1 4711 80\r\n".to_vec(), Some("::7")),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (v2(0x21, 0x11, 12, &four), Some("203.0.113.7")),
            (v2(0x21, 0x11, 15, &[&four[..], b"tlv"].concat()), Some("203.0.113.7")),
            (v2(0x21, 0x21, 36, &six), Some("::7")),
            (v2(0x20, 0x00, 0, b""), None),
            (v2(0x21, 0x31, 2, b"xx"), None),
        ] {
            let whole = [&bytes[..], b"GET / HTTP/1.1"].concat();
            assert_eq!(read(&whole).await, Ok((client.map(str::to_owned), 14)), "{bytes:?}");
        }
    }

    #[tokio::test]
    async fn lies_and_rubbish_end_the_connection() {
        let four = [203, 0, 113, 7, 10, 0, 0, 1, 0, 1, 0, 2];
        for bytes in [
            b"GET / HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(),
            [&b"PROXY TCP4 "[..], &[b'1'; 200]].concat(),
            b"PROXY TCP4 203.0.113.7 10.0.0.1 4711 99999\r\n".to_vec(),
            b"PROXY TCP4 203.0.113.7 10.0.0.1 4711\r\n".to_vec(),
            b"PROXY TCP4 ::7 ::1 1 2\r\n".to_vec(),
            b"PROXY TCP5 203.0.113.7 10.0.0.1 1 2\r\n".to_vec(),
            v2(0x21, 0x11, 11, &four),
            v2(0x21, 0x21, 12, &four),
            v2(0x31, 0x11, 12, &four),
            v2(0x21, 0x11, 60_000, &four),
            v2(0x21, 0x11, 13, &four),
        ] {
            assert!(read(&bytes).await.is_err(), "{bytes:?}");
        }
    }
}

//! Networks of clients: a single address, or all addresses with a common prefix.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::{Code, Error, Result};

/// An IPv4 or IPv6 network, or a single address. IPv4 written as IPv6 counts as IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The first address.
    first: IpAddr,
    /// Length of the common prefix in bits.
    bits: u8,
}

/// Returns an address as a number, and its width in bits.
fn number(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(v4) => (v4.to_bits().into(), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

/// Clears all but the first `bits` of a number.
fn cut(number: u128, width: u8, bits: u8) -> u128 {
    let rest = u32::from(width - bits);
    number.checked_shr(rest).unwrap_or(0).checked_shl(rest).unwrap_or(0)
}

impl Network {
    /// Returns whether an address belongs to it.
    pub fn contains(&self, address: IpAddr) -> bool {
        let ((address, width), (first, of)) = (number(address.to_canonical()), number(self.first));
        width == of && cut(address, width, self.bits) == first
    }
}

impl FromStr for Network {
    type Err = Error;

    /// Parses an address or `ADDRESS/BITS`; bits after the prefix are dropped.
    fn from_str(text: &str) -> Result<Self> {
        let read = || {
            let (address, bits) = text.trim().split_once('/').map_or((text.trim(), None), |(a, b)| (a, Some(b)));
            let written: IpAddr = address.parse().ok()?;
            let whole = number(written).1;
            let bits = match bits {
                Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => bits.parse::<u8>().ok()?,
                Some(_) => return None,
                None => whole,
            };
            let address = written.to_canonical();
            let width = number(address).1;
            let bits = bits.checked_sub(whole - width).filter(|bits| *bits <= width)?;
            let first = cut(number(address).0, width, bits);
            let first = match address {
                IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(first).ok()?)),
                IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(first)),
            };
            Some(Self { first, bits })
        };
        read().ok_or_else(|| {
            Error::invalid(format!(
                "\"{}\" is not an IP address or network: use a form such as 10.0.0.5, 10.0.0.0/24 or 2001:db8::/64",
                text.escape_debug()
            ))
            .with_code(Code::InvalidNetwork)
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bits == number(self.first).1 { self.first.fmt(f) } else { write!(f, "{}/{}", self.first, self.bits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    fn has(text: &str, address: &str) -> bool {
        network(text).contains(address.parse().unwrap())
    }

    #[test]
    fn a_network_has_its_addresses_and_no_others() {
        assert!(has("10.0.0.0/24", "10.0.0.255"));
        assert!(!has("10.0.0.0/24", "10.0.1.0"));
        assert!(has("10.0.0.5", "10.0.0.5"));
        assert!(!has("10.0.0.5", "10.0.0.4"));
        assert!(has("10.0.0.0/24", "::ffff:10.0.0.7"));
        assert!(has("::ffff:10.0.0.0/120", "10.0.0.7"));
        assert!(has("2001:db8::/64", "2001:db8::1:2:3:4"));
        assert!(!has("2001:db8::/64", "2001:db8:0:1::"));
        assert!(has("0.0.0.0/0", "255.1.2.3"));
        assert!(!has("0.0.0.0/0", "::1"));
        assert!(has("::/0", "::1"));
        assert!(!has("::/0", "10.0.0.1"));
    }

    #[test]
    fn networks_are_written_shortly_and_read_back() {
        for (text, shown) in [
            ("10.1.2.3/8", "10.0.0.0/8"),
            (" 10.1.2.3/32 ", "10.1.2.3"),
            ("2001:DB8::1/64", "2001:db8::/64"),
            ("::ffff:10.1.2.3", "10.1.2.3"),
            ("0.0.0.0/0", "0.0.0.0/0"),
        ] {
            assert_eq!(network(text).to_string(), shown);
            assert_eq!(network(shown), network(text));
        }
        for bad in ["", "10.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/+8", "::ffff:10.0.0.0/64", "a/8"] {
            assert_eq!(bad.parse::<Network>().unwrap_err().code(), "invalid_network", "{bad}");
        }
    }
}

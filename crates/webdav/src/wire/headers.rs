//! Header fields of WebDAV.

use axum::http::{HeaderMap, header};
use model::{Code, Error, Result};

use super::condition::{self, If};

/// Depth of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Only the resource itself.
    Zero,
    /// The resource and its children.
    One,
    /// The resource and everything below.
    Infinity,
}

/// Default lifetime of a lock in seconds.
const USUAL_LOCK: u64 = 3_600;

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Error::invalid(format!("the field {name} was sent twice: send it once")));
    }
    let bad = || Error::invalid(format!("the field {name} cannot be read"));
    std::str::from_utf8(value.as_bytes()).map(Some).map_err(|_| bad())
}

/// Parses the `Depth` field.
pub fn depth(headers: &HeaderMap) -> Result<Option<Depth>> {
    match text(headers, "depth")?.map(str::trim) {
        None => Ok(None),
        Some("0") => Ok(Some(Depth::Zero)),
        Some("1") => Ok(Some(Depth::One)),
        Some(word) if word.eq_ignore_ascii_case("infinity") => Ok(Some(Depth::Infinity)),
        Some(_) => Err(Error::invalid("Depth must be 0, 1 or infinity")),
    }
}

/// Parses the `Overwrite` field, which defaults to true.
pub fn overwrite(headers: &HeaderMap) -> Result<bool> {
    match text(headers, "overwrite")?.map(str::trim) {
        None | Some("T" | "t") => Ok(true),
        Some("F" | "f") => Ok(false),
        Some(_) => Err(Error::invalid("Overwrite must be T or F")),
    }
}

/// Parses the `If` field.
pub fn condition(headers: &HeaderMap) -> Result<Option<If>> {
    text(headers, "if")?.map(condition::parse).transpose()
}

/// Parses the `Timeout` field and returns seconds. The first valid alternative counts.
pub fn timeout(headers: &HeaderMap) -> Result<u64> {
    let Some(field) = text(headers, "timeout")? else { return Ok(USUAL_LOCK) };
    let wish = field.split(',').map(str::trim).find_map(|wish| match wish.split_once('-') {
        Some((unit, seconds)) if unit.eq_ignore_ascii_case("second") => {
            let digits = !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| seconds.parse().unwrap_or(u64::MAX))
        }
        _ if wish.eq_ignore_ascii_case("infinite") => Some(u64::MAX),
        _ => None,
    });
    Ok(wish.unwrap_or(USUAL_LOCK))
}

/// Returns the token in the `Lock-Token` field.
pub fn lock_token(headers: &HeaderMap) -> Result<&str> {
    let bad = || Error::invalid("Lock-Token must be given as <token>");
    let field = text(headers, "lock-token")?.ok_or_else(bad)?;
    field.trim().strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).ok_or_else(bad)
}

/// Returns the path in the `Destination` field, still percent-encoded.
///
/// # Errors
/// Invalid, with the code `other_host` when the URL is on another host.
pub fn destination(headers: &HeaderMap) -> Result<String> {
    let field = text(headers, "destination")?.map(str::trim);
    let field = field.ok_or_else(|| Error::invalid("the field Destination is missing"))?;
    local_path(headers, field)
}

/// Returns the path of a URL on this host, still percent-encoded.
pub fn local_path(headers: &HeaderMap, address: &str) -> Result<String> {
    let path = match address.split_once("://") {
        None => address,
        Some((scheme, _)) if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) => {
            return Err(Error::invalid("an address begins with http:// or https://, or with a slash"));
        }
        Some((_, rest)) => {
            let (authority, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
            let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
            if host.is_some_and(|host| !same_host(host, authority)) {
                return Err(Error::invalid("the destination is on another server: copy by download and upload")
                    .with_code(Code::OtherHost));
            }
            path
        }
    };
    if path.contains(['?', '#']) {
        return Err(Error::invalid(
            "an address of a document has neither ? nor #: write them as %3F and %23 in a name",
        )
        .with_code(Code::UnexpectedQuery));
    }
    if !path.starts_with('/') {
        return Err(Error::invalid("an address must be absolute: scheme and host, or a path that begins with a slash"));
    }
    Ok(path.to_owned())
}

/// Returns whether two authorities are the same. Default ports are ignored, because a proxy in front may add or remove
/// them.
fn same_host(one: &str, other: &str) -> bool {
    let plain = |text: &str| {
        let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
        host.strip_suffix(":80").or_else(|| host.strip_suffix(":443")).unwrap_or(host).to_ascii_lowercase()
    };
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([
            (name.parse().unwrap(), value.parse().unwrap()),
            (header::HOST, "Host.example:443".parse().unwrap()),
        ])
    }

    #[test]
    fn fields_are_read() {
        assert_eq!(depth(&with("depth", "Infinity")).unwrap(), Some(Depth::Infinity));
        assert_eq!(depth(&HeaderMap::new()).unwrap(), None);
        assert!(depth(&with("depth", "2")).is_err());
        assert!(!overwrite(&with("overwrite", "F")).unwrap());
        assert!(overwrite(&HeaderMap::new()).unwrap());
        assert_eq!(lock_token(&with("lock-token", "<urn:a>")).unwrap(), "urn:a");
        assert!(lock_token(&with("lock-token", "urn:a")).is_err());
        for (field, seconds) in [
            ("Second-10", 10),
            ("Infinite, Second-4100000000", u64::MAX),
            ("Second-99999999999999999999999", u64::MAX),
            ("Extend, Second-7", 7),
            ("Second--1", USUAL_LOCK),
            ("soon", USUAL_LOCK),
        ] {
            assert_eq!(timeout(&with("timeout", field)).unwrap(), seconds, "{field}");
        }
    }

    #[test]
    fn destinations_are_on_this_host() {
        let read = |field: &str| destination(&with("destination", field)).map_err(|error| error.code().as_str());
        assert_eq!(read("http://host.example/dav/a%20b").as_deref(), Ok("/dav/a%20b"));
        assert_eq!(read("/dav/a").as_deref(), Ok("/dav/a"));
        assert_eq!(read("https://user@HOST.example:443").as_deref(), Ok("/"));
        assert_eq!(read("http://other.example/dav/a"), Err("other_host"));
        for cut in ["/dav/a?b", "http://host.example/dav/a#b"] {
            assert_eq!(read(cut), Err("unexpected_query"), "{cut}");
        }
        for bad in ["dav/a", "ftp://host.example/dav/a"] {
            assert_eq!(read(bad), Err("invalid"), "{bad}");
        }
        let mut twice = with("destination", "/dav/a");
        twice.append("destination", "/dav/b".parse().unwrap());
        assert!(destination(&twice).is_err(), "nobody knows which one is meant");
        assert_eq!(destination(&HeaderMap::new()).map_err(|error| error.code().as_str()), Err("invalid"));
    }
}

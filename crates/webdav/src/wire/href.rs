//! URLs below `/dav` and their item paths.

use model::{Code, Error, MAX_DEPTH, Name, NodePath, Result};

use http_core::protocol::segments;

/// URL prefix of WebDAV.
pub const PREFIX: &str = "/dav";

/// Returns the item path for a percent-encoded URL path.
///
/// # Errors
/// Invalid with the code `outside` when the path is not below `/dav`.
pub fn parse(path: &str) -> Result<NodePath> {
    let rest = path.strip_prefix(PREFIX).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let rest = rest.ok_or_else(|| {
        Error::invalid("the address is not below /dav: copy by download and upload").with_code(Code::Outside)
    })?;
    let names = segments::decode(rest)?;
    if names.len() > MAX_DEPTH + 4 {
        return Err(Error::invalid(format!("the path is deeper than {MAX_DEPTH} levels")).with_code(Code::PathTooDeep));
    }
    let names = names.into_iter().map(Name::new).collect::<Result<Vec<_>>>()?;
    Ok(names.into())
}

/// Returns the URL path of an item. The path of a collection ends with a slash.
pub fn write(path: &str, collection: bool) -> String {
    let mut href = PREFIX.to_owned();
    for name in path.split('/').filter(|name| !name.is_empty()) {
        href.push('/');
        href.push_str(&segments::encode(name));
    }
    if collection {
        href.push('/');
    }
    href
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back() {
        for path in ["", "Documents", "Documents/100 % #1+2.txt", "Documents/e\u{301}/\u{e9} 💾", "a/&<>\"'"] {
            for collection in [false, true] {
                assert_eq!(parse(&write(path, collection)).unwrap().to_string(), path);
            }
        }
        assert_eq!(write("", true), "/dav/");
        assert_eq!(write("a b", false), "/dav/a%20b");
        for (bad, code) in
            [("/", "outside"), ("/davx/a", "outside"), ("/dav/%2F", "invalid_path"), ("/dav/..", "invalid_name")]
        {
            assert_eq!(parse(bad).unwrap_err().code(), code, "{bad}");
        }
    }
}

//! The `Authorization` field: Basic (RFC 7617) and Bearer (RFC 6750).

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Code, Error, Result};

/// Credentials that a client presents.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A login name with a password, or with a personal access token instead of the password.
    Basic {
        /// The login name.
        login: String,
        /// The secret.
        secret: String,
    },
    /// A personal access token.
    Bearer(String),
}

impl fmt::Debug for Credentials {
    /// Omits the secret, so that it cannot reach a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Basic { login, .. } => write!(f, "Basic({login:?})"),
            Self::Bearer(_) => f.write_str("Bearer"),
        }
    }
}

/// Longest field that is parsed. None of our credentials is longer.
const MAX_FIELD: usize = 4096;

/// Parses an `Authorization` field. An unknown scheme or a malformed value is an error with code `bad_credentials`; it
/// is never treated as a missing field.
pub fn parse(field: &[u8]) -> Result<Credentials> {
    let bad = || {
        Error::forbidden("the Authorization field is not understood; send Basic or Bearer credentials")
            .with_code(Code::BadCredentials)
    };
    let text = std::str::from_utf8(field).ok().filter(|text| text.len() <= MAX_FIELD).ok_or_else(bad)?;
    let (scheme, value) = text.trim().split_once(' ').ok_or_else(bad)?;
    let value = value.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        let token = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
        return if !value.is_empty() && value.bytes().all(token) {
            Ok(Credentials::Bearer(value.to_owned()))
        } else {
            Err(bad())
        };
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(bad());
    }
    let pair = STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(bad)?;
    let (login, secret) = pair.split_once(':').ok_or_else(bad)?;
    Ok(Credentials::Basic { login: login.to_owned(), secret: secret.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_read_and_never_shown() {
        let basic = parse(b"Basic YW5uYTpzZWM6cmV0").unwrap();
        assert_eq!(basic, Credentials::Basic { login: "anna".into(), secret: "sec:ret".into() });
        assert!(!format!("{basic:?}").contains("ret"));
        assert_eq!(parse(b"bearer  abc-DEF_1.2~3+/=").unwrap(), Credentials::Bearer("abc-DEF_1.2~3+/=".into()));
        assert_eq!(format!("{:?}", parse(b"Bearer secret").unwrap()), "Bearer");
    }

    #[test]
    fn everything_else_is_refused() {
        let long = format!("Bearer {}", "a".repeat(5000));
        let bad: [&[u8]; 10] = [
            b"",
            b"Basic",
            b"Basic !!!",
            b"Basic YW5uYQ==",
            b"Basic /w==",
            b"Bearer ",
            b"Bearer a b",
            b"Digest x=1",
            b"\xff",
            long.as_bytes(),
        ];
        for field in bad {
            assert_eq!(parse(field).unwrap_err().code(), "bad_credentials", "{field:?}");
        }
    }
}

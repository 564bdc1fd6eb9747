//! Cookies. Each is for this host only, and its name begins with `strongroom_` (`__Host-strongroom_` over TLS).

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Returns the decoded value of a cookie. The first one wins when the request has several with this name.
pub fn get(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|field| field.to_str().ok())
        .flat_map(|field| field.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .and_then(|(_, value)| percent_decode_str(value).decode_utf8().ok().map(|value| value.into_owned()))
}

/// A cookie to set.
pub struct Cookie<'a> {
    /// Name.
    pub name: &'a str,
    /// Its value, of any characters.
    pub value: &'a str,
    /// Lifetime in seconds. `None` means until the browser closes; 0 removes the cookie.
    pub seconds: Option<u64>,
    /// True to send the cookie over TLS only.
    pub secure: bool,
}

impl Cookie<'_> {
    /// Adds the cookie to a response. Scripts cannot read it, and browsers do not send it with POST forms of other
    /// sites.
    pub fn set(&self, response: &mut Response) {
        let value = utf8_percent_encode(self.value, NON_ALPHANUMERIC);
        let age = self.seconds.map(|s| format!("; Max-Age={s}")).unwrap_or_default();
        let secure = if self.secure { "; Secure" } else { "" };
        let field = format!("{}={value}; Path=/; HttpOnly; SameSite=Lax{age}{secure}", self.name);
        if let Ok(field) = HeaderValue::from_str(&field) {
            response.headers_mut().append(header::SET_COOKIE, field);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse;

    #[test]
    fn values_of_any_kind_come_back() {
        for value in ["plain", "ü; Path=/evil", "a=b%\r\nSet-Cookie: x", ""] {
            let mut response = ().into_response();
            Cookie { name: "strongroom_x", value, seconds: Some(60), secure: true }.set(&mut response);
            let field = response.headers()[header::SET_COOKIE].to_str().unwrap().to_owned();
            assert!(field.ends_with("; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure"), "{field}");
            let mut headers = HeaderMap::new();
            let sent = format!("other=1; {}", field.split(';').next().unwrap());
            headers.insert(header::COOKIE, sent.parse().unwrap());
            assert_eq!(get(&headers, "strongroom_x").as_deref(), Some(value));
        }
    }
}

//! Cookies. Each is for this host only; names begin with `strongroom_`.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The value of a cookie, decoded; the first when a request has several of the name.
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
    /// Its name.
    pub name: &'a str,
    /// Its value, of any characters.
    pub value: &'a str,
    /// Seconds that it lives; `None` until the browser is closed, 0 removes it.
    pub seconds: Option<u64>,
    /// Whether it is sent over TLS only.
    pub secure: bool,
}

impl Cookie<'_> {
    /// Adds the cookie to an answer. Scripts never see it, other sites never send it with a form.
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

//! Submitted form fields.

use axum::body::Body;
use model::{Code, Error, Id, Result};

use http_core::server::request_body;

use super::page::safe_next;

/// Limit on fields of a form: enough for the largest selection of items with some fields for each.
const MAX_FIELDS: usize = 4 * model::MAX_PAGE;

/// The fields of a form.
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// Parses `application/x-www-form-urlencoded` text.
    pub fn parse(body: &[u8]) -> Result<Self> {
        // Bounds memory: no more fields than the limit and one are kept.
        let fields: Vec<_> = form_urlencoded::parse(body).take(MAX_FIELDS + 1).collect();
        if fields.len() > MAX_FIELDS {
            return Err(too_large());
        }
        Ok(Self(fields.into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()))
    }

    /// Returns the value of a field with Unix line ends, or an empty string.
    pub fn text(&self, name: &str) -> String {
        self.find(name).unwrap_or_default().replace("\r\n", "\n")
    }

    /// Returns the value without surrounding white space.
    pub fn trimmed(&self, name: &str) -> String {
        self.text(name).trim().to_owned()
    }

    /// Returns whether a box was ticked.
    pub fn yes(&self, name: &str) -> bool {
        self.find(name) == Some("yes")
    }

    /// Returns the value as an identifier.
    pub fn id(&self, name: &str) -> Result<Id> {
        self.find(name).unwrap_or_default().parse()
    }

    /// Returns all values of a field.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns all fields in the order in which they were sent.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns all identifiers of a field, including comma-separated ones in a single value. At most 1,000.
    pub fn ids(&self, name: &str) -> Result<Vec<Id>> {
        let texts: Vec<&str> = self.all(name).flat_map(|value| value.split(',')).filter(|t| !t.is_empty()).collect();
        if texts.is_empty() {
            return Err(Error::invalid("nothing was selected; tick something first"));
        }
        if texts.len() > model::MAX_PAGE {
            return Err(Error::invalid("more than 1,000 items were selected; select fewer"));
        }
        texts.into_iter().map(str::parse).collect()
    }

    /// Page to show next.
    pub fn next(&self, fallback: &str) -> String {
        safe_next(self.find("next"), fallback)
    }

    /// Returns all fields but the form token, form-encoded.
    pub fn encoded(&self) -> String {
        let fields = self.pairs().filter(|(key, _)| *key != "form_token");
        form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
    }

    fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Reads the fields of a form of at most `most` bytes. The form token is not checked here.
pub async fn read(body: Body, most: usize) -> Result<Fields> {
    request_body::parse_off_thread(request_body::read_to_end(body, most).await?, Fields::parse).await
}

/// Returns the error for input larger than any form needs.
pub fn too_large() -> Error {
    Error::invalid("what was sent is larger than this page accepts: go back and shorten it").with_code(Code::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_browsers_send_them() {
        let fields = Fields::parse(b"name=a+b%C3%BC&ids=1&ids=2,3&tick=yes&text=a%0D%0Ab&next=%2F%2Fevil").unwrap();
        assert_eq!(fields.text("name"), "a bü");
        assert_eq!(fields.ids("ids").unwrap(), [Id::new(1), Id::new(2), Id::new(3)]);
        assert!(fields.yes("tick"));
        assert!(!fields.yes("name"));
        assert_eq!((fields.text("text").as_str(), fields.text("none").as_str()), ("a\nb", ""));
        assert_eq!(fields.next("/home"), "/home");
        assert!(fields.ids("none").is_err());
        assert!(fields.ids("name").is_err());
        let many = |count: usize| {
            Fields::parse("a&".repeat(count).as_bytes()).map(|_| ()).map_err(|error| error.code().as_str())
        };
        assert_eq!((many(MAX_FIELDS), many(MAX_FIELDS + 1)), (Ok(()), Err("too_large")));
    }
}

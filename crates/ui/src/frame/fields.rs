//! The fields that a form has sent.

use axum::body::Body;
use model::{Code, Error, Id, Result};

use http_core::server::intake;

use super::page::safe_next;

/// Most fields of a form: a selection of as many items as there may be in one, and what goes with each.
const MOST_FIELDS: usize = 4 * model::MAX_PAGE;

/// The fields of a form.
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `application/x-www-form-urlencoded` text.
    pub fn parse(body: &[u8]) -> Result<Self> {
        // No more than that are kept, whatever comes.
        let fields: Vec<_> = form_urlencoded::parse(body).take(MOST_FIELDS + 1).collect();
        if fields.len() > MOST_FIELDS {
            return Err(too_large());
        }
        Ok(Self(fields.into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()))
    }

    /// The value of a field; empty when it is not there. Line ends are those of Unix.
    pub fn text(&self, name: &str) -> String {
        self.find(name).unwrap_or_default().replace("\r\n", "\n")
    }

    /// The value without space around it.
    pub fn trimmed(&self, name: &str) -> String {
        self.text(name).trim().to_owned()
    }

    /// Whether a box was ticked.
    pub fn yes(&self, name: &str) -> bool {
        self.find(name) == Some("yes")
    }

    /// An identifier.
    pub fn id(&self, name: &str) -> Result<Id> {
        self.find(name).unwrap_or_default().parse()
    }

    /// All values of a field.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All fields, in the order in which they were sent.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// All identifiers of a field, also when several stand in one value, at most 1,000.
    pub fn ids(&self, name: &str) -> Result<Vec<Id>> {
        let texts: Vec<&str> = self.all(name).flat_map(|value| value.split(',')).filter(|t| !t.is_empty()).collect();
        if texts.is_empty() {
            return Err(Error::invalid("nothing was selected; tick something first"));
        }
        if texts.len() > model::MAX_PAGE {
            return Err(Error::invalid("more than 1,000 items were selected; take fewer at a time"));
        }
        texts.into_iter().map(str::parse).collect()
    }

    /// Where to go afterwards.
    pub fn next(&self, fallback: &str) -> String {
        safe_next(self.find("next"), fallback)
    }

    /// All but the form token, as a form sends them.
    pub fn encoded(&self) -> String {
        let fields = self.pairs().filter(|(key, _)| *key != "form_token");
        form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
    }

    fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Reads the fields of a form of at most so many bytes, whose token is not checked here.
pub async fn read(body: Body, most: usize) -> Result<Fields> {
    intake::apart(intake::whole(body, most).await?, Fields::parse).await
}

/// The answer to more text than any form needs.
pub fn too_large() -> Error {
    Error::invalid("what was sent is larger than this page takes: go back and shorten it").with_code(Code::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_browsers_send_them() {
        let fields = Fields::parse(b"name=a+b%C3%BC&ids=1&ids=2,3&tick=yes&text=a%0D%0Ab&next=%2F%2Fevil").unwrap();
        assert_eq!(fields.text("name"), "a bü");
        assert_eq!(fields.ids("ids").unwrap(), [Id::new(1), Id::new(2), Id::new(3)]);
        assert!(fields.yes("tick") && !fields.yes("name"));
        assert_eq!((fields.text("text").as_str(), fields.text("none").as_str()), ("a\nb", ""));
        assert_eq!(fields.next("/home"), "/home");
        assert!(fields.ids("none").is_err() && fields.ids("name").is_err());
        let many = |count: usize| {
            Fields::parse("a&".repeat(count).as_bytes()).map(|_| ()).map_err(|error| error.code().as_str())
        };
        assert_eq!((many(MOST_FIELDS), many(MOST_FIELDS + 1)), (Ok(()), Err("too_large")));
    }
}

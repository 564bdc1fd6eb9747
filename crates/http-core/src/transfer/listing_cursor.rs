//! Positions in listings as opaque tokens, for pages and REST alike. They are sealed for the caller and the listing, so
//! that nobody can compare values of their choice with the item that ended a page.

use async_recursion::async_recursion as boxed;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::{Code, Error, Id, Result, SortValue, Timestamp};
use repository::{Filter, Session, Sort, SortKey};

use crate::protocol::cursor;

/// Longest token that is decoded.
const MAX_TOKEN_BYTES: usize = 8_192;

/// The listing that a position belongs to.
pub struct Listing<'a> {
    /// The listed item.
    pub item: Id,
    /// Sort order.
    pub sort: Sort,
    /// True for the reverse order.
    pub descending: bool,
    /// Filter of the listing.
    pub filter: &'a Filter,
}

impl Listing<'_> {
    /// Returns a text that is the same for the same listing.
    fn name(&self) -> String {
        let Self { item, sort, descending, filter } = self;
        format!("{item} {sort:?} {descending} {filter:?}")
    }
}

/// Seals a position.
#[boxed]
pub async fn seal(session: &Session, listing: &Listing<'_>, place: &SortKey) -> Result<String> {
    Ok(URL_SAFE_NO_PAD.encode(session.seal_place(&listing.name(), &write(place)).await?))
}

/// Opens a token that [`seal`] made for the same caller and listing. Anything else is an error with the code
/// `invalid_cursor`.
#[boxed]
pub async fn open(session: &Session, listing: &Listing<'_>, text: &str) -> Result<SortKey> {
    let sealed = URL_SAFE_NO_PAD.decode(text).ok().filter(|_| text.len() <= MAX_TOKEN_BYTES);
    match session.open_place(&listing.name(), &sealed.unwrap_or_default()).await? {
        Some(place) => read(&place),
        None => Err(bad()),
    }
}

fn bad() -> Error {
    Error::invalid("the cursor was not issued to you for this listing; start again at the first page")
        .with_code(Code::InvalidCursor)
}

/// Encodes a position.
pub fn write(place: &SortKey) -> String {
    let two = |kind: &str, first: &str, second: &str| cursor::encode([kind, first, second]);
    match place {
        SortKey::Container(name) => two("c", name, ""),
        SortKey::Name(name) => two("n", name, ""),
        SortKey::Modified(at, id) => two("m", &at.micros().to_string(), &id.to_string()),
        SortKey::Size(size, id) => two("s", &size.to_string(), &id.to_string()),
        SortKey::Person(person, name) => two("p", &person.get().to_string(), name),
        SortKey::Type(kind, name) => two("k", kind, name),
        SortKey::Row(id) => two("r", &id.get().to_string(), ""),
        SortKey::Field(value, id) => two("f", &format!("{} {}", value.number, value.text), &id.get().to_string()),
        SortKey::Empty(id) => two("e", &id.get().to_string(), ""),
        SortKey::Named(person, id) => two("w", &person.get().to_string(), &id.get().to_string()),
        SortKey::Absent(name) => two("a", name, ""),
    }
}

/// Decodes a position that [`write()`] encoded. Anything else is an error with the code `invalid_cursor`.
pub fn read(text: &str) -> Result<SortKey> {
    let [kind, first, second] = cursor::decode::<3>(text)?;
    let integer = |text: &str| text.parse::<i64>().map_err(|_| bad());
    let id = |text: &str| integer(text).map(Id::new);
    Ok(match kind.as_str() {
        "c" => SortKey::Container(first),
        "n" => SortKey::Name(first),
        "m" => SortKey::Modified(Timestamp::from_micros(integer(&first)?), id(&second)?),
        "s" => SortKey::Size(integer(&first)?, id(&second)?),
        "p" => SortKey::Person(id(&first)?, second),
        "k" => SortKey::Type(first, second),
        "r" => SortKey::Row(id(&first)?),
        "f" => {
            let (number, text) = first.split_once(' ').ok_or_else(bad)?;
            let number = number.parse::<f64>().ok().filter(|number| !number.is_nan()).ok_or_else(bad)?;
            SortKey::Field(SortValue { number, text: text.to_owned() }, id(&second)?)
        }
        "e" => SortKey::Empty(id(&first)?),
        "w" => SortKey::Named(id(&first)?, id(&second)?),
        "a" => SortKey::Absent(first),
        _ => return Err(bad()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_back() {
        let id = Id::new(7);
        let places = [
            SortKey::Container("größe".into()),
            SortKey::Name("a/b".into()),
            SortKey::Modified(Timestamp::from_micros(-5), id),
            SortKey::Size(0, id),
            SortKey::Person(id, "a".into()),
            SortKey::Type("text/plain".into(), "a".into()),
            SortKey::Row(id),
            SortKey::Field(SortValue { number: 0.0, text: "line break  x".into() }, id),
            SortKey::Field(SortValue::number(-0.1), id),
            SortKey::Field(SortValue::EMPTY, id),
            SortKey::Empty(id),
            SortKey::Named(id, Id::NONE),
            SortKey::Absent(String::new()),
        ];
        for place in places {
            assert_eq!(read(&write(&place)).unwrap(), place);
        }
        let bad = [
            cursor::encode(["other", "", ""]),
            cursor::encode(["m", "x", "1"]),
            cursor::encode(["f", "NaN x", "1"]),
            "zz".into(),
        ];
        for bad in bad {
            assert_eq!(read(&bad).unwrap_err().code(), "invalid_cursor");
        }
    }
}

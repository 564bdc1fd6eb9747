//! Preconditions of changes: `If-Match`, `If-None-Match` and `If-Unmodified-Since`, in the form that the repository
//! checks in the transaction of the change.

use axum::http::{HeaderMap, HeaderName, header};
use model::{Code, Error, Result};
use repository::{Preconditions, Session, Target, VersionChoice};

use crate::protocol::conditional::{parse_date, strong_tag};

/// Returns the preconditions of a change at `target`.
///
/// A time is converted to the tag of the current content, so that a change in between is detected too. Only then is
/// `target` called.
pub async fn of_change(
    session: &Session,
    target: impl FnOnce() -> Target,
    headers: &HeaderMap,
) -> Result<Preconditions> {
    let mut conditions = Preconditions {
        if_match: tags(headers, &header::IF_MATCH)?,
        if_none_match: tags(headers, &header::IF_NONE_MATCH)?,
    };
    if conditions.if_match.is_some() {
        return Ok(conditions);
    }
    let field = headers.get(header::IF_UNMODIFIED_SINCE).and_then(|value| value.to_str().ok());
    if let Some(limit) = field.and_then(parse_date) {
        match session.open(&target(), VersionChoice::Visible).await {
            Ok(present) if present.version.created_at.seconds() > limit => {
                return Err(Error::conflict(
                    "the document was changed after the time in If-Unmodified-Since; read it again first",
                )
                .with_code(Code::PreconditionFailed));
            }
            Ok(present) => conditions.if_match = Some(vec![present.etag()]),
            Err(error) if error.kind() == model::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(conditions)
}

/// Returns the tags of a field without their quotes; `*` stands for itself.
///
/// A weak tag never matches in `If-Match` and counts like a strong one in `If-None-Match`, as RFC 9110 says.
fn tags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Vec<String>>> {
    if !headers.contains_key(name) {
        return Ok(None);
    }
    let bad = || {
        Error::invalid(format!("{name} must be * or a list of entity tags in quotes"))
            .with_code(Code::InvalidPrecondition)
    };
    let mut found = Vec::new();
    let mut listed = false;
    for value in headers.get_all(name) {
        let text = std::str::from_utf8(value.as_bytes()).map_err(|_| bad())?;
        for tag in split(text) {
            listed = true;
            let (weak, strong) = tag.strip_prefix("W/").map_or((false, tag), |rest| (true, rest));
            if tag == "*" {
                found.push("*".to_owned());
            } else if weak && *name == header::IF_MATCH {
                strong_tag(strong).ok_or_else(bad)?;
            } else {
                let quoted = strong_tag(strong).ok_or_else(bad)?;
                let bare = quoted.trim_matches('"');
                // A quoted star is an ordinary tag, and none of ours. It stays quoted and matches nothing.
                found.push(if bare == "*" { quoted } else { bare }.to_owned());
            }
        }
    }
    if listed {
        return Ok(Some(found));
    }
    // A client that sends the field means a precondition.
    let text = format!("{name} names no entity tag: send * or tags in quotes, or leave the field out");
    Err(Error::invalid(text).with_code(Code::InvalidPrecondition))
}

/// Splits a list at commas outside of quotes.
fn split(field: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    field
        .split(move |c| {
            inside ^= c == '"';
            c == ',' && !inside
        })
        .map(str::trim)
        .filter(|tag| !tag.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: HeaderName, value: &'static str) -> Result<Option<Vec<String>>> {
        let mut headers = HeaderMap::new();
        headers.insert(&name, value.parse().unwrap());
        tags(&headers, &name)
    }

    #[test]
    fn tags_lose_their_quotes_and_weak_ones_count_where_they_may() {
        let some = |tags: &[&str]| Some(tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>());
        assert_eq!(tags(&HeaderMap::new(), &header::IF_MATCH).unwrap(), None);
        assert_eq!(read(header::IF_MATCH, "\"a\", \"b,c\"").unwrap(), some(&["a", "b,c"]));
        assert_eq!(read(header::IF_MATCH, "W/\"a\"").unwrap(), some(&[]));
        assert_eq!(read(header::IF_NONE_MATCH, "W/\"a\"").unwrap(), some(&["a"]));
        assert_eq!(read(header::IF_NONE_MATCH, "*").unwrap(), some(&["*"]));
        assert_eq!(read(header::IF_MATCH, "\"*\"").unwrap(), some(&["\"*\""]));
    }

    #[test]
    fn what_is_no_tag_is_refused_instead_of_ignored() {
        for bad in ["", " ", ",", "abc", "\"a", "W/*", "\"a\" \"b\""] {
            for name in [header::IF_MATCH, header::IF_NONE_MATCH] {
                assert_eq!(read(name, bad).unwrap_err().code(), "invalid_precondition", "{bad}");
            }
        }
    }
}

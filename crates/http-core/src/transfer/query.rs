//! Parses query strings, and refuses bad ones with a message that names the fault.

use axum::http::Uri;
use model::{Code, Error, Result};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

/// Parses the query string of an address.
pub fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T> {
    let bad = |why: &str| Error::invalid(format!("the query cannot be read: {why}")).with_code(Code::InvalidQuery);
    if uri.query().is_some_and(|text| percent_decode_str(text).decode_utf8().is_err()) {
        return Err(bad("it is not UTF-8"));
    }
    match axum::extract::Query::<T>::try_from_uri(uri) {
        Ok(axum::extract::Query(fields)) => Ok(fields),
        Err(error) => {
            let text = error.body_text();
            let why = text.rsplit_once("query string: ").map_or(text.as_str(), |(_, why)| why);
            Err(bad(&in_words(why)))
        }
    }
}

/// Rephrases a message of the query parser for users. The numbers in queries are whole and unsigned.
fn in_words(why: &str) -> String {
    let (number, large) = ("it must be a whole number, 0 or more", "the number is too large");
    why.replace("invalid digit found in string", number)
        .replace("cannot parse integer from empty string", number)
        .replace("number too large to fit in target type", large)
}

//! The library of pages in which the users of a run work. Every user may make it: it is harmless if another one has.

use hyper::Method;

use super::user::User;
use crate::wire::{Fault, ReadResponse, RequestBody, RequestBuilder, address};

const LIBRARY: &str = "page library: id";

/// Returns the path of the library.
pub fn path(user: &User) -> String {
    format!("Lab {} pages", user.crowd.run)
}

/// Makes the library, which keeps drafts, and returns its identifier.
pub async fn make(user: &mut User) -> Result<String, Fault> {
    if let Some(id) = user.notes_by_key.get(LIBRARY) {
        return Ok(id.clone());
    }
    let (site, library) = (user.id_at("").await?, path(user));
    let wanted = serde_json::json!({ "name": library, "settings": { "versioning": "major-minor" } });
    let ask = RequestBuilder::new(Method::POST, format!("/api/v1/items/{site}/libraries"));
    // 409: another user has made it.
    user.client.send(ask.json(&wanted)).await?.expect(&[201, 409])?;
    let id = user.id_at(&library).await?;
    user.notes_by_key.insert(LIBRARY, id.clone());
    Ok(id)
}

/// Stores a page of the library.
pub async fn put(user: &mut User, name: &str, text: String) -> Result<ReadResponse, Fault> {
    let path = format!("{}/{name}", path(user));
    let address = address::content_address(&user.crowd.target, &path);
    user.client.send(RequestBuilder::new(Method::PUT, address).body(RequestBody::Bytes(text.into()))).await
}

//! Tests of WebDAV on the real router and a real farm.

mod aside;
mod exact;
mod hostile;
mod listing;
mod locking;
mod saving;
mod searching;
mod stories;

use crate::tests::{Farm, Reply};

/// Body that requests an exclusive lock.
pub const EXCLUSIVE: &str = "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope>\
    <D:locktype><D:write/></D:locktype><D:owner>test</D:owner></D:lockinfo>";

/// Sends a verb to a path below `/dav/Documents/` as the administrator.
pub async fn dav(farm: &Farm, method: &str, path: &str, fields: &[(&str, &str)], body: &str) -> Reply {
    farm.send(method, &format!("/dav/Documents/{path}"), fields, body.to_owned()).await
}

/// Moves or copies to another path below `/dav/Documents/`.
pub async fn place(farm: &Farm, method: &str, from: &str, to: &str, fields: &[(&str, &str)]) -> Reply {
    let to = format!("/dav/Documents/{to}");
    let fields: Vec<(&str, &str)> = fields.iter().copied().chain([("destination", to.as_str())]).collect();
    dav(farm, method, from, &fields, "").await
}

/// Locks an item and returns the token.
pub async fn lock(farm: &Farm, login: &str, path: &str, status: u16) -> String {
    let reply = farm.send_as(login, "LOCK", &format!("/dav/Documents/{path}"), &[], EXCLUSIVE).await.expect(status);
    reply.header("lock-token").trim_matches(['<', '>']).to_owned()
}

/// Returns the content of the administrator's recycle bin.
pub async fn bin(farm: &Farm) -> String {
    let site = farm.id("").await;
    farm.get(&format!("/api/v1/site-collections/{site}/recycle-bin")).await.expect(200).text()
}

/// Returns the version numbers of a document, newest first.
pub async fn versions(farm: &Farm, path: &str) -> Vec<String> {
    let id = farm.id(&format!("Documents/{path}")).await;
    let listed = farm.get(&format!("/api/v1/items/{id}/versions")).await.expect(200).json();
    let items = listed["items"].as_array().unwrap().iter();
    items.map(|version| version["number"].as_str().unwrap().to_owned()).collect()
}

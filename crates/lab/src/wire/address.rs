//! Where things of the corpus are on a target, by REST or by WebDAV.

use hyper::{Method, header};

use super::{Ask, Client, Fault, Kind, Target, encode};

/// The address of the bytes at a path of the corpus.
pub fn content(target: &Target, path: &str) -> String {
    match target.kind {
        Kind::Strongroom => format!("/api/v1/content/{}", encode(&below(target, path))),
        Kind::Webdav => format!("/{}", encode(&below(target, path))),
    }
}

/// The address of the description of what lies at a path of the corpus, or of something about it.
pub fn by_path(target: &Target, about: &str, path: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("path", &below(target, path)).finish();
    format!("/api/v1/items/by-path{about}?{query}")
}

/// A path of the corpus as the target knows it.
pub fn below(target: &Target, path: &str) -> String {
    if target.root.is_empty() {
        path.to_owned()
    } else {
        format!("{}/{path}", target.root).trim_end_matches('/').to_owned()
    }
}

/// The WebDAV method of a name.
pub fn method(name: &'static str) -> Method {
    Method::from_bytes(name.as_bytes()).unwrap_or(Method::OPTIONS)
}

/// Makes a collection by WebDAV; one that is there already is no fault.
pub async fn make_collection(client: &mut Client, path: &str) -> Result<(), Fault> {
    let address = format!("{}/", content(client.target(), path));
    client
        .send(Ask::new(method("MKCOL"), address).with(header::CONTENT_LENGTH, "0"))
        .await?
        .expect(&[201, 200, 405])?;
    Ok(())
}

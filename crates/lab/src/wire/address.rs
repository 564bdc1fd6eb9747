//! Addresses of corpus items on a target, by REST or by WebDAV.

use hyper::{Method, header};

use super::{Client, Fault, RequestBuilder, Target, TargetKind, encode};

/// Address of the content at a path of the corpus.
pub fn content_address(target: &Target, path: &str) -> String {
    match target.kind {
        TargetKind::Strongroom => format!("/api/v1/content/{}", encode(&target_path(target, path))),
        TargetKind::Webdav => format!("/{}", encode(&target_path(target, path))),
    }
}

/// Address of the description of the item at a path of the corpus, or of a subresource of it.
pub fn item_address(target: &Target, about: &str, path: &str) -> String {
    let query =
        form_urlencoded::Serializer::new(String::new()).append_pair("path", &target_path(target, path)).finish();
    format!("/api/v1/items/by-path{about}?{query}")
}

/// Converts a path of the corpus to a path on the target.
pub fn target_path(target: &Target, path: &str) -> String {
    if target.root.is_empty() {
        path.to_owned()
    } else {
        format!("{}/{path}", target.root).trim_end_matches('/').to_owned()
    }
}

/// Returns the WebDAV method with the given name.
pub fn method(name: &'static str) -> Method {
    Method::from_bytes(name.as_bytes()).unwrap_or(Method::OPTIONS)
}

/// Creates a collection by WebDAV. An existing collection is not a fault.
pub async fn make_collection(client: &mut Client, path: &str) -> Result<(), Fault> {
    let address = format!("{}/", content_address(client.target(), path));
    client
        .send(RequestBuilder::new(method("MKCOL"), address).with(header::CONTENT_LENGTH, "0"))
        .await?
        .expect(&[201, 200, 405])?;
    Ok(())
}

//! Previews of Office documents as pages, rendered by the real LibreOffice in a child process of the server.

use std::net::TcpListener;

use database::Engine;
use reqwest::{StatusCode, header};
use serde_json::Value;

use crate::support::{Client, Farm, SignedIn};

/// Stores a document and returns the path of its rendered pages.
async fn stored(client: &Client, name: &str, content: &[u8]) -> String {
    assert!(client.put(name, content.to_vec()).await.unwrap().status.is_success());
    let path = format!("/api/v1/items/by-path?path=Documents/{name}");
    let found = client.send(reqwest::Method::GET, &path, Vec::new()).await.unwrap();
    let item: Value = serde_json::from_slice(&found.body).unwrap();
    format!("/items/{}/pages", item["id"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn office_documents_are_shown_as_pages_and_fetch_nothing() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let (client, browser) = (server.client(&farm.token()), SignedIn::sign_in(&server, "admin").await);
    let document = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../search/tests/documents/text.docx")).unwrap();
    let pages = stored(&client, "text.docx", &document).await;
    let (_, shown) = browser.get("/browse/Documents/text.docx").await;
    assert!(shown.contains(&format!("data-pdf=\"{pages}\"")), "{shown}");
    assert!(shown.contains("<details"), "{shown}");
    let made = browser.request(&pages).send().await.unwrap();
    assert_eq!(
        (made.status(), made.headers()[header::CONTENT_TYPE].as_bytes()),
        (StatusCode::OK, &b"application/pdf"[..])
    );
    let etag = made.headers()[header::ETAG].clone();
    assert!(made.bytes().await.unwrap().starts_with(b"%PDF-"));
    let again = browser.request(&pages).header(header::IF_NONE_MATCH, etag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    let part = browser.request(&pages).header(header::RANGE, "bytes=1-3").send().await.unwrap();
    assert_eq!((part.status(), part.text().await.unwrap().as_str()), (StatusCode::PARTIAL_CONTENT, "PDF"));

    let noise = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".iter().copied().chain((0..9000_u32).map(|i| (i * i % 251) as u8));
    for (name, content) in [
        ("broken.docx", b"PK\x03\x04 and nothing more".to_vec()),
        ("noise.doc", noise.collect()),
        ("plain.txt", b"words".to_vec()),
    ] {
        let pages = stored(&client, name, &content).await;
        let (status, said) = browser.get(&pages).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{name}: {said}");
    }
    assert!(!browser.get("/browse/Documents/plain.txt").await.1.contains("data-pdf"));

    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let address = format!("http://{}/picture.png", elsewhere.local_addr().unwrap());
    // An HTML page with another file extension is opened as HTML.
    let web = format!(
        "<html><head><link rel=stylesheet href=\"{address}\"></head><body>Words <img src=\"{address}\"></body></html>"
    );
    let field =
        format!(r#"{{\rtf1 Words {{\field{{\*\fldinst INCLUDEPICTURE "{address}" \\* MERGEFORMAT}}{{\fldrslt x}}}}}}"#);
    for (name, content) in [("web.doc", &web), ("field.rtf", &field)] {
        let pages = stored(&client, name, content.as_bytes()).await;
        let made = browser.request(&pages).send().await.unwrap();
        assert!(made.bytes().await.unwrap().starts_with(b"%PDF-"), "{name}");
        assert!(elsewhere.accept().is_err(), "{name} has asked another server");
    }
}

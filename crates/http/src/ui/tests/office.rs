//! Office documents as pages, made by the real program.

use std::net::TcpListener;

use axum::http::{Request, header};
use repository::Target;

use super::*;

const WORD: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

async fn farm() -> Farm {
    let program = crate::Converter::find(None).unwrap();
    assert!(program.is_some(), "LibreOffice is not installed; ./check installs it");
    Farm::with(|options| options.converter = program).await
}

/// Stores a document and returns the address of its pages.
async fn stored(farm: &Farm, browser: &Browser<'_>, name: &str, kind: &str, content: &[u8]) -> String {
    let session = farm.administrator().await;
    let library = session.item(&Target::path("Documents").unwrap()).await.unwrap();
    browser.upload(&format!("/items/{}/upload", library.id), name, kind, content).await.expect(303);
    let item = session.item(&Target::path(&format!("Documents/{name}")).unwrap()).await.unwrap();
    format!("/items/{}/pages", item.id)
}

#[tokio::test]
async fn office_documents_are_shown_as_pages() {
    let farm = farm().await;
    let browser = farm.signed_in("admin").await;
    let document = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../search/tests/documents/text.docx")).unwrap();
    let pages = stored(&farm, &browser, "text.docx", WORD, &document).await;
    let shown = browser.get("/browse/Documents/text.docx").await.expect(200);
    assert!(shown.text.contains(&format!("data-pdf=\"{pages}\"")) && shown.text.contains("<details"), "{}", shown.text);
    let made = browser.get(&pages).await.expect(200);
    assert!(made.text.starts_with("%PDF-"));
    assert_eq!(made.headers[header::CONTENT_TYPE], "application/pdf");
    let etag = made.headers[header::ETAG].clone();
    let again = Request::get(&pages).header(header::IF_NONE_MATCH, etag);
    browser.send(again, String::new()).await.expect(304);
    let part = Request::get(&pages).header(header::RANGE, "bytes=1-3");
    assert_eq!(browser.send(part, String::new()).await.expect(206).text, "PDF");
}

#[tokio::test]
async fn what_is_no_document_has_no_pages() {
    let farm = farm().await;
    let browser = farm.signed_in("admin").await;
    let broken = stored(&farm, &browser, "broken.docx", WORD, b"PK\x03\x04 and nothing more").await;
    assert!(browser.get(&broken).await.expect(422).text.contains("cannot be shown as pages"));
    let noise: Vec<u8> =
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".iter().copied().chain((0..9000_u32).map(|i| (i * i % 251) as u8)).collect();
    let noise = stored(&farm, &browser, "noise.doc", "application/msword", &noise).await;
    browser.get(&noise).await.expect(422);
    let plain = stored(&farm, &browser, "plain.txt", "text/plain", b"words").await;
    browser.get(&plain).await.expect(422);
    assert!(!browser.get("/browse/Documents/plain.txt").await.text.contains("data-pdf"));
}

#[tokio::test]
async fn a_document_fetches_nothing() {
    let farm = farm().await;
    let browser = farm.signed_in("admin").await;
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let address = format!("http://{}/picture.png", elsewhere.local_addr().unwrap());
    // A page of the web by another name is opened as what it is.
    let web = format!(
        "<html><head><link rel=stylesheet href=\"{address}\"></head><body>Words <img src=\"{address}\"></body></html>"
    );
    let field =
        format!(r#"{{\rtf1 Words {{\field{{\*\fldinst INCLUDEPICTURE "{address}" \\* MERGEFORMAT}}{{\fldrslt x}}}}}}"#);
    for (name, content) in [("web.doc", &web), ("field.rtf", &field)] {
        let pages = stored(&farm, &browser, name, "application/msword", content.as_bytes()).await;
        assert!(browser.get(&pages).await.expect(200).text.starts_with("%PDF-"), "{name}");
        assert!(elsewhere.accept().is_err(), "{name} has asked another server");
    }
}

//! Previews of documents on pages. Nothing in a document becomes part of our HTML.

use repository::Target;

use super::*;

/// Stores a document and returns the page about it, which Markdown has besides the page that it is.
async fn page_of(farm: &Farm, browser: &Browser<'_>, name: &str, kind: &str, content: &str) -> Reply {
    let library = farm.administrator().await.item(&Target::path("Documents").unwrap()).await.unwrap();
    browser.upload(&format!("/items/{}/upload", library.id), name, kind, content).await.expect(303);
    browser.get(&format!("/browse/Documents/{name}?details")).await.expect(200)
}

#[tokio::test]
async fn documents_are_shown_in_the_way_of_their_kind() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let cases = [
        ("a.txt", "text/plain", "one\ntwo", "<span class=\"line\">two"),
        ("a.rs", "text/plain", "fn x() { \"<b>\" }", "<span class=\"line\">fn x() { &#34;&#60;b&#62;&#34; }\n</span>"),
        ("a.md", "text/markdown", "# Big", "<h3>Big</h3>"),
        ("a.csv", "text/csv", "a;b\n1;2", "<th scope=\"col\">b</th>"),
        ("a.png", "image/png", "x", "<img src=\"/download/"),
        ("a.mp3", "audio/mpeg", "x", "<audio controls"),
        ("a.mp4", "video/mp4", "x", "<video controls"),
        ("a.pdf", "application/pdf", "x", "data-pdf=\"/download/"),
        ("b.txt", "text/plain", "", "This document is empty."),
    ];
    for (name, kind, content, expected) in cases {
        let page = page_of(&farm, &browser, name, kind, content).await;
        assert!(page.text.contains(expected), "{name}: {}", page.text);
        for (script, document) in [("pdf.js", "a.pdf"), ("code.js", "a.rs")] {
            assert!(page.text.contains(script) == (name == document), "{name} loads what it does not need");
        }
        assert!(page.text.contains("data-language=\"rust\"") == (name == "a.rs"), "{name}");
        assert!(!page.text.contains(" style="), "{name}");
        let item = farm.administrator().await.item(&Target::path(&format!("Documents/{name}")).unwrap()).await.unwrap();
        assert!(browser.get(&format!("/items/{}", item.id)).await.text.contains(expected), "{name} in its details");
    }
    for name in ["README", "copyright", "changelog"] {
        let page = page_of(&farm, &browser, name, "application/octet-stream", "plain\u{c}\nwords <b>").await;
        assert!(page.text.contains("<span class=\"line\">words &#60;b&#62;"), "{name}: {}", page.text);
    }
    let page = page_of(&farm, &browser, "broken.docx", "application/octet-stream", "no document").await;
    assert!(!page.text.contains("class=\"card flush preview"));
    let page = page_of(&farm, &browser, "program", "application/octet-stream", "\u{7f}ELF\u{1}").await;
    assert!(!page.text.contains("class=\"card flush preview"));
    let page = page_of(&farm, &browser, "a.bin", "application/octet-stream", "\0").await;
    assert!(!page.text.contains("class=\"card flush preview"));
}

#[tokio::test]
async fn what_is_stored_never_becomes_markup_of_our_page() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let attack = "<script>alert(1)</script><img src=x onerror=alert(1)>";
    let names = ["a.html", "a.svg", "a.md", "a.csv", "a.txt", "a.js", "a.xml", "a.json", "a.sql", "a.py"];
    for name in names {
        for kind in ["text/plain", "text/html", http_core::protocol::content_type::guess(name)] {
            let name = format!("{}-{name}", kind.replace(['/', '+'], "-"));
            let page = page_of(&farm, &browser, &name, kind, attack).await;
            assert!(!page.text.contains("<script>"), "{name}: {}", page.text);
            assert!(!page.text.contains("<img src=x"), "{name}: {}", page.text);
        }
    }
    // An image with script is only loaded as an image, and is served with a sandbox policy.
    let page = page_of(&farm, &browser, "picture.svg", "image/svg+xml", "<svg xmlns='x'/>").await;
    let address = page.text.split("<img src=\"/download/").nth(1).unwrap().split('"').next().unwrap();
    let sent = browser.get(&format!("/download/{}", address.replace("&#38;", "&"))).await.expect(200);
    assert!(sent.header(header::CONTENT_SECURITY_POLICY).starts_with("sandbox; default-src 'none'"));
    assert!(sent.header(header::CONTENT_DISPOSITION).starts_with("attachment"));
    assert_eq!(sent.header(header::CONTENT_TYPE), "image/svg+xml");
}

#[tokio::test]
async fn only_the_beginning_of_a_large_text_is_read() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let page = page_of(&farm, &browser, "large.txt", "text/plain", &"0123456789abcde ".repeat(30_000)).await;
    assert!(page.text.contains("Only the beginning is shown"), "{}", page.text.len());
    assert!(page.text.len() < 400_000, "{}", page.text.len());
    let page = page_of(&farm, &browser, "lines.txt", "text/plain", &"x\n".repeat(100_000)).await;
    assert!(page.text.contains("Only the beginning is shown"), "{}", page.text.len());
    assert!(page.text.len() < 100_000, "{}", page.text.len());
    let page = page_of(&farm, &browser, "long.csv", "text/csv", &"a,b\n".repeat(300)).await;
    assert!(page.text.contains("Only the beginning is shown"));
}

#[tokio::test]
async fn around_each_bound_a_preview_is_whole_or_says_that_it_is_not() {
    const BYTES: usize = 256 << 10;
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    // Words of eight bytes, followed by a distinct ending.
    let ending = |length: usize, end: &str| {
        let mut text = "0123456 ".repeat(length / 8);
        text.truncate(length - end.len());
        text + end
    };
    let rows = |count: usize, last: &str| "a,b\n".repeat(count - 1) + last + ",b\n";
    let columns = |count: usize, last: &str| "a,".repeat(count - 1) + last + "\n1\n";
    let cases = [
        ("bytes-1.txt", ending(BYTES - 1, "THE-END"), Some("THE-END"), false),
        ("bytes.txt", ending(BYTES, "THE-END"), Some("THE-END"), false),
        ("bytes+1.txt", ending(BYTES + 1, "THE-END"), Some("THE-EN"), true),
        // A two-byte character that ends at the limit, and one that the limit cuts.
        ("whole.txt", ending(BYTES, "THE-END\u{e9}"), Some("THE-END\u{e9}"), false),
        ("halved.txt", ending(BYTES + 1, "THE-END\u{e9}"), Some("THE-END\n</span>"), true),
        ("halved.md", ending(BYTES + 1, "THE-END\u{e9}"), Some("THE-END"), true),
        ("lines.txt", "x\n".repeat(1_999) + "THE-END\n", Some("THE-END"), false),
        ("lines+1.txt", "x\n".repeat(2_000) + "THE-END\n", None, true),
        // The header and two hundred rows.
        ("rows.csv", rows(201, "THE-END"), Some("THE-END"), false),
        ("rows+1.csv", rows(202, "THE-END"), None, true),
        ("columns.csv", columns(50, "THE-END"), Some("THE-END"), false),
        ("columns+1.csv", columns(51, "THE-END"), None, true),
        ("cell.csv", ending(300, "THE-END") + ",b\n", Some("THE-END</th>"), false),
        ("cell+1.csv", ending(301, "THE-END") + ",b\n", Some("THE-EN\u{2026}</th>"), false),
    ];
    for (name, content, end, is_cut) in cases {
        let page = page_of(&farm, &browser, name, "application/octet-stream", &content).await;
        let shown =
            page.text.split("class=\"card flush preview").nth(1).unwrap_or_else(|| panic!("{name} is not shown"));
        match end {
            Some(end) => assert!(shown.contains(end), "{name} ends too early"),
            None => assert!(!shown.contains("THE-END"), "{name} is longer than its bound"),
        }
        assert!(end.is_none() || !is_cut || !shown.contains("THE-END\u{e9}"), "{name}");
        assert_eq!(shown.contains("Only the beginning is shown"), is_cut, "{name}");
        assert!(!shown.contains('\u{fffd}'), "{name} has half a character");
    }
}

#[tokio::test]
async fn a_document_whose_bytes_are_damaged_has_a_page_all_the_same() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    page_of(&farm, &browser, "a.txt", "text/plain", &"x".repeat(40_000)).await;
    drop(browser);
    let farm = farm.damaged().await;
    let page = farm.signed_in("admin").await.get("/browse/Documents/a.txt").await.expect(200);
    assert!(!page.text.contains("<span class=\"line\">"), "{}", page.text);
}

#[tokio::test]
async fn libraries_of_others_are_served_as_scripts() {
    let farm = Farm::new().await;
    let page = farm.browser().get("/sign-in").await.expect(200);
    let (_, from) = page.text.split_once("\"/assets/").unwrap();
    let hash = from.split('/').next().unwrap();
    let sent = farm.browser().get(&format!("/assets/{hash}/vendor/pdf.min.mjs")).await.expect(200);
    assert_eq!(sent.header(header::CONTENT_TYPE), "text/javascript; charset=utf-8");
    assert!(sent.header(header::CACHE_CONTROL).contains("immutable"));
    farm.browser().get(&format!("/assets/{hash}/vendor/../../Cargo.toml")).await.expect(404);
}

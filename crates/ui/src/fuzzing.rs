//! Entry points for the fuzz targets of the pages: forms, languages, links and typed values.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Multipart, Path, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::routing::get;
use futures_util::stream;
use model::Id;
use tower::ServiceExt;

use super::browse::view::View;
use super::document::links;
use super::frame::fields::Fields;
use super::frame::file_form;
use super::frame::flash::{Flash, MAX_NAME};
use super::frame::page::safe_next;
use super::frame::texts::Language;
use super::frame::value_format;
use http_core::protocol::fuzzing::block_on;
use http_core::protocol::time;
use http_core::server::request_body::ReadAheadLimit;
use http_core::transfer::typed;

pub use super::document::preview::fuzzing::preview;

/// Parses forms and listing queries, and checks that the encoded form parses to the same fields.
pub fn fields(input: &[u8]) {
    let Ok(fields) = Fields::parse(input) else { return };
    let pairs = |fields: &Fields| -> Vec<(String, String)> {
        let kept = fields.pairs().filter(|(name, _)| *name != "form_token");
        kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let again = Fields::parse(fields.encoded().as_bytes()).expect("no more fields than before");
    assert_eq!(pairs(&fields), pairs(&again));
    let _ = (fields.ids("ids"), fields.id("id"), fields.trimmed("days"), fields.yes("allowed"));
    for (_, value) in fields.pairs() {
        let next = safe_next(Some(value), "/");
        assert!(next.starts_with('/'), "{next:?}");
        assert!(!next.starts_with("//"), "{next:?}");
        assert!(!next.contains(['\\', '\r', '\n']), "{next:?}");
        typed(value);
    }
    if let Ok(query) = std::str::from_utf8(input) {
        let view = View::parse(query);
        assert!(view.columns.len() <= 60);
        assert!(view.values.len() <= 60);
    }
}

/// Parses numbers, days and times as typed by people and programs.
fn typed(text: &str) {
    for language in Language::all() {
        if let Some(number) = value_format::read_number(language, text) {
            assert!(number.is_finite());
            for shown in [value_format::number(language, number), value_format::number_to_edit(language, number)] {
                assert_eq!(value_format::read_number(language, &shown), Some(number), "{text:?} is shown as {shown:?}");
            }
        }
    }
    if let Some(day) = typed::day(text) {
        let _ = Language::all().map(|language| value_format::day(language, day)).last();
    }
    for read in [time::parse, time::parse_day, time::parse_last_day] {
        let Ok(at) = read(text) else { continue };
        let shown = time::format(at);
        let again = time::parse(&shown).ok();
        assert!(again == Some(at) || shown == "9999-12-31T23:59:59Z", "{text:?} is shown as {shown:?}");
    }
}

/// Parses `Accept-Language`, and the message cookie.
pub fn languages(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let language = Language::accepted(text);
    let named = |tag: &str| text.to_ascii_lowercase().contains(tag);
    assert!(language.tag() == "en" || named(language.tag()), "{}", language.tag());
    let Ok(field) = HeaderValue::try_from(format!("strongroom_flash={text}")) else { return };
    if let Some(flash) = Flash::of(&HeaderMap::from_iter([(header::COOKIE, field)])) {
        for ids in [flash.undo.form().map(|(_, ids)| ids), flash.undo.bin()].into_iter().flatten() {
            assert!(ids.bytes().all(|byte| byte.is_ascii_digit() || byte == b','));
        }
        assert!(flash.name.len() <= MAX_NAME);
        assert!(language.find(flash.key).is_some());
    }
}

/// Parses the URL of a link with the router, and the form for a new link.
pub fn share_links(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(request) = Request::get(format!("/s/{text}")).body(Body::empty()) {
        let router: Router = Router::new().route("/s/{link}/{secret}", get(follow));
        let status = block_on(router.oneshot(request)).expect("a router cannot fail").status();
        assert!(status.is_success() || status.is_client_error(), "{status}");
    }
    if let Ok(fields) = Fields::parse(input) {
        let _ = links::read(&fields);
    }
    repository::fuzzing::secrets(input);
}

async fn follow(Path((link, secret)): Path<(String, String)>) -> StatusCode {
    let Ok(id) = link.parse::<Id>() else { return StatusCode::NOT_FOUND };
    assert_eq!(id.to_string().parse::<Id>().ok(), Some(id));
    repository::fuzzing::secrets(secret.as_bytes());
    StatusCode::OK
}

#[derive(Debug, PartialEq)]
struct Part {
    name: Option<String>,
    file: Option<String>,
    kind: Option<String>,
    content: Vec<u8>,
}

async fn parts(input: &[u8], piece: usize) -> (Vec<Part>, bool) {
    let pieces: Vec<_> = input.chunks(piece).map(Bytes::copy_from_slice).map(Ok::<_, std::io::Error>).collect();
    let ahead = ReadAheadLimit::default();
    let request = Request::post("/").header(header::CONTENT_TYPE, "multipart/form-data; boundary=X");
    let request = request.body(ahead.of(Body::from_stream(stream::iter(pieces)))).expect("a request");
    let mut form = Multipart::from_request(request, &()).await.expect("its type is right");
    let mut found = Vec::new();
    loop {
        let mut part = match form.next_field().await {
            Ok(Some(part)) => part,
            Ok(None) => return (found, true),
            Err(_) => return (found, false),
        };
        ahead.caught_up();
        let text = |text: Option<&str>| text.map(str::to_owned);
        let mut read = Part {
            name: text(part.name()),
            file: text(part.file_name()),
            kind: text(part.content_type()),
            content: Vec::new(),
        };
        if read.name.as_deref() == Some("short") {
            match file_form::short(&mut part, &ahead, 200).await {
                Ok(text) => read.content = text.into_bytes(),
                Err(_) => return (found, false),
            }
        }
        loop {
            match part.chunk().await {
                Ok(Some(chunk)) => read.content.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(_) => return (found, false),
            }
            ahead.caught_up();
        }
        found.push(read);
    }
}

/// Parses multipart forms with the boundary `X`. The result must not depend on how the network splits the body. The
/// first byte is the size of the pieces.
pub fn multipart(input: &[u8]) {
    let Some((cut, body)) = input.split_first() else { return };
    let whole = block_on(parts(body, body.len().max(1)));
    let length: usize = whole.0.iter().map(|part| part.content.len()).sum();
    assert!(length <= body.len());
    assert_eq!(block_on(parts(body, usize::from(*cut).max(1))), whole);
}

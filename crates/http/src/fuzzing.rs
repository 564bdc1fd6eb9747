//! Entry points of fuzz targets. Each function takes the bytes of one input and asserts what must hold for any input.
//!
//! Exists only when built with `--cfg fuzzing`; `fuzz/run` explains how to run it.

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::Timestamp;

use http_core::identity::cookies;
use http_core::protocol::conditional::{self, Present};
use http_core::protocol::fuzzing::{block_on, headers};
use http_core::protocol::range::{self, RequestedRange};
use http_core::protocol::zip::{Headers, Names};
use http_core::protocol::{content_digest, content_type, credentials, cursor, disposition, idempotency, segments, tus};
use http_core::server::connection::proxy;
use http_core::server::origin::RequestOrigin;
use http_core::server::trust::{AddressSource, Trust};
use http_core::transfer::listing_cursor;

pub use ::ui::fuzzing::{fields, languages, multipart, preview, share_links};
pub use ::webdav::fuzzing::{dav_bodies, dav_headers, if_field, xml};

/// Header fields of conditional and range requests. The first eight bytes are the length of the document.
pub fn ranges(input: &[u8]) {
    let Some((length, text)) = input.split_first_chunk::<8>() else { return };
    let length = u64::from_le_bytes(*length);
    let field = std::str::from_utf8(text).ok();
    if let RequestedRange::Part { start, end } = range::wanted(field, length) {
        assert!(start <= end, "{start} to {end} of {length}");
        assert!(end < length, "{start} to {end} of {length}");
        assert_eq!(range::wanted(Some(&format!("bytes={start}-{end}")), length), RequestedRange::Part { start, end });
        assert!(HeaderValue::try_from(range::content_range(start, end, length)).is_ok());
    }
    let text = field.unwrap_or_default();
    let _ = range::if_range_holds(text, "\"a\"", Timestamp::from_micros(0));
    if let Some(seconds) = conditional::parse_date(text).filter(|seconds| *seconds >= 0) {
        let written = conditional::format_date(Timestamp::from_micros(seconds * 1_000_000));
        assert_eq!(conditional::parse_date(&written), Some(seconds), "{written}");
    }
    let headers = headers(text.as_bytes());
    for method in [Method::GET, Method::PUT] {
        for present in [None, Some(Present { etag: "\"a,b\"", modified: Timestamp::from_micros(784_111_777_000_000) })]
        {
            let _ = conditional::evaluate(&method, &headers, present);
        }
    }
}

/// Page cursors, both as clients send them and as they are inside a sealed cursor.
pub fn cursors(input: &[u8]) {
    let coded = URL_SAFE_NO_PAD.encode(input);
    let given = std::str::from_utf8(input).ok();
    for text in given.into_iter().chain([coded.as_str()]) {
        if let Ok(parts) = cursor::decode::<1>(text) {
            assert_eq!(cursor::encode(parts.iter().map(String::as_str)), text);
        }
        if let Ok(parts) = cursor::decode::<3>(text) {
            assert_eq!(cursor::encode(parts.iter().map(String::as_str)), text);
        }
        if let Ok(key) = listing_cursor::read(text) {
            let written = listing_cursor::write(&key);
            assert_eq!(listing_cursor::read(&written).ok().as_ref(), Some(&key), "{written}");
        }
    }
}

/// Header fields of resumable uploads.
pub fn tus(input: &[u8]) {
    use base64::engine::general_purpose::STANDARD;

    let headers = headers(input);
    let _ = (tus::check_version(&headers), tus::checksum(&headers));
    for (number, name) in
        [(tus::upload_length(&headers), "upload-length"), (tus::upload_offset(&headers), "upload-offset")]
    {
        let Ok(number) = number else { continue };
        let text = headers[name].to_str().expect("it was read").trim_start_matches('0');
        assert_eq!(text, if number == 0 { String::new() } else { number.to_string() });
    }
    let Ok(pairs) = tus::metadata(&headers) else { return };
    let written: Vec<String> = pairs.iter().map(|(key, value)| format!("{key} {}", STANDARD.encode(value))).collect();
    let mut again = HeaderMap::new();
    let field = HeaderValue::try_from(written.join(",")).expect("what was written is a field");
    let fits = field.len() <= 8_192;
    again.insert("upload-metadata", field);
    assert!(!fits || tus::metadata(&again).ok() == Some(pairs), "{written:?}");
}

/// Header fields that are read before all routes or by many of them: credentials, cookies, digests, keys, media types.
pub fn header_fields(input: &[u8]) {
    let headers = headers(input);
    let _ = (credentials::parse(input), idempotency::key(&headers), cookies::get(&headers, "strongroom_session"));
    if let Ok(mut expected) = content_digest::Expected::of(&headers) {
        expected.update(input);
        let _ = expected.verify();
    }
    let Ok(text) = std::str::from_utf8(input) else { return };
    let _ = (content_type::essence(text), content_type::shown_as(text), content_type::guess(text));
    for field in [disposition::attachment(text), disposition::inline(text)] {
        assert!(field.is_ascii(), "{field:?}");
        assert!(HeaderValue::try_from(&field).is_ok(), "{field:?}");
        assert!(field.matches('"').count() == 2, "{field:?}");
        assert!(!field.contains('\\'), "{field:?}");
    }
    if let Ok(names) = segments::decode(text) {
        let known = names.iter().any(|name| name == "." || name == "..");
        let again = segments::decode(&segments::encode_path(names.iter().map(String::as_str)));
        assert!(known || again.as_ref().ok() == Some(&names), "{again:?}");
    }
}

/// The client's address and origin, as derived from what proxies write. The first byte selects whether the peer is a
/// trusted proxy and whether the connection uses TLS.
pub fn request_origin(input: &[u8]) {
    let Some((kind, text)) = input.split_first() else { return };
    let peer: SocketAddr = if kind & 1 == 0 { "10.0.0.1:1" } else { "192.0.2.1:1" }.parse().expect("an address");
    let trusted = kind & 1 == 0;
    for source in
        [AddressSource::Peer, AddressSource::XForwardedFor, AddressSource::Forwarded, AddressSource::ProxyProtocol]
    {
        let trust = Trust::new(["10.0.0.0/8", "2001:db8::/32"], source).expect("networks");
        let mut request = Request::new(Body::empty());
        *request.headers_mut() = headers(text);
        request.extensions_mut().insert(ConnectInfo(peer));
        let request_origin = RequestOrigin::determine(&mut request, &trust, None, kind & 2 != 0);
        assert_eq!(request_origin.through_proxy, trusted);
        assert!(trusted && source != AddressSource::Peer || request_origin.address == peer.ip());
        assert_eq!(request_origin.address, request_origin.address.to_canonical());
        let hosts: Vec<_> = request.headers().get_all(header::HOST).iter().collect();
        let host = request_origin.origin.split_once("://").map(|(_, host)| host).expect("a scheme");
        assert!(hosts.len() <= 1, "{request_origin:?} {hosts:?}");
        assert!(hosts.iter().all(|field| *field == host), "{request_origin:?} {hosts:?}");
    }
    let mut rest = text;
    if let Ok(announced) = block_on(proxy::announcement(&mut rest)) {
        assert!(announced.is_none_or(|address| address == address.to_canonical()));
        assert!(text.len() - rest.len() >= 12, "no announcement is shorter");
    }
}

/// Builds an archive from names that clients gave, as bytes. Each line is one name. A line that begins with `/` is a
/// folder that contains the lines after it. A leading tab repeats the entry up to the depth that a site collection
/// allows.
pub fn archive(input: &[u8]) -> (Vec<u8>, Vec<String>) {
    let (mut names, mut headers) = (Names::default(), Headers::default());
    let (mut above, mut depth, mut bytes, mut given) = (String::new(), 0, Vec::new(), Vec::new());
    let time = Timestamp::from_micros(i64::from(input.len() as u32) * 1_000_000_000);
    for line in String::from_utf8_lossy(input).split('\n').take(300) {
        let (line, times) = line.strip_prefix('\t').map_or((line, 1), |line| (line, model::MAX_DEPTH));
        for _ in 0..times {
            let folder = line.strip_prefix('/');
            let name: String = folder.unwrap_or(line).chars().take(model::MAX_NAME_CHARS).collect();
            if name.is_empty() || depth >= model::MAX_DEPTH || bytes.len() > 256 << 10 {
                continue;
            }
            let path = names.give(&above, &name);
            if folder.is_some() {
                bytes.extend(headers.folder(&path, time));
                (above, depth) = (path.clone(), depth + 1);
                given.push(path + "/");
            } else {
                bytes.extend(headers.file(&path, name.len() as u64, time));
                bytes.extend(name.as_bytes());
                bytes.extend(headers.end(crc32fast::hash(name.as_bytes())));
                given.push(path);
            }
        }
    }
    bytes.extend(headers.finish());
    (bytes, given)
}

//! No client can choose the address it appears under: header fields, trust and mode.

use axum::body::Body;

use super::*;

const PROXY: &str = "10.0.0.1";
const CLIENT: &str = "203.0.113.7";

fn determine(source: AddressSource, peer: &str, fields: &[(&str, &str)]) -> (RequestOrigin, HeaderMap) {
    determine_for(source, peer, fields, None)
}

fn determine_for(
    source: AddressSource,
    peer: &str,
    fields: &[(&str, &str)],
    public: Option<&PublicUrl>,
) -> (RequestOrigin, HeaderMap) {
    let trust = Trust::new(["10.0.0.0/24", "2001:db8::1"], source).unwrap();
    let mut request = Request::new(Body::empty());
    let peer: IpAddr = peer.parse().unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::new(peer, 4711)));
    request.headers_mut().insert(header::HOST, "direct.example".parse().unwrap());
    for (name, value) in fields {
        let name: axum::http::HeaderName = name.parse().unwrap();
        request.headers_mut().append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    let request_origin = RequestOrigin::determine(&mut request, &trust, public, false);
    (request_origin, request.headers().clone())
}

fn found(source: AddressSource, peer: &str, field: &str, lines: &[&str]) -> String {
    let fields: Vec<(&str, &str)> = lines.iter().map(|line| (field, *line)).collect();
    determine(source, peer, &fields).0.address.to_string()
}

#[test]
fn the_client_is_the_first_address_from_the_right_that_is_no_trusted_proxy() {
    let hundred = format!("6.6.6.6, {CLIENT}{}", ", 10.0.0.9".repeat(100));
    for (peer, lines, client) in [
        (PROXY, &[CLIENT][..], CLIENT),
        // The leftmost address comes from the attacker.
        (PROXY, &["6.6.6.6, 203.0.113.7"], CLIENT),
        (PROXY, &["6.6.6.6", "203.0.113.7"], CLIENT),
        (PROXY, &["6.6.6.6, 203.0.113.7, 10.0.0.2", "10.0.0.3"], CLIENT),
        (PROXY, &[&hundred], CLIENT),
        (PROXY, &["203.0.113.7:1234"], CLIENT),
        (PROXY, &["::ffff:203.0.113.7"], CLIENT),
        (PROXY, &["[::ffff:203.0.113.7]:80"], CLIENT),
        ("::ffff:10.0.0.1", &[CLIENT], CLIENT),
        ("2001:db8::1", &[CLIENT], CLIENT),
        (PROXY, &["2001:db8::77"], "2001:db8::77"),
        // Malformed, obfuscated or missing: the last trusted hop.
        (PROXY, &[], PROXY),
        (PROXY, &[""], PROXY),
        (PROXY, &["203.0.113.7, unknown"], PROXY),
        (PROXY, &["203.0.113.7, _hidden, 10.0.0.2"], "10.0.0.2"),
        (PROXY, &["203.0.113.7,"], PROXY),
        (PROXY, &["203.0.113.7, 1.2.3.4.5"], PROXY),
        (PROXY, &["203.0.113.7, ü"], PROXY),
        (PROXY, &["10.0.0.2, 10.0.0.3"], "10.0.0.2"),
        // The field is ignored when it comes from other peers.
        ("198.51.100.1", &[CLIENT], "198.51.100.1"),
        ("127.0.0.1", &[CLIENT], "127.0.0.1"),
    ] {
        assert_eq!(found(AddressSource::XForwardedFor, peer, "x-forwarded-for", lines), client, "{peer} {lines:?}");
        assert_eq!(
            found(AddressSource::Peer, peer, "x-forwarded-for", lines),
            determine(AddressSource::Peer, peer, &[]).0.address.to_string()
        );
    }
}

#[test]
fn the_standard_field_is_read_from_the_right_whatever_stands_on_the_left() {
    for (lines, client) in [
        (&["for=203.0.113.7"][..], CLIENT),
        (&["For=\"203.0.113.7:80\";proto=https;by=10.0.0.1"], CLIENT),
        (&["for=\"[2001:db8::77]:80\""], "2001:db8::77"),
        (&["for=6.6.6.6, for=203.0.113.7, for=10.0.0.2"], CLIENT),
        (&["for=6.6.6.6", "for=203.0.113.7;host=\"a,b\""], CLIENT),
        // An unpaired quotation mark hides nothing that the proxy wrote.
        (&["for=\"6.6.6.6, for=203.0.113.7"], CLIENT),
        (&["for=unknown"], PROXY),
        (&["for=_abc, for=10.0.0.2"], "10.0.0.2"),
        (&["for=203.0.113.7;for=6.6.6.6"], PROXY),
        (&["for=\"203\\.0.113.7\""], PROXY),
        (&["203.0.113.7"], PROXY),
        (&["proto=https"], PROXY),
    ] {
        assert_eq!(found(AddressSource::Forwarded, PROXY, "forwarded", lines), client, "{lines:?}");
        assert_eq!(found(AddressSource::Forwarded, "198.51.100.1", "forwarded", lines), "198.51.100.1");
    }
    // Neither field is accepted in place of the other.
    assert_eq!(found(AddressSource::Forwarded, PROXY, "x-forwarded-for", &[CLIENT]), PROXY);
    assert_eq!(found(AddressSource::XForwardedFor, PROXY, "forwarded", &["for=203.0.113.7"]), PROXY);
}

#[test]
fn scheme_host_and_request_identifiers_of_strangers_are_not_believed() {
    let fields = [
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "evil.example, outer.example"),
        (REQUEST_ID, "abc-12345"),
    ];
    let (request_origin, headers) = determine(AddressSource::XForwardedFor, PROXY, &fields);
    assert_eq!((request_origin.origin.as_str(), request_origin.through_proxy), ("https://outer.example", true));
    assert_eq!(
        (&headers[header::HOST], &headers[REQUEST_ID]),
        (&HeaderValue::from_static("outer.example"), &HeaderValue::from_static("abc-12345"))
    );
    for (source, peer) in [(AddressSource::XForwardedFor, "198.51.100.1"), (AddressSource::Peer, PROXY)] {
        let (request_origin, headers) = determine(source, peer, &fields);
        assert_eq!(request_origin.origin, "http://direct.example");
        assert_eq!(headers[header::HOST], "direct.example");
        assert_eq!(headers.contains_key(REQUEST_ID), peer == PROXY);
    }
    let (request_origin, _) = determine(
        AddressSource::Forwarded,
        PROXY,
        &[("forwarded", "for=203.0.113.7;proto=https;host=\"outer.example:8443\"")],
    );
    assert_eq!(request_origin.origin, "https://outer.example:8443");
    let (request_origin, _) = determine(AddressSource::XForwardedFor, PROXY, &[("x-forwarded-host", "a/b")]);
    assert_eq!(request_origin.origin, "http://direct.example");
}

#[test]
fn a_public_url_decides_alone() {
    let public: PublicUrl = "https://Documents.example.org:443/".parse().unwrap();
    let fields = [("x-forwarded-proto", "http"), ("x-forwarded-host", "evil.example")];
    let (request_origin, headers) = determine_for(AddressSource::XForwardedFor, PROXY, &fields, Some(&public));
    assert_eq!((request_origin.origin.as_str(), request_origin.origin_is_set), ("https://documents.example.org", true));
    assert_eq!(headers[header::HOST], "documents.example.org");
    assert_eq!("http://[2001:db8::1]:8080".parse::<PublicUrl>().unwrap().authority, "[2001:db8::1]:8080");
    for bad in
        ["documents.example.org", "ftp://a", "https://a/b", "https://a?b", "https://u@a", "https://", "", "https://a b"]
    {
        assert!(bad.parse::<PublicUrl>().is_err(), "{bad}");
    }
}

#[test]
fn settings_that_cannot_be_meant_are_refused() {
    assert!(Trust::new(["10.0.0.0/33"], AddressSource::Peer).is_err());
    assert!(Trust::new(["proxy.example"], AddressSource::Peer).is_err());
    assert!(Trust::new([], AddressSource::Forwarded).is_err());
    assert!("X-Real-IP".parse::<AddressSource>().is_err());
    let trust = Trust::new(["::1", "10.1.2.3/8"], AddressSource::Peer).unwrap();
    assert!(trust.has("10.255.0.1".parse().unwrap()));
    assert!(trust.has("::ffff:10.0.0.1".parse().unwrap()));
    assert!(!trust.has("11.0.0.1".parse().unwrap()));
    assert!(!trust.has("127.0.0.1".parse().unwrap()));
}

//! Passwords over connections that others can read are refused.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;

use super::*;

const PROXY: &str = "10.0.0.1:4711";
const STRANGER: &str = "203.0.113.7:4711";
const HERE: &str = "127.0.0.1:4711";

/// Starts a farm behind a TLS-terminating proxy with a fixed address.
async fn proxied() -> Farm {
    Farm::with(|options| {
        options.behind_tls_proxy = true;
        options.trust = crate::Trust::new(["10.0.0.1"], crate::AddressSource::XForwardedFor).unwrap();
    })
    .await
}

/// Sends a request with this credential as if from this peer address.
async fn from(farm: &Farm, peer: &str, path: &str, credential: &str, fields: &[(&str, &str)]) -> Reply {
    let method = if path.starts_with("/dav/") { "PROPFIND" } else { "GET" };
    let mut request = Request::builder().method(method).uri(path).header("authorization", credential);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::empty()).unwrap();
    request.extensions_mut().insert(ConnectInfo(peer.parse::<SocketAddr>().unwrap()));
    let response = farm.router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    Reply { status: parts.status, headers: parts.headers, body }
}

fn basic(secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("admin:{secret}")))
}

#[tokio::test]
async fn behind_a_proxy_basic_is_taken_through_it_and_from_this_machine_alone() {
    let farm = proxied().await;
    let me = "/api/v1/me";
    let administrator = farm.repository.farm_administrator().await.unwrap();
    let id = administrator.id;
    let token = farm.repository.as_caller(administrator).create_token(id, "here".into()).await.unwrap().secret;
    let pretended: [&[(&str, &str)]; 4] = [
        &[],
        &[("x-forwarded-proto", "https")],
        &[("x-forwarded-for", "10.0.0.1"), ("x-forwarded-proto", "https")],
        &[("x-forwarded-for", "127.0.0.1"), ("forwarded", "for=127.0.0.1;proto=https"), ("host", "localhost")],
    ];
    for fields in pretended {
        for secret in [PASSWORD, token.as_str(), "a wrong password"] {
            for path in [me, "/dav/Documents/"] {
                let refused = from(&farm, STRANGER, path, &basic(secret), fields).await;
                assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path} {fields:?}: {}", refused.text());
                assert!(refused.text().contains("trusted_proxies"), "{}", refused.text());
            }
            assert_eq!(from(&farm, STRANGER, me, &basic(secret), fields).await.code(), "basic_needs_tls");
        }
        // A bearer token is the responsibility of its owner and is accepted over any connection.
        from(&farm, STRANGER, me, &format!("Bearer {token}"), fields).await.expect(200);
    }
    for peer in [PROXY, HERE] {
        from(&farm, peer, me, &basic(PASSWORD), &[]).await.expect(200);
        from(&farm, peer, "/dav/Documents/", &basic(PASSWORD), &[("depth", "0")]).await.expect(207);
        from(&farm, peer, me, &basic(PASSWORD), &[("x-forwarded-proto", "https")]).await.expect(200);
        let plain = from(&farm, peer, me, &basic(PASSWORD), &[("x-forwarded-proto", "http")]).await.expect(403);
        assert_eq!(plain.code(), "basic_needs_tls");
    }
}

#[tokio::test]
async fn a_trusted_proxy_without_tls_makes_no_line_private() {
    let farm = Farm::with(|options| {
        options.behind_tls_proxy = false;
        options.trust = crate::Trust::new(["10.0.0.1"], crate::AddressSource::XForwardedFor).unwrap();
    })
    .await;
    for peer in [PROXY, STRANGER] {
        let refused = from(&farm, peer, "/api/v1/me", &basic(PASSWORD), &[("x-forwarded-proto", "https")]).await;
        assert_eq!(refused.expect(403).code(), "basic_needs_tls", "{peer}");
    }
    from(&farm, HERE, "/api/v1/me", &basic(PASSWORD), &[]).await.expect(200);
}

//! A target: its address, its protocol, and the check that load may be sent to it.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use hyper::header::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rustls::ClientConfig;

use super::target_plan::{TargetKind, TargetPlan};
use crate::error::{Error, Result};

/// Timeout for resolving a host name.
const LOOK_UP: Duration = Duration::from_secs(10);

/// Login name and password.
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// Login name.
    pub user: String,
    /// The password.
    pub password: String,
}

/// A target of load.
pub struct Target {
    /// URL as given, without credentials.
    pub url: String,
    /// Kind of the target.
    pub kind: TargetKind,
    /// Path below which the corpus lies, without leading or trailing slashes.
    pub root: String,
    /// Login name and password.
    pub login: Option<Login>,
    /// Value of the Host header: `host:port`, or `host` with the standard port.
    pub authority: HeaderValue,
    /// Value of the Authorization header, with Basic credentials.
    pub authorization: Option<HeaderValue>,
    /// TLS configuration, and the name that the certificate must have; `None` without TLS.
    pub(super) tls: Option<(Arc<ClientConfig>, rustls::pki_types::ServerName<'static>)>,
    /// Addresses to connect to.
    pub(super) addresses: Vec<SocketAddr>,
}

impl Target {
    /// Resolves the target and its twins. Twins that are given replace those of the plan.
    ///
    /// # Errors
    /// If [`Self::new`] fails for one of them.
    pub async fn all(
        plan: &TargetPlan,
        given: Option<&str>,
        twins: &[String],
        login: Option<Login>,
        confirmed: bool,
    ) -> Result<(Arc<Self>, Vec<Arc<Self>>)> {
        let first = Self::new(plan, given, login.clone(), confirmed).await?;
        let mut others = Vec::new();
        for twin in if twins.is_empty() { &plan.twins } else { twins } {
            others.push(Arc::new(Self::new(plan, Some(twin), login.clone(), confirmed).await?));
        }
        Ok((Arc::new(first), others))
    }

    /// Resolves the target of a plan, or of `--target`, if load may be sent there.
    ///
    /// # Errors
    /// If the address is invalid or its name cannot be resolved; or if it is another machine, and the plan does not
    /// name it or the user has not confirmed that it may be put under load (`confirmed`).
    pub async fn new(plan: &TargetPlan, given: Option<&str>, login: Option<Login>, confirmed: bool) -> Result<Self> {
        let url = given.or(plan.url.as_deref());
        let url = url.ok_or_else(|| Error::new("the plan names no target: give --target URL, or url in [target]"))?;
        let TargetAddress { host, port, secure } = TargetAddress::parse(url)?;
        let named = |text: &str| TargetAddress::parse(text).map_or(text == host, |place| place.host == host);
        let in_plan = plan.url.iter().chain(&plan.twins).chain(&plan.hosts).any(|text| named(text));
        let addresses = look_up(&host, port).await?;
        let own = addresses.iter().all(|address| address.ip().is_loopback());
        if !own && !in_plan {
            return Err(Error::new(format!(
                "the plan does not name {host}, so nothing is sent there: add it to hosts in [target] of a plan of \
                 your own"
            )));
        }
        if !own && !confirmed {
            return Err(Error::new(format!(
                "{host} is another machine: confirm with --yes-this-is-mine that it is yours and may be put under load"
            )));
        }
        let host_text = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let standard = if secure { 443 } else { 80 };
        let authority = if port == standard { host_text } else { format!("{host_text}:{port}") };
        let unusable = |_| Error::new(format!("the host or the credentials for {url} cannot be sent in a request"));
        let authorization = login.as_ref().map(|login| {
            let coded = STANDARD.encode(format!("{}:{}", login.user, login.password));
            HeaderValue::from_str(&format!("Basic {coded}"))
        });
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            kind: plan.kind,
            root: plan.root.trim_matches('/').to_owned(),
            authority: HeaderValue::from_str(&authority).map_err(unusable)?,
            authorization: authorization.transpose().map_err(unusable)?,
            login,
            tls: if secure { Some(tls(&host)?) } else { None },
            addresses,
        })
    }
}

/// The parsed address of a target.
struct TargetAddress {
    host: String,
    port: u16,
    secure: bool,
}

impl TargetAddress {
    fn parse(url: &str) -> Result<Self> {
        let wrong = |why: &str| Error::new(format!("\"{url}\" is not the address of a target: {why}"));
        let uri: Uri = url.parse().map_err(|_| wrong("write http://host:port"))?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("it must begin with http:// or https://")),
        };
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(wrong("give credentials by --user and --password"));
        }
        if uri.path().len() > 1 || uri.query().is_some() {
            return Err(wrong("it must not have a path; name a path with root in [target], or with --root"));
        }
        let authority = uri.authority().ok_or_else(|| wrong("it names no host"))?;
        let port = match authority.as_str().strip_prefix(authority.host()) {
            None | Some("") => Some(if secure { 443 } else { 80 }),
            // `port_u16` returns `None` for a port that is too large.
            Some(_) => authority.port_u16().filter(|port| *port > 0),
        };
        let port = port.ok_or_else(|| wrong("its port is not a number from 1 to 65535"))?;
        let host = authority.host().trim_matches(['[', ']']).to_ascii_lowercase();
        Ok(Self { host, port, secure })
    }
}

async fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>> {
    let asked = (host.to_owned(), port);
    let found = tokio::task::spawn_blocking(move || asked.to_socket_addrs().map(Vec::from_iter));
    match tokio::time::timeout(LOOK_UP, found).await {
        Ok(Ok(Ok(addresses))) if !addresses.is_empty() => Ok(addresses),
        Ok(Ok(Err(error))) => Err(Error::new(format!("the host {host} cannot be looked up: {error}"))),
        _ => Err(Error::new(format!("the host {host} cannot be looked up"))),
    }
}

fn tls(host: &str) -> Result<(Arc<ClientConfig>, rustls::pki_types::ServerName<'static>)> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let unusable = |error: &dyn std::fmt::Display| Error::new(format!("TLS to {host} is not possible: {error}"));
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = rustls::pki_types::ServerName::try_from(host.to_owned()).map_err(|error| unusable(&error))?;
    Ok((Arc::new(config), name))
}

/// Characters that are percent-encoded in a path: all except those allowed in a segment, and the separator between
/// segments.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Percent-encodes the segments of a path.
pub fn encode(path: &str) -> String {
    utf8_percent_encode(path, PATH).collect()
}

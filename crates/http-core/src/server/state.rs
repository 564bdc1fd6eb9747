//! State shared by all handlers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use repository::Repository;

use super::concurrency::ConcurrencyLimits;
use super::options::Options;
use super::trust::{PublicUrl, Trust};
use crate::converter::Converter;
use crate::figures::MetricsHistory;
use crate::office_server::OfficeServer;
use crate::pictures::Pictures;

/// State shared by all handlers of one server; cheap to clone.
#[derive(Clone)]
pub struct AppState(Arc<Inner>);

struct Inner {
    repository: Repository,
    secure: bool,
    trust: Trust,
    public_url: Option<PublicUrl>,
    ends_tls: bool,
    behind_tls_proxy: bool,
    lists_trees: bool,
    least_body_rate: u64,
    limits: ConcurrencyLimits,
    metrics_token: Option<String>,
    shutting_down: AtomicBool,
    figures: Arc<MetricsHistory>,
    converter: Option<Converter>,
    office_server: Option<OfficeServer>,
    pictures: Pictures,
}

impl AppState {
    /// Creates the state of a server with these options.
    pub fn new(repository: Repository, options: &Options) -> Self {
        let (ends_tls, behind_tls_proxy) = (options.tls.is_some(), options.behind_tls_proxy);
        let (trust, public_url) = (options.trust.clone(), options.public_url.clone());
        let secure = public_url.as_ref().map_or(ends_tls || behind_tls_proxy, PublicUrl::is_https);
        let lists_trees = options.webdav_depth_infinity;
        let (shutting_down, figures) = (AtomicBool::new(false), Arc::default());
        let converter = options.converter.clone().map(Converter::new);
        let (least_body_rate, limits) = (options.limits.body_rate, ConcurrencyLimits::new(options.limits));
        let metrics_token = options.metrics_token.clone();
        Self(Arc::new(Inner {
            repository,
            secure,
            trust,
            public_url,
            ends_tls,
            behind_tls_proxy,
            lists_trees,
            least_body_rate,
            limits,
            metrics_token,
            shutting_down,
            figures,
            converter,
            office_server: options.office_server.clone(),
            pictures: Pictures::default(),
        }))
    }

    /// The farm.
    pub fn repository(&self) -> &Repository {
        &self.0.repository
    }

    /// Returns whether browsers and clients reach this server over TLS.
    pub fn is_secure(&self) -> bool {
        self.0.secure
    }

    /// The trusted proxies.
    pub fn trust(&self) -> &Trust {
        &self.0.trust
    }

    /// The public URL of this server, if it is set.
    pub fn public_url(&self) -> Option<&PublicUrl> {
        self.0.public_url.as_ref()
    }

    /// Returns whether this server itself terminates TLS.
    pub fn ends_tls(&self) -> bool {
        self.0.ends_tls
    }

    /// Returns whether trusted proxies use TLS with the clients.
    pub fn behind_tls_proxy(&self) -> bool {
        self.0.behind_tls_proxy
    }

    /// Returns whether WebDAV lists a whole tree at once.
    pub fn lists_trees(&self) -> bool {
        self.0.lists_trees
    }

    /// Minimum transfer rate of a body in bytes per second. 0 means no minimum.
    pub fn least_body_rate(&self) -> u64 {
        self.0.least_body_rate
    }

    /// The concurrency limits.
    pub fn limits(&self) -> &ConcurrencyLimits {
        &self.0.limits
    }

    /// The token for reading the metrics from other machines, if it is set.
    pub fn metrics_token(&self) -> Option<&str> {
        self.0.metrics_token.as_deref()
    }

    /// The recent metrics of this server.
    pub fn figures(&self) -> &Arc<MetricsHistory> {
        &self.0.figures
    }

    /// The converter of office documents, if it is installed.
    pub fn converter(&self) -> Option<&Converter> {
        self.0.converter.as_ref()
    }

    /// The office server, if there is one.
    pub fn office_server(&self) -> Option<&OfficeServer> {
        self.0.office_server.as_ref()
    }

    /// The small pictures of documents.
    pub fn pictures(&self) -> &Pictures {
        &self.0.pictures
    }

    /// Marks the server as not ready, so that a load balancer sends no more requests.
    pub fn begin_shutdown(&self) {
        self.0.shutting_down.store(true, Ordering::Relaxed);
    }

    /// Returns whether [`AppState::begin_shutdown`] was called.
    pub fn is_shutting_down(&self) -> bool {
        self.0.shutting_down.load(Ordering::Relaxed)
    }
}

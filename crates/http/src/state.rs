//! What every handler can reach.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use repository::Repository;

use crate::converter::Converter;
use crate::figures::Figures;
use crate::server::Options;

/// Shared by all handlers of one server; cheap to clone.
#[derive(Clone)]
pub struct AppState(Arc<Inner>);

struct Inner {
    repository: Repository,
    secure: bool,
    lists_trees: bool,
    shutting_down: AtomicBool,
    figures: Figures,
    converter: Option<Converter>,
}

impl AppState {
    /// The state of a server with these options.
    pub fn new(repository: Repository, options: &Options) -> Self {
        let secure = options.tls.is_some() || options.behind_tls_proxy;
        let lists_trees = options.webdav_depth_infinity;
        let (shutting_down, figures) = (AtomicBool::new(false), Figures::default());
        let converter = options.converter.clone().map(Converter::new);
        Self(Arc::new(Inner { repository, secure, lists_trees, shutting_down, figures, converter }))
    }

    /// The farm.
    pub fn repository(&self) -> &Repository {
        &self.0.repository
    }

    /// Whether browsers and clients reach this server over TLS.
    pub fn is_secure(&self) -> bool {
        self.0.secure
    }

    /// Whether WebDAV lists a whole tree at once.
    pub fn lists_trees(&self) -> bool {
        self.0.lists_trees
    }

    /// What this server did lately, in numbers.
    pub fn figures(&self) -> &Figures {
        &self.0.figures
    }

    /// What makes pages of office documents, where it is installed.
    pub fn converter(&self) -> Option<&Converter> {
        self.0.converter.as_ref()
    }

    /// From now on the server is not ready: a load balancer should send nothing more.
    pub fn begin_shutdown(&self) {
        self.0.shutting_down.store(true, Ordering::Relaxed);
    }

    /// Whether [`AppState::begin_shutdown`] was called.
    pub fn is_shutting_down(&self) -> bool {
        self.0.shutting_down.load(Ordering::Relaxed)
    }
}

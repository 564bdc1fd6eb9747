//! The office server that edits documents in the browser, if the operator has one, such as Collabora Online or
//! OnlyOffice. It is a client of WOPI; what it edits, and at which addresses, is in its discovery document.

mod discovery;
mod fetch;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::{Error, Result};

pub use discovery::Editors;
use fetch::Fetcher;

/// Time after which the discovery document is fetched again. The addresses in it change when the office server is
/// updated.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// Time after which a failed request is repeated.
const RETRY: Duration = Duration::from_secs(15);
/// Path of the discovery document (WOPI, *Discovery*).
const DISCOVERY: &str = "/hosting/discovery";

/// The office server. Cheap to clone.
#[derive(Clone)]
pub struct OfficeServer(Arc<Inner>);

impl std::fmt::Debug for OfficeServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("OfficeServer")
    }
}

struct Inner {
    fetcher: Fetcher,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    editors: Option<Arc<Editors>>,
    /// Time at which the document may be fetched again.
    next_fetch: Option<Instant>,
    /// True if the last request failed.
    has_failed: bool,
}

impl OfficeServer {
    /// Prepares requests to the office server at `address`: scheme and host, and a path if it is below one.
    ///
    /// # Errors
    /// `Invalid` for another address; `Unavailable` if TLS cannot be set up.
    pub fn new(address: &str) -> Result<Self> {
        let base = discovery::base_url(address).ok_or_else(|| {
            Error::invalid(format!(
                "\"{}\" cannot be office_url: write the scheme and host of the office server, such as \
                 https://office.example.org",
                address.escape_debug()
            ))
        })?;
        let fetcher = Fetcher::new(format!("{base}{DISCOVERY}"))?;
        Ok(Self(Arc::new(Inner { fetcher, state: Mutex::default() })))
    }

    /// Returns what the office server edits, as far as it is known; `None` if it has not answered yet. Asks again in
    /// the background when that is due, so that no page waits for another server.
    pub fn editors(&self) -> Option<Arc<Editors>> {
        let (editors, is_due) = {
            let mut state = self.lock();
            let now = Instant::now();
            let is_due = state.next_fetch.is_none_or(|next| now >= next);
            if is_due {
                state.next_fetch = Some(now + RETRY);
            }
            (state.editors.clone(), is_due)
        };
        if is_due {
            tokio::spawn(self.clone().refresh());
        }
        editors
    }

    async fn refresh(self) {
        let answer = match self.0.fetcher.fetch().await {
            Ok(document) => discovery::parse(&document),
            Err(error) => Err(error),
        };
        let mut state = self.lock();
        match answer {
            Ok(editors) => {
                if state.has_failed || state.editors.is_none() {
                    let count = editors.extensions().count();
                    tracing::info!(target: "http", formats = count, "the office server edits documents");
                }
                state.editors = Some(Arc::new(editors));
                state.next_fetch = Some(Instant::now() + FRESH);
                state.has_failed = false;
            }
            Err(error) => {
                // Logged once; pages keep the last known editors.
                if !state.has_failed {
                    let report = error.report();
                    tracing::warn!(target: "http", "no discovery document of the office server: {report}");
                }
                state.has_failed = true;
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // No code that holds the lock can panic half-way through a change.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

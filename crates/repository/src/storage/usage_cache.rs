//! Cached usage of BLOB stores. Measuring lists a whole bucket and may take minutes, and a store may not respond. A
//! request for all stores therefore waits only briefly and reports the last measurement.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blobs::{BlobStore, Usage};
use model::{Error, Id, Result, StoreKind, Timestamp};
use tokio::sync::watch;

/// Time for which a request waits for a running measurement.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// A measurement counts as fresh until its age exceeds its duration by this factor.
const FRESHNESS_FACTOR: u32 = 20;
/// Minimum delay before retrying an unresponsive store.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// The known usage of a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// The usage, and the time of its measurement.
    pub(crate) usage: Option<(Usage, Timestamp)>,
    /// The reason when the store does not respond.
    pub(crate) trouble: Option<String>,
}

/// The usage caches of all stores.
#[derive(Default)]
pub(crate) struct UsageCaches(Mutex<HashMap<Id, Arc<Gauge>>>);

#[derive(Default)]
struct Gauge(Mutex<State>);

#[derive(Default)]
struct State {
    last: Option<Count>,
    /// Closed when the running measurement ends.
    under_way: Option<watch::Receiver<()>>,
    /// Set when the store has responded during that measurement.
    answered: bool,
}

struct Count {
    ended: Instant,
    took: Duration,
    at: Timestamp,
    outcome: Result<Usage, String>,
}

impl UsageCaches {
    /// Returns the usage of a store. A `hurried` request waits only briefly.
    pub(crate) async fn read(&self, id: Id, store: &BlobStore, hurried: bool) -> Reading {
        let gauge = locked(&self.0).entry(id).or_default().clone();
        if let Some(mut ended) = gauge.start(store) {
            let over = async { while ended.changed().await.is_ok() {} };
            match hurried {
                // After the timeout, the last known usage is returned.
                true => drop(tokio::time::timeout(REQUEST_TIMEOUT, over).await),
                false => over.await,
            }
        }
        gauge.reading()
    }

    /// Drops the measurements of a location that the store has left.
    pub(crate) fn forget(&self, id: Id) {
        locked(&self.0).remove(&id);
    }
}

impl Gauge {
    /// Starts a measurement unless the last one is fresh. Returns a receiver that closes when the running measurement
    /// ends.
    fn start(self: &Arc<Self>, store: &BlobStore) -> Option<watch::Receiver<()>> {
        let mut state = locked(&self.0);
        if let Some(running) = state.under_way.as_ref().filter(|running| running.has_changed().is_ok()) {
            return Some(running.clone());
        }
        // A directory store knows its usage without listing, and may have disappeared since.
        if store.kind() != StoreKind::Directory && state.last.as_ref().is_some_and(Count::is_new) {
            return None;
        }
        let (end, ended) = watch::channel(());
        (state.under_way, state.answered) = (Some(ended.clone()), false);
        let (gauge, store) = (self.clone(), store.clone());
        tokio::spawn(async move {
            gauge.count(&store).await;
            drop(end);
        });
        Some(ended)
    }

    async fn count(&self, store: &BlobStore) {
        let start = Instant::now();
        let outcome = match store.ping().await {
            Ok(()) => {
                locked(&self.0).answered = true;
                store.usage().await
            }
            Err(error) => Err(error),
        };
        let outcome = outcome.map_err(|error: Error| error.message().to_owned());
        let count = Count { ended: Instant::now(), took: start.elapsed(), at: Timestamp::now(), outcome };
        let mut state = locked(&self.0);
        (state.last, state.under_way) = (Some(count), None);
    }

    fn reading(&self) -> Reading {
        let state = locked(&self.0);
        let waiting = state.under_way.is_some();
        match &state.last {
            Some(Count { at, outcome: Ok(usage), .. }) => Reading { usage: Some((*usage, *at)), trouble: None },
            Some(Count { outcome: Err(error), .. }) if !state.answered => {
                Reading { usage: None, trouble: Some(error.clone()) }
            }
            None if waiting && !state.answered => {
                let trouble = format!("it did not answer within {} seconds", REQUEST_TIMEOUT.as_secs());
                Reading { usage: None, trouble: Some(trouble) }
            }
            _ => Reading::default(),
        }
    }
}

impl Count {
    fn is_new(&self) -> bool {
        let age = self.ended.elapsed();
        match self.outcome {
            Ok(_) => age < self.took * FRESHNESS_FACTOR,
            Err(_) => age < RETRY_DELAY,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

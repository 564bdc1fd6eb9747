//! What BLOB stores hold, as last counted. Counting lists a whole bucket and may take minutes, and a store may give no answer: who looks at
//! all stores waits for a moment, and sees what was counted last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blobs::{BlobStore, Usage};
use model::{Error, Id, Result, Timestamp};
use tokio::sync::watch;

/// How long a request waits for a count that is under way.
const MOMENT: Duration = Duration::from_secs(2);
/// A count is taken for new while it is younger than this many times what it took.
const WORTH: u32 = 20;
/// For so long a store that did not answer is not asked again.
const PAUSE: Duration = Duration::from_secs(5);

/// What is known of a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// What it held, and when that was counted.
    pub(crate) usage: Option<(Usage, Timestamp)>,
    /// Why it does not answer, when it does not.
    pub(crate) trouble: Option<String>,
}

/// The gauges of all stores.
#[derive(Default)]
pub(crate) struct Gauges(Mutex<HashMap<Id, Arc<Gauge>>>);

#[derive(Default)]
struct Gauge(Mutex<State>);

#[derive(Default)]
struct State {
    last: Option<Count>,
    /// Ends with the count that is under way.
    under_way: Option<watch::Receiver<()>>,
    /// Whether the store has answered to that one.
    answered: bool,
}

struct Count {
    ended: Instant,
    took: Duration,
    at: Timestamp,
    outcome: Result<Usage, String>,
}

impl Gauges {
    /// What the store holds. A request that is `hurried` waits for a moment only.
    pub(crate) async fn read(&self, id: Id, store: &BlobStore, hurried: bool) -> Reading {
        let gauge = locked(&self.0).entry(id).or_default().clone();
        if let Some(mut ended) = gauge.start(store) {
            let over = async { while ended.changed().await.is_ok() {} };
            match hurried {
                // What is known after the moment is what is shown.
                true => drop(tokio::time::timeout(MOMENT, over).await),
                false => over.await,
            }
        }
        gauge.reading()
    }

    /// Forgets what was counted at a place where the store is no more.
    pub(crate) fn forget(&self, id: Id) {
        locked(&self.0).remove(&id);
    }
}

impl Gauge {
    /// Begins to count unless the last count is new enough; the end of the count that is under way.
    fn start(self: &Arc<Self>, store: &BlobStore) -> Option<watch::Receiver<()>> {
        let mut state = locked(&self.0);
        if let Some(running) = state.under_way.as_ref().filter(|running| running.has_changed().is_ok()) {
            return Some(running.clone());
        }
        // A directory knows what it holds, and may be gone since.
        if store.kind() != "directory" && state.last.as_ref().is_some_and(Count::is_new) {
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
        let outcome = match store.answers().await {
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
                let trouble = format!("it gave no answer within {} seconds", MOMENT.as_secs());
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
            Ok(_) => age < self.took * WORTH,
            Err(_) => age < PAUSE,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

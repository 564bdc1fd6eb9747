//! An index on the search server, and its newest view.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::Result;

use super::place_table::PlaceTable;
use super::server::{BACKGROUND_TIMEOUT, SearchServer};
use super::stored_checkpoint::StoredCheckpoint;
use super::view::SharedView;

/// Time for which a checkpoint is used without asking for a newer one. Changes behind it are judged by their rows.
const MAX_VIEW_AGE: Duration = Duration::from_millis(100);
/// Limit on the time of a search, and of asking for a newer checkpoint.
pub(crate) const SEARCH_TIMEOUT: Duration = Duration::from_secs(1);
/// Time for which searches fail at once after the server did not answer.
const FAILURE_PAUSE: Duration = Duration::from_secs(2);

/// An index on the search server.
pub(crate) struct SharedIndex {
    server: SearchServer,
    /// Name of the index, or of the alias for the one in use.
    place: String,
    state: Mutex<State>,
}

struct State {
    view: Arc<SharedView>,
    /// Last time at which the checkpoint was read.
    read: Instant,
    /// Last time at which the server did not answer.
    failed: Option<(Instant, model::Error)>,
}

impl SharedIndex {
    /// Opens an index, or the one that an alias stands for. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer; `Corrupt` if there is no such index, or it is damaged or of another
    /// version.
    pub(crate) fn open(server: &SearchServer, place: &str) -> Result<Self> {
        let view = Arc::new(read(server, place, None, BACKGROUND_TIMEOUT)?);
        let state = Mutex::new(State { view, read: Instant::now(), failed: None });
        Ok(Self { server: server.clone(), place: place.to_owned(), state })
    }

    pub(super) fn server(&self) -> &SearchServer {
        &self.server
    }

    /// The last view that was read.
    pub(crate) fn view(&self) -> Arc<SharedView> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).view.clone()
    }

    /// Returns a view that is at most 100 milliseconds old. Blocks, at most for a second. Fails at once for two seconds
    /// after the server did not answer.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub(crate) fn newest(&self) -> Result<Arc<SharedView>> {
        // Searches that come at the same time wait for one answer.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, error)) = &state.failed
            && at.elapsed() < FAILURE_PAUSE
        {
            return Err(model::Error::new(error.kind(), error.message().to_owned()));
        }
        if state.read.elapsed() < MAX_VIEW_AGE {
            return Ok(state.view.clone());
        }
        self.read_into(&mut state, SEARCH_TIMEOUT)
    }

    /// Returns a view with all that was committed before. Blocks.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub(crate) fn newest_now(&self) -> Result<Arc<SharedView>> {
        self.read_into(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner), BACKGROUND_TIMEOUT)
    }

    fn read_into(&self, state: &mut State, limit: Duration) -> Result<Arc<SharedView>> {
        match read(&self.server, &self.place, Some(&state.view), limit) {
            Ok(view) => {
                state.view = Arc::new(view);
                (state.read, state.failed) = (Instant::now(), None);
                Ok(state.view.clone())
            }
            Err(error) => {
                let known = model::Error::new(error.kind(), error.message().to_owned());
                state.failed = Some((Instant::now(), known));
                Err(error)
            }
        }
    }
}

/// Reads the checkpoint of an index, and the places that were added since `before`.
fn read(server: &SearchServer, place: &str, before: Option<&SharedView>, limit: Duration) -> Result<SharedView> {
    let (name, stored) = StoredCheckpoint::read(server, place, limit)?;
    let same = before.filter(|before| before.name() == name);
    let places = same.map_or_else(|| Arc::new(PlaceTable::default()), |before| before.places().clone());
    if places.len() < stored.places {
        places.read(server, &name, stored.places, limit)?;
    }
    Ok(SharedView::new(server.clone(), name, stored.checkpoint, places, stored.places))
}

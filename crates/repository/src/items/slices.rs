//! Runs walks through listings in time slices, so that a long walk does not block other requests. Independent of the
//! data that is walked through.

use std::sync::Arc;
use std::time::{Duration, Instant};

use database::Reader;
use model::{Code, Error, Result};

use crate::farm::busy::RunningTask;
use crate::items::item::Item;
use crate::items::page::Page;
use crate::items::walk::End;
use crate::session::access::Access;
use crate::session::caller::ReadDuration;
use crate::session::known::Known;
use crate::session::locate::Located;
use crate::{Session, Target};

use super::order::SortKey;
use super::walk::{Listing, Progress, Walked};

/// Outcome of a slice of a walk.
pub(super) enum Slice<S, T> {
    /// The walk is done.
    Done(T),
    /// The walk continues from this state.
    Unfinished(S),
}

/// A page in progress.
pub(super) struct PageInProgress {
    progress: Progress,
    /// Tree version at which it was begun, and the caller's rights then.
    tree: i64,
    access: Arc<Access>,
    /// Number of earlier starts that were discarded.
    again: usize,
}

/// Duration of a slice that occupies a runtime thread.
const SHORT_SLICE: Duration = Duration::from_millis(10);
/// Duration of any other slice.
const LONG_SLICE: Duration = Duration::from_millis(150);
/// Maximum wait for a permit.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of restarts of a page because permissions changed meanwhile. After that, the page is built in a
/// single slice.
const MAX_RESTARTS: usize = 3;
/// Time limit of that single slice.
pub(super) const ONE_GO: Duration = Duration::from_secs(60 * 60);

impl Session {
    /// Runs a walk slice by slice. Only the first slice may be `Short`; a short slice that finds nothing reads few
    /// rows. All further slices wait for a permit, of which each caller has few at a time, and run where they block no
    /// other request.
    pub(super) async fn in_slices<S: Send + 'static, T: Send + 'static>(
        &self,
        target: &Target,
        first: ReadDuration,
        slice: impl Fn(&mut Reader<'_>, &Located, Option<S>, End) -> Result<Slice<S, T>> + Clone + Send + 'static,
    ) -> Result<T> {
        let caller = Arc::new(());
        let (mut before, mut time, mut permit) = (None, first, None);
        loop {
            if time == ReadDuration::Long && permit.is_none() {
                permit = Some(self.permit_to_walk().await?);
            }
            let (go_on, from, caller) = (slice.clone(), before.take(), Arc::downgrade(&caller));
            let look = move |reader: &mut Reader<'_>, known: &Known| {
                let at = Instant::now() + if time == ReadDuration::Short { SHORT_SLICE } else { LONG_SLICE };
                go_on(reader, known.unchecked(), from, End { at, caller })
            };
            match self.inspect_known(time, target, look).await?.1 {
                Slice::Done(done) => return Ok(done),
                Slice::Unfinished(begun) => before = Some(begun),
            }
            time = ReadDuration::Long;
        }
    }

    /// Waits for a permit for a long walk, of which each caller has few at a time.
    ///
    /// # Errors
    /// `Exhausted` with code `too_many_requests`.
    pub(super) async fn permit_to_walk(&self) -> Result<RunningTask<'_>> {
        let permit = self.repository.inner.listing_limits.acquire(self.turns_of, PERMIT_TIMEOUT).await;
        permit.ok_or_else(|| {
            Error::exhausted("other listings of yours are still being prepared: wait until they are complete")
                .with_code(Code::TooManyRequests)
        })
    }
}

impl Listing<'_> {
    /// Runs one slice of the walk to the page after `after`.
    pub(super) fn page_slice(
        &self,
        reader: &mut Reader<'_>,
        before: Option<PageInProgress>,
        after: Option<&SortKey>,
        limit: usize,
        end: &End,
    ) -> Result<Slice<PageInProgress, Page<Item, SortKey>>> {
        let tree = self.tree_version();
        let (progress, again) = match before {
            Some(begun) if begun.progress.items.is_empty() || (begun.tree == tree && !begun.access.has_expired()) => {
                (Some(begun.progress), begun.again)
            }
            // Items found under other permissions are searched for again.
            Some(begun) => (self.begin(after.cloned()), begun.again + 1),
            None => (self.begin(after.cloned()), 0),
        };
        let Some(progress) = progress else { return Ok(Slice::Done(Page { items: Vec::new(), next: None })) };
        let end = if again > MAX_RESTARTS { &end.after(ONE_GO) } else { end };
        Ok(match self.walk(reader, progress, limit, end)? {
            Walked::Page(page) => Slice::Done(page),
            Walked::Unfinished(progress) => {
                Slice::Unfinished(PageInProgress { progress, tree, access: self.access(), again })
            }
        })
    }
}

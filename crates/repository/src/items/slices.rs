//! Walks through listings that take long: slice by slice, beside other requests. Knows nothing of what is walked
//! through.

use std::time::{Duration, Instant};

use database::Reader;
use model::{Error, Result};

use super::list::{Page, SortKey};
use super::walk::{Listing, Progress, TIME, Walked};
use crate::locate::Located;
use crate::session::Time;
use crate::view::Item;
use crate::{Session, Target};

/// Outcome of a slice of a walk.
pub(super) enum Slice<S, T> {
    /// The walk is done.
    Done(T),
    /// It goes on from here.
    Unfinished(S),
}

/// A page that was begun.
pub(super) struct Begun {
    progress: Progress,
    /// The tree version with which it was.
    tree: i64,
    /// Number of times that it was begun before.
    again: usize,
}

/// Slices of a walk that count for nobody: a slow database may need some for a short page.
const FREE_SLICES: usize = 4;
/// Times that a page is begun anew because permissions changed meanwhile; then it is made in one go.
const MOST_AGAIN: usize = 3;
/// Time for that.
const ONE_GO: Duration = Duration::from_secs(60 * 60);

impl Session {
    /// Runs a walk slice by slice. One that is not done after the first goes on where it keeps no other request
    /// waiting. When it still is not after some, it counts for the caller, who may have few of them under way.
    pub(super) async fn in_slices<S: Send + 'static, T: Send + 'static>(
        &self,
        target: &Target,
        slice: impl Fn(&mut Reader<'_>, &Located, Option<S>) -> Result<Slice<S, T>> + Clone + Send + 'static,
    ) -> Result<T> {
        let (mut before, mut time, mut slices, mut counted) = (None, Time::Short, 0, None);
        loop {
            let (go_on, from) = (slice.clone(), before.take());
            let look = move |reader: &mut Reader<'_>, located: &Located| go_on(reader, located, from);
            match self.inspect_for(time, target, look).await?.1 {
                Slice::Done(done) => return Ok(done),
                Slice::Unfinished(begun) => before = Some(begun),
            }
            (time, slices) = (Time::Long, slices + 1);
            if slices >= FREE_SLICES && counted.is_none() {
                let work = self.repository.inner.walks.begin(self.principal.id);
                counted = Some(work.ok_or_else(|| {
                    Error::exhausted(
                        "other listings of yours are still being looked through: wait until they are there",
                    )
                    .with_code("too_many_requests")
                })?);
            }
        }
    }
}

impl Listing<'_> {
    /// A slice of the walk to a page behind `after`.
    pub(super) fn page_slice(
        &self,
        reader: &mut Reader<'_>,
        before: Option<Begun>,
        after: Option<&SortKey>,
        limit: usize,
    ) -> Result<Slice<Begun, Page<Item, SortKey>>> {
        let tree = self.tree_version();
        let (progress, again) = match before {
            Some(begun) if begun.tree == tree || begun.progress.items.is_empty() => (Some(begun.progress), begun.again),
            // What was found with other permissions is looked for again.
            Some(begun) => (self.begin(after.cloned()), begun.again + 1),
            None => (self.begin(after.cloned()), 0),
        };
        let Some(progress) = progress else { return Ok(Slice::Done(Page { items: Vec::new(), next: None })) };
        let time = if again > MOST_AGAIN { ONE_GO } else { TIME };
        Ok(match self.walk(reader, progress, limit, Instant::now() + time)? {
            Walked::Page(page) => Slice::Done(page),
            Walked::Unfinished(progress) => Slice::Unfinished(Begun { progress, tree, again }),
        })
    }
}

//! A site collection as a whole. Operations that affect all of it need rights on its root site and on nothing else. A
//! [`Root`] cannot be created from another item, and the statements that affect a whole site collection are called only
//! here (`clippy.toml` refuses them elsewhere).

#![expect(clippy::disallowed_methods, reason = "each of them goes through a root here")]

use std::ops::{Deref, Range};

use database::content::event::{self, EventRow};
use database::content::recycle::{self, RecycledRow};
use database::content::{collection, placing, share_link};
use database::{Reader, Transaction};
use model::{Id, Result, Right};

use crate::Session;
use crate::session::caller::ReadDuration;
use crate::session::errors::no_item;
use crate::session::known::{Known, Permitted};
use crate::session::locate::Located;

/// The root site of a site collection, with the caller's rights on it.
#[derive(Clone)]
pub(crate) struct Root(Located);

impl Deref for Root {
    type Target = Located;

    fn deref(&self) -> &Located {
        &self.0
    }
}

impl Session {
    /// Finds the root site of the site collection with this identifier. Any other item is reported as missing.
    pub(crate) async fn root(&self, collection: Id) -> Result<Root> {
        Ok(self.inspect_root(collection, |_, _| Ok(())).await?.0)
    }

    /// Finds the root site of a site collection and runs `f` on the same snapshot. `f` or the code behind it must check
    /// the caller's rights.
    pub(crate) async fn inspect_root<T: Send + 'static>(
        &self,
        collection: Id,
        f: impl FnOnce(&mut Reader<'_>, &Root) -> Result<T> + Send + 'static,
    ) -> Result<(Root, T)> {
        let look = |reader: &mut Reader<'_>, known: &Known| {
            let root = Root::of(known.unchecked().clone())?;
            let found = f(reader, &root)?;
            Ok((root, found))
        };
        Ok(self.inspect_known(ReadDuration::Short, &collection.into(), look).await?.1)
    }
}

impl Root {
    fn of(located: Located) -> Result<Self> {
        if located.node().id == located.collection.id { Ok(Self(located)) } else { Err(no_item()) }
    }

    /// Returns the identifier of the site collection, which is also that of its root site.
    pub(crate) fn id(&self) -> Id {
        self.0.collection.id
    }

    /// Requires that the caller manages the site collection.
    ///
    /// # Errors
    /// Those of [`Located::require`] for the right to manage sites.
    pub(crate) fn managed(&self) -> Result<ManagedRoot> {
        self.0.to(Right::ManageSite).map(ManagedRoot)
    }
}

/// The root site of a site collection that the caller manages.
#[derive(Clone)]
pub(crate) struct ManagedRoot(Permitted);

impl Deref for ManagedRoot {
    type Target = Permitted;

    fn deref(&self) -> &Permitted {
        &self.0
    }
}

impl ManagedRoot {
    fn id(&self) -> Id {
        self.0.collection.id
    }

    /// Returns the events of the site collection whose sequence is in `range`, newest first.
    pub(crate) fn events(
        &self,
        reader: &mut Reader<'_>,
        range: Range<i64>,
        actor: Option<Id>,
        action: Option<&str>,
        limit: usize,
    ) -> Result<Vec<EventRow>> {
        event::of_collection(reader, self.id(), range, actor, action, limit)
    }

    /// Returns the entries of all bins of the site collection, newest first.
    pub(crate) fn recycled(
        &self,
        reader: &mut Reader<'_>,
        before: Option<Id>,
        limit: usize,
    ) -> Result<Vec<RecycledRow>> {
        recycle::of_site(reader, self.id(), before, limit)
    }

    /// Returns the bytes and documents of the site collection, including the recycle bin.
    pub(crate) fn usage(&self, reader: &mut Reader<'_>) -> Result<(i64, i64)> {
        collection::usage(reader, self.id())
    }

    pub(crate) fn set_quota(&self, transaction: &mut Transaction<'_>, bytes: Option<i64>) -> Result<()> {
        collection::set_quota(transaction, self.id(), bytes)
    }

    pub(crate) fn set_audit_reads(&self, transaction: &mut Transaction<'_>, on: bool) -> Result<()> {
        collection::set_audit_reads(transaction, self.id(), on)
    }

    /// Sets the longest life of links in days; `None` allows no links.
    pub(crate) fn set_link_rule(&self, transaction: &mut Transaction<'_>, days: Option<i64>) -> Result<()> {
        share_link::set_rule(transaction, self.id(), days)
    }

    /// Renames the root site, whose name is the title of the site collection.
    pub(crate) fn rename(&self, transaction: &mut Transaction<'_>, title: &str) -> Result<()> {
        let folded = self.id().to_string();
        placing::place(transaction, self.id(), Id::NONE, title, &folded)?;
        collection::change_tree(transaction, self.id())
    }
}

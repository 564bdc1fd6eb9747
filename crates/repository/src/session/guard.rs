//! Decisions inside transactions: what the caller may do is asked again where it is done.

use std::sync::Arc;

use database::content::collection::{self, CollectionRow};
use database::content::event::{self, EventRow};
use database::content::glance::{self, ShelfRow};
use database::content::node::{self, NodeRow};
use database::{Reader, Transaction};
use model::{
    Error, Id, LibrarySettings, Name, NodeKind, Principal, Result, Right, Timestamp, VersionNumber, Versioning,
};

use crate::content::event_detail::{AUDIT_ACTIONS, Detail};
use crate::farm::registry::{ContentDatabase, Registry};
use crate::farm::repository::Repository;
use crate::items::item::Item;
use crate::session::access::Access;
use crate::session::idempotency::Repetition;
use crate::session::locate::{Finder, Located, knows, locate_id};
use crate::session::refusals::{no_item, require_free, taken, taken_unseen};

/// What a transaction needs to decide again whether the caller may do what was asked.
#[derive(Clone)]
pub(crate) struct Guard {
    pub(super) repository: Repository,
    pub(super) principal: Arc<Principal>,
    pub(super) registry: Arc<Registry>,
    pub(super) content: Arc<ContentDatabase>,
    pub(super) collection_id: Id,
    pub(super) tree_version: i64,
    pub(super) access: Arc<Access>,
    pub(super) needs: Vec<Need>,
    /// Whether nothing else may change the site collection meanwhile.
    pub(super) alone: bool,
    /// Whether a full disk does not stop the change.
    pub(super) vital: bool,
    /// Set when the caller may know what the whole site collection holds.
    pub(crate) knows_totals: bool,
    pub(crate) repetition: Repetition,
    /// Tokens of locks that the request shows.
    pub(crate) tokens: Arc<[String]>,
}

/// A right that the caller was found to have on an item, and the place where it was found.
#[derive(Clone, Copy)]
pub(super) struct Need {
    pub(super) node: Id,
    pub(super) right: Right,
    /// Parent and scope of the item when the right was found; none where they were not looked at.
    pub(super) place: Option<(Id, Id)>,
}

/// What the transaction found.
pub(crate) struct Checked {
    pub(crate) collection: CollectionRow,
    /// The caller's rights as of this transaction.
    pub(crate) access: Arc<Access>,
    caller: Id,
}

/// A name in a folder, and what has it as far as the caller may know.
#[expect(clippy::large_enum_variant, reason = "it lives for a moment, and an upload shall not allocate for it")]
pub(crate) enum Child {
    /// The name is free.
    Free,
    /// The caller may know of the item.
    Known(NodeRow),
    /// The name is taken, and the caller may know no more than that.
    Hidden,
}

impl Child {
    /// Refuses a name that is taken, and tells of what has it no more than the caller may know.
    pub(crate) fn require_free(self, name: &Name) -> Result<()> {
        match self {
            Self::Free => Ok(()),
            Self::Known(row) => Err(taken(&row.name, row.kind)),
            Self::Hidden => Err(taken_unseen(name)),
        }
    }
}

impl Checked {
    /// Looks at a name in `parent`.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that sorts out what it found")]
    pub(crate) fn child(&self, reader: &mut Reader<'_>, parent: Id, name: &Name) -> Result<Child> {
        let found = node::find_child(reader, parent, &name.folded())?;
        Ok(found.map_or(Child::Free, |row| self.sort_out(row)))
    }

    /// Refuses to make a version of a document with this number when that publishes it and the caller may not. Where no
    /// drafts are kept, every version is for all, and there is nothing to publish.
    pub(crate) fn require_publish(
        &self,
        settings: &LibrarySettings,
        row: &NodeRow,
        number: VersionNumber,
    ) -> Result<()> {
        let publishes = settings.versioning == Versioning::MajorMinor && number.is_major();
        if !publishes || self.access.rights(row.scope_id).has(Right::Publish) {
            return Ok(());
        }
        Err(Error::lacking(Right::Publish, &row.name))
    }

    /// Returns whether the caller may know of an item.
    pub(crate) fn knows(&self, row: &NodeRow) -> bool {
        knows(&self.access, self.caller, row)
    }

    /// Sorts out an item that has a name already.
    pub(crate) fn sort_out(&self, row: NodeRow) -> Child {
        if self.knows(&row) { Child::Known(row) } else { Child::Hidden }
    }
}

impl Guard {
    /// The decision for an item below, on which a transaction of this guard found that the caller has these rights.
    pub(crate) fn for_child(&self, id: Id, rights: &[Right]) -> Self {
        let needs = rights.iter().map(|right| Need { node: id, right: *right, place: None });
        Self { needs: needs.collect(), ..self.clone() }
    }

    /// The item as it is now, held until the transaction ends. What was moved or deleted since the right on it was
    /// found is decided again: neither changes the version of the tree where the item is a document.
    pub(crate) fn hold(&self, transaction: &mut Transaction<'_>, id: Id) -> Result<NodeRow> {
        let row = node::lock(transaction, id)?.ok_or_else(no_item)?;
        let mut needs = self.needs.iter().filter(|need| need.node == id).peekable();
        let is_where_it_was = |need: &Need| need.place == Some((row.parent_id, row.scope_id));
        if needs.peek().is_none() || !needs.clone().all(is_where_it_was) {
            let located = self.find(transaction, id)?;
            needs.try_for_each(|need| located.require(need.right))?;
        }
        Ok(row)
    }

    /// An item with the caller's rights as of this point of the transaction.
    pub(crate) fn find(&self, transaction: &mut Transaction<'_>, id: Id) -> Result<Located> {
        locate_id(transaction, &self.finder()?, id)
    }

    /// Keeps others from changing the site collection until the transaction ends, for a change of where items are or who
    /// may do what with them: whatever it decides for a whole subtree then holds for all of it.
    pub(crate) fn alone(self) -> Self {
        self.alone_if(true)
    }

    /// The same on a condition.
    pub(crate) fn alone_if(self, alone: bool) -> Self {
        Self { alone, ..self }
    }

    /// Keeps others away unless the item is a document, below which nothing is.
    pub(crate) fn alone_unless_document(self, kind: NodeKind) -> Self {
        self.alone_if(kind != NodeKind::Document)
    }

    /// Makes the change where the disk is full as well: it frees room, or people need it to get at that.
    pub(crate) fn vital(self) -> Self {
        Self { vital: true, ..self }
    }

    /// Runs a transaction, once what the caller may do was decided again in it. `f` may run several times.
    ///
    /// # Errors
    /// Those of the rights that the guard was made for, when they are gone; those of `f` and of the database.
    pub(crate) async fn write<T, F>(self, mut f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>, &Self, &Checked) -> Result<T> + Send + 'static,
    {
        let (content, vital) = (self.content.clone(), self.vital);
        let write = move |transaction: &mut Transaction<'_>| {
            let checked = self.check(transaction)?;
            f(transaction, &self, &checked)
        };
        if vital { content.database.write_vital(write).await } else { content.database.write(write).await }
    }

    /// Runs a transaction as [`Guard::write`] does, for a document in the folder `parent`: with what is there under its
    /// folded name.
    pub(crate) async fn write_on_shelf<T, F>(self, parent: Id, folded: String, mut f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>, Checked, ShelfRow) -> Result<T> + Send + 'static,
    {
        let content = self.content.clone();
        let write = move |transaction: &mut Transaction<'_>| {
            transaction.enter(self.collection_id)?;
            let shelf = glance::shelf(transaction, self.collection_id, parent, &folded)?.ok_or_else(no_collection)?;
            let checked = self.decide_on(transaction, shelf.collection.clone())?;
            f(transaction, checked, shelf)
        };
        content.database.write(write).await
    }

    /// Decides again, inside the transaction of another guard; cheap while nobody changed permissions or moved folders
    /// meanwhile. Until the transaction ends, nobody does.
    pub(crate) fn check(&self, transaction: &mut Transaction<'_>) -> Result<Checked> {
        if self.alone {
            transaction.enter_alone(self.collection_id)?;
        } else {
            transaction.enter(self.collection_id)?;
        }
        self.decide(transaction)
    }

    fn decide(&self, transaction: &mut Transaction<'_>) -> Result<Checked> {
        let collection = collection::find(transaction, self.collection_id)?.ok_or_else(no_collection)?;
        self.decide_on(transaction, collection)
    }

    fn decide_on(&self, transaction: &mut Transaction<'_>, collection: CollectionRow) -> Result<Checked> {
        let mut access = self.access.clone();
        if collection.tree_version != self.tree_version {
            let finder = self.finder()?;
            access = locate_id(transaction, &finder, self.collection_id)?.access;
            for need in &self.needs {
                let located = locate_id(transaction, &finder, need.node)?;
                located.require(need.right)?;
            }
        }
        Ok(Checked { collection, access, caller: self.principal.id })
    }

    /// Refuses a change of an item that somebody else has checked out, or that is locked without its token being shown.
    pub(crate) fn require_free(
        &self,
        transaction: &mut Transaction<'_>,
        checked: &Checked,
        row: &NodeRow,
    ) -> Result<()> {
        require_free(row, self.caller(), None)?;
        self.require_unlocked(transaction, checked, row)
    }

    /// The farm as it was when the place was found.
    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    fn finder(&self) -> Result<Finder> {
        let database = self.registry.collection(self.collection_id)?.database_id;
        Ok(Finder {
            repository: self.repository.clone(),
            principal: self.principal.clone(),
            registry: self.registry.clone(),
            content: self.registry.database(database)?.clone(),
            keep: false,
        })
    }

    /// An item as the caller sees it at this point of the transaction.
    pub(crate) fn item(&self, transaction: &mut Transaction<'_>, id: Id) -> Result<Item> {
        self.find(transaction, id)?.item(transaction)
    }

    /// The site collection that the change is in.
    pub(crate) fn collection(&self) -> Id {
        self.collection_id
    }

    pub(crate) fn caller(&self) -> Id {
        self.principal.id
    }

    pub(crate) fn next_id(&self) -> Id {
        self.repository.next_id()
    }

    /// Writes down that the caller did `action` to an item.
    pub(crate) fn record(
        &self,
        transaction: &mut Transaction<'_>,
        node: Id,
        action: &str,
        detail: impl Into<Detail>,
    ) -> Result<()> {
        self.record_by(transaction, self.principal.id, node, action, detail.into())
    }

    /// Writes down what somebody else did through the caller's session, such as by a link that the caller made.
    pub(crate) fn record_by(
        &self,
        transaction: &mut Transaction<'_>,
        actor_id: Id,
        node: Id,
        action: &str,
        detail: Detail,
    ) -> Result<()> {
        debug_assert!(AUDIT_ACTIONS.contains(&action), "{action} is missing in AUDIT_ACTIONS");
        let row = EventRow {
            sequence: 0,
            at: Timestamp::now(),
            actor_id,
            collection_id: self.collection_id,
            node_id: node,
            action: action.to_owned(),
            detail: detail.stored()?,
        };
        event::insert(transaction, &row)
    }
}

fn no_collection() -> Error {
    Error::not_found("the site collection was removed")
}

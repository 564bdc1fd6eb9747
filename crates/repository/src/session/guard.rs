//! Authorisation inside transactions: the caller's rights are checked again in the transaction that makes the change.

use std::sync::Arc;

use database::content::collection::{self, CollectionRow};
use database::content::event::{self, EventRow};
use database::content::name_lookup::{self, CreationContext};
use database::content::node::{self, NodeRow};
use database::{Reader, Transaction};
use model::{
    Code, Error, Id, LibrarySettings, Name, NodeKind, Principal, Result, Right, Rights, Timestamp, VersionNumber,
    Versioning,
};

use crate::content::event_detail::{AUDIT_ACTIONS, Detail};
use crate::farm::registry::{ContentDatabase, Registry};
use crate::farm::repository::Repository;
use crate::items::item::Item;
use crate::session::access::Access;
use crate::session::errors::{name_taken_hidden, no_item, require_free, taken};
use crate::session::idempotency::IdempotencyKey;
use crate::session::locate::{Finder, Located, knows, locate_id};
use crate::session::recorded::RecordedActions;

/// The data with which a transaction checks again whether the caller may do what was requested.
#[derive(Clone)]
pub(crate) struct Guard {
    pub(super) repository: Repository,
    pub(super) principal: Arc<Principal>,
    pub(super) registry: Arc<Registry>,
    pub(super) content: Arc<ContentDatabase>,
    pub(super) collection_id: Id,
    pub(super) tree_version: i64,
    pub(super) access: Arc<Access>,
    pub(super) needs: Vec<RequiredRight>,
    /// Set when no other transaction may change the site collection meanwhile.
    pub(super) exclusive: bool,
    /// Set when the change may use the reserved disk space, so that it succeeds even on a full disk.
    pub(super) allow_reserved_space: bool,
    /// Set when the caller may know the totals of the whole site collection.
    pub(crate) knows_totals: bool,
    pub(crate) repetition: IdempotencyKey,
    /// Lock tokens that the request submitted.
    pub(crate) tokens: Arc<[String]>,
    pub(super) recorded: RecordedActions,
}

/// A right that the caller was found to have on an item, and the item's location at that time.
#[derive(Clone, Copy)]
pub(super) struct RequiredRight {
    pub(super) node: Id,
    pub(super) right: Right,
    /// Parent and scope of the item when the right was found; `None` where they were not read.
    pub(super) place: Option<(Id, Id)>,
}

/// Result of the check inside the transaction.
pub(crate) struct Checked {
    pub(crate) collection: CollectionRow,
    /// The caller's rights as of this transaction.
    pub(crate) access: Arc<Access>,
    caller: Id,
}

/// The state of a name in a folder, as far as the caller may know.
#[expect(clippy::large_enum_variant, reason = "it lives for a moment, and an upload shall not allocate for it")]
pub(crate) enum Child {
    /// The name is free.
    Free,
    /// The caller may know of the item.
    Known(NodeRow),
    /// The name is taken by an item that the caller may not know of.
    Hidden,
}

impl Child {
    /// Refuses a name that is taken, without revealing more about the item than the caller may know.
    pub(crate) fn require_free(self, name: &Name) -> Result<()> {
        match self {
            Self::Free => Ok(()),
            Self::Known(row) => Err(taken(&row.name, row.kind)),
            Self::Hidden => Err(name_taken_hidden(name)),
        }
    }
}

impl Checked {
    /// Looks up a name in `parent`.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that sorts out what it found")]
    pub(crate) fn child(&self, reader: &mut Reader<'_>, parent: Id, name: &Name) -> Result<Child> {
        let found = node::find_child(reader, parent, &name.folded())?;
        Ok(found.map_or(Child::Free, |row| self.classify(row)))
    }

    /// Refuses a version with this number if it would publish the document and the caller may not publish. In libraries
    /// without drafts every version is visible to all readers, so there is nothing to publish.
    pub(crate) fn require_publish(
        &self,
        settings: &LibrarySettings,
        row: &NodeRow,
        number: VersionNumber,
    ) -> Result<()> {
        let publishes = settings.versioning == Versioning::MajorMinor && number.is_major();
        match publishes {
            true => require_publisher(settings, self.access.rights(row.scope_id), &row.name),
            false => Ok(()),
        }
    }

    /// Returns whether the caller may know of an item.
    pub(crate) fn knows(&self, row: &NodeRow) -> bool {
        knows(&self.access, self.caller, row)
    }

    /// Classifies the item that has a name.
    pub(crate) fn classify(&self, row: NodeRow) -> Child {
        if self.knows(&row) { Child::Known(row) } else { Child::Hidden }
    }
}

impl Guard {
    /// Returns the guard for a child on which a transaction of this guard found these rights.
    pub(crate) fn for_child(&self, id: Id, rights: &[Right]) -> Self {
        let needs = rights.iter().map(|right| RequiredRight { node: id, right: *right, place: None });
        Self { needs: needs.collect(), ..self.clone() }
    }

    /// Returns the current row of an item and locks it until the transaction ends. If the item was moved or deleted
    /// since its right was found, the rights are checked again: for a document, neither changes the version of the
    /// tree.
    pub(crate) fn lock_row(&self, transaction: &mut Transaction<'_>, id: Id) -> Result<NodeRow> {
        let row = node::lock(transaction, id)?.ok_or_else(no_item)?;
        let mut needs = self.needs.iter().filter(|need| need.node == id).peekable();
        let is_where_it_was = |need: &RequiredRight| need.place == Some((row.parent_id, row.scope_id));
        if needs.peek().is_none() || !needs.clone().all(is_where_it_was) {
            let located = self.find(transaction, id)?;
            needs.try_for_each(|need| located.require(need.right))?;
        }
        Ok(row)
    }

    /// Finds an item with the caller's rights at this point of the transaction.
    pub(crate) fn find(&self, transaction: &mut Transaction<'_>, id: Id) -> Result<Located> {
        locate_id(transaction, &self.finder()?, id)
    }

    /// Blocks other changes to the site collection until the transaction ends. For changes of items' locations or
    /// permissions, so that a decision about a whole subtree holds for all of it.
    pub(crate) fn exclusive(self) -> Self {
        self.exclusive_when(true)
    }

    /// Conditional variant of `exclusive`.
    pub(crate) fn exclusive_when(self, exclusive: bool) -> Self {
        Self { exclusive, ..self }
    }

    /// Returns whether it blocks other changes.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Blocks other changes unless the item is a leaf. What is done to a leaf must not concern what is in it.
    pub(crate) fn exclusive_unless_leaf(self, kind: NodeKind) -> Self {
        self.exclusive_when(kind.is_container())
    }

    /// Allows the change even on a full disk, because it frees space or is needed to be able to free space.
    pub(crate) fn allow_reserved_space(self) -> Self {
        Self { allow_reserved_space: true, ..self }
    }

    /// Runs a transaction after checking the caller's rights in it again. `f` may run several times.
    ///
    /// # Errors
    /// Those of the rights that the guard was created for, when the caller has lost them; those of `f` and of the
    /// database.
    pub(crate) async fn write<T, F>(self, mut f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>, &Self, &Checked) -> Result<T> + Send + 'static,
    {
        let (content, allow_reserved_space) = (self.content.clone(), self.allow_reserved_space);
        let recorded = self.recorded.clone();
        let write = move |transaction: &mut Transaction<'_>| {
            self.recorded.begin();
            let checked = self.check(transaction)?;
            f(transaction, &self, &checked)
        };
        let written = match allow_reserved_space {
            true => content.database.write_vital(write).await,
            false => content.database.write(write).await,
        };
        written.inspect(|_| recorded.report())
    }

    /// Runs a transaction as [`Guard::write`] does, for a document in the folder `parent`. Also passes the folder and
    /// the item that has the folded name in it, if any.
    pub(crate) async fn write_child<T, F>(self, parent: Id, folded: String, mut f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>, Checked, CreationContext) -> Result<T> + Send + 'static,
    {
        let (content, recorded) = (self.content.clone(), self.recorded.clone());
        let write = move |transaction: &mut Transaction<'_>| {
            self.recorded.begin();
            transaction.lock_shared(self.collection_id)?;
            let context = name_lookup::creation_context(transaction, self.collection_id, parent, &folded)?
                .ok_or_else(no_collection)?;
            let checked = self.decide_on(transaction, context.collection.clone())?;
            f(transaction, checked, context)
        };
        content.database.write(write).await.inspect(|_| recorded.report())
    }

    /// Checks the rights again inside a transaction, also that of another guard. Cheap while permissions and folders
    /// are unchanged; both are locked until the transaction ends.
    pub(crate) fn check(&self, transaction: &mut Transaction<'_>) -> Result<Checked> {
        if self.exclusive {
            transaction.lock_exclusive(self.collection_id)?;
        } else {
            transaction.lock_shared(self.collection_id)?;
        }
        self.decide(transaction)
    }

    fn decide(&self, transaction: &mut Transaction<'_>) -> Result<Checked> {
        let collection = collection::find(transaction, self.collection_id)?.ok_or_else(no_collection)?;
        self.decide_on(transaction, collection)
    }

    fn decide_on(&self, transaction: &mut Transaction<'_>, collection: CollectionRow) -> Result<Checked> {
        let mut access = self.access.clone();
        if collection.tree_version != self.tree_version || self.access.has_expired() {
            let finder = self.finder()?;
            access = locate_id(transaction, &finder, self.collection_id)?.access;
            for need in &self.needs {
                let located = locate_id(transaction, &finder, need.node)?;
                located.require(need.right)?;
            }
        }
        Ok(Checked { collection, access, caller: self.principal.id })
    }

    /// Refuses a change to an item that another user has checked out, or that is locked without its token having been
    /// submitted.
    pub(crate) fn require_free(
        &self,
        transaction: &mut Transaction<'_>,
        checked: &Checked,
        row: &NodeRow,
    ) -> Result<()> {
        require_free(row, self.caller(), None)?;
        self.require_unlocked(transaction, checked, row)
    }

    /// Returns the registry as it was when the item was found.
    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns what finds items as the caller sees them at this point of the transaction.
    pub(crate) fn finder(&self) -> Result<Finder> {
        let database = self.registry.collection(self.collection_id)?.database_id;
        Ok(Finder {
            repository: self.repository.clone(),
            principal: self.principal.clone(),
            registry: self.registry.clone(),
            content: self.registry.database(database)?.clone(),
            keep: false,
        })
    }

    /// Returns an item as the caller sees it at this point of the transaction.
    pub(crate) fn item(&self, transaction: &mut Transaction<'_>, id: Id) -> Result<Item> {
        self.find(transaction, id)?.item(transaction)
    }

    /// Returns the site collection of the change.
    pub(crate) fn collection(&self) -> Id {
        self.collection_id
    }

    pub(crate) fn caller(&self) -> Id {
        self.principal.id
    }

    pub(crate) fn next_id(&self) -> Id {
        self.repository.next_id()
    }

    /// Records in the audit log that the caller did `action` to an item.
    pub(crate) fn record(
        &self,
        transaction: &mut Transaction<'_>,
        node: Id,
        action: &str,
        detail: impl Into<Detail>,
    ) -> Result<()> {
        self.record_by(transaction, self.principal.id, node, action, detail.into())
    }

    /// Records an action by another actor through the caller's session, such as by the holder of a link that the caller
    /// created.
    pub(crate) fn record_by(
        &self,
        transaction: &mut Transaction<'_>,
        actor_id: Id,
        node: Id,
        action: &str,
        detail: Detail,
    ) -> Result<()> {
        event::insert(transaction, &self.event(actor_id, node, action, detail)?)?;
        self.recorded.add(action);
        Ok(())
    }

    /// Returns the event of an action by an actor, for [`Guard::record_all`].
    pub(crate) fn event(&self, actor_id: Id, node: Id, action: &str, detail: Detail) -> Result<EventRow> {
        debug_assert!(AUDIT_ACTIONS.contains(&action), "{action} is missing in AUDIT_ACTIONS");
        Ok(EventRow {
            sequence: 0,
            at: Timestamp::now(),
            actor_id,
            collection_id: self.collection_id,
            node_id: node,
            action: action.to_owned(),
            detail: detail.stored()?,
        })
    }

    /// Records many events that [`Guard::event`] made. `library` is the library or list of all their items, if it is
    /// known.
    pub(crate) fn record_all(
        &self,
        transaction: &mut Transaction<'_>,
        events: &[EventRow],
        library: Option<Id>,
    ) -> Result<()> {
        event::insert_many(transaction, events, library)?;
        events.iter().for_each(|event| self.recorded.add(&event.action));
        Ok(())
    }
}

fn no_collection() -> Error {
    Error::not_found("the site collection was removed")
}

/// Checks that these rights suffice to publish an item of a library with drafts.
///
/// # Errors
/// `Forbidden`, with code `approval_required` if only the right to override is missing.
pub(crate) fn require_publisher(settings: &LibrarySettings, rights: Rights, name: &str) -> Result<()> {
    match settings.may_publish(rights) {
        true => Ok(()),
        false if rights.has(Right::Publish) => Err(Error::forbidden(format!(
            "drafts of \"{name}\" are published by approval: submit the draft, and somebody with the right \
             \"override\" decides"
        ))
        .with_code(Code::ApprovalRequired)
        .naming(&[name])),
        false => Err(Error::lacking(Right::Publish, name)),
    }
}

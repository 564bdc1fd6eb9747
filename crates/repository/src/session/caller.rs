//! A caller's session: the only way to content.

use std::sync::Arc;

use database::content::event::{self, EventRow};
use database::content::glance::{self, ShelfRow};
use database::content::node::{self, NodeRow};
use database::content::{collection, collection::CollectionRow};
use database::{Reader, Transaction};
use model::{
    Error, Id, LibrarySettings, Name, NodeKind, Principal, Result, Right, Timestamp, VersionNumber, Versioning,
};

use crate::content::event_detail::Detail;
use crate::content::events::AUDIT_ACTIONS;
use crate::content::view::Item;
use crate::documents::{require_free, taken, taken_unseen};
use crate::farm::attach::{AbsentDatabase, DATABASE_AWAY};
use crate::farm::registry::{ContentDatabase, Map};
use crate::session::access::Access;
use crate::session::idempotency::Repetition;
use crate::session::locate::{Finder, Located, knows, locate_id, locate_path, no_item};
use crate::{Repository, Target};

/// What one caller may do, as operations. Cheap to create; one for each request.
#[derive(Clone)]
pub struct Session {
    pub(crate) repository: Repository,
    pub(crate) principal: Arc<Principal>,
    pub(crate) repetition: Repetition,
    /// Tokens of locks that the request shows.
    pub(crate) tokens: Arc<[String]>,
}

/// What a transaction needs to decide again whether the caller may do what was asked.
#[derive(Clone)]
pub(crate) struct Guard {
    repository: Repository,
    principal: Arc<Principal>,
    map: Arc<Map>,
    collection_id: Id,
    tree_version: i64,
    access: Arc<Access>,
    needs: Vec<Need>,
    /// Set when the caller may know what the whole site collection holds.
    pub(crate) knows_totals: bool,
    pub(crate) repetition: Repetition,
    /// Tokens of locks that the request shows.
    pub(crate) tokens: Arc<[String]>,
}

/// A right that the caller was found to have on an item, and the place where it was found.
#[derive(Clone, Copy)]
struct Need {
    node: Id,
    right: Right,
    /// Parent and scope of the item when the right was found; none where they were not looked at.
    place: Option<(Id, Id)>,
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

/// Time that a read may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// Some milliseconds.
    Short,
    /// More: it keeps no thread of the runtime from other requests.
    Long,
}

impl Session {
    pub(crate) fn new(repository: Repository, principal: Principal) -> Self {
        Self { repository, principal: Arc::new(principal), repetition: Repetition::default(), tokens: Arc::default() }
    }

    /// The caller.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The farm that this session belongs to.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub(crate) async fn map(&self) -> Result<Arc<Map>> {
        self.repository.map_at(self.principal.directory_version).await
    }

    pub(crate) fn require_farm_administrator(&self, what: &str) -> Result<()> {
        if self.principal.farm_administrator {
            return Ok(());
        }
        if self.principal.everywhere {
            return Err(Error::forbidden(format!("this token cannot {what}: make one with the scope farm"))
                .with_code("token_scope"));
        }
        Err(Error::forbidden(format!("only an administrator of the farm can {what}")))
    }

    /// The name of a user or group; none when there is no such one.
    pub(crate) async fn name_of(&self, id: Id) -> Result<Option<String>> {
        Ok(self.principal_names(&[id]).await?.remove(&id).map(|found| found.name))
    }

    /// Finds an item and runs `f` on the same snapshot. The caller may know of the item; what else they may do with
    /// it, `f` or the code behind it must ask.
    pub(crate) async fn inspect<T: Send + 'static>(
        &self,
        target: &Target,
        f: impl FnOnce(&mut Reader<'_>, &Located) -> Result<T> + Send + 'static,
    ) -> Result<(Located, T)> {
        self.inspect_for(Time::Short, target, f).await
    }

    /// The same for `f` that may take long.
    pub(crate) async fn inspect_for<T: Send + 'static>(
        &self,
        time: Time,
        target: &Target,
        f: impl FnOnce(&mut Reader<'_>, &Located) -> Result<T> + Send + 'static,
    ) -> Result<(Located, T)> {
        self.repository.inner.activity.note();
        let map = self.map().await?;
        let content = self.content_of(&map, target).await.map_err(|error| self.discreet(error))?;
        let (principal, repository, target) = (self.principal.clone(), self.repository.clone(), target.clone());
        let database = content.database.clone();
        let finder = Finder { repository, principal, map, content, keep: true };
        let look = move |reader: &mut Reader<'_>| {
            let located = match &target {
                Target::Id(id) => locate_id(reader, &finder, *id)?,
                Target::Path(path) => locate_path(reader, &finder, path)?,
            };
            let result = f(reader, &located)?;
            Ok((located, result))
        };
        match time {
            Time::Short => database.read(look).await,
            Time::Long => database.read_long(look).await,
        }
    }

    /// An error that tells of a content database that is away, without its name and the reason for whoever does not
    /// administer the farm.
    pub(crate) fn discreet(&self, error: Error) -> Error {
        if error.code() != DATABASE_AWAY || self.principal.farm_administrator {
            return error;
        }
        let text =
            "a part of the site is not available at the moment: try again later, or ask an administrator of the farm";
        Error::unavailable(text).with_code(DATABASE_AWAY).with_source(error)
    }

    pub(crate) async fn locate(&self, target: &Target) -> Result<Located> {
        Ok(self.inspect(target, |_, _| Ok(())).await?.0)
    }

    /// The content database that holds (or would hold) the target.
    async fn content_of(&self, map: &Arc<Map>, target: &Target) -> Result<Arc<ContentDatabase>> {
        let id = match target {
            Target::Path(path) => {
                let (collection, _) = map
                    .collection_of(path)
                    .ok_or_else(|| Error::not_found(format!("there is nothing at \"{path}\"")))?;
                return map.database(collection.database_id).cloned();
            }
            Target::Id(id) => *id,
        };
        if let ([only], []) = (map.databases.as_slice(), map.absent.as_slice()) {
            return Ok(only.clone());
        }
        if let Ok(collection) = map.collection(id) {
            return map.database(collection.database_id).cloned();
        }
        let mut failed = None;
        for content in &map.databases {
            match content.database.read(move |reader| database::content::node::find(reader, id)).await {
                Ok(Some(_)) => return Ok(content.clone()),
                Ok(None) => {}
                Err(error) => failed = Some(error),
            }
        }
        // It may be in one that nobody can ask.
        Err(failed
            .or_else(|| map.absent.first().map(AbsentDatabase::error))
            .unwrap_or_else(crate::session::locate::no_item))
    }

    /// Asks for these rights, and makes the guard by which a transaction asks again: that the items are still there, and
    /// that the caller still has the rights on them. All items are in the site collection of the first.
    ///
    /// # Errors
    /// Those of [`Located::require`], for a right that the caller does not have even now.
    pub(crate) fn guard<'a>(&self, needs: impl IntoIterator<Item = (&'a Located, Right)>) -> Result<Guard> {
        let (mut first, mut found) = (None, Vec::new());
        for (located, right) in needs {
            located.require(right)?;
            if located.collection.id != first.get_or_insert(located).collection.id {
                return Err(
                    Error::conflict("the items are in different site collections").with_code("other_collection")
                );
            }
            let node = located.node();
            found.push(Need { node: node.id, right, place: Some((node.parent_id, node.scope_id)) });
        }
        Ok(Guard { needs: found, ..self.undecided(first.ok_or_else(no_item)?) })
    }

    /// Makes a guard for a transaction that decides itself what the caller may do in the site collection of `located`.
    pub(crate) fn undecided(&self, located: &Located) -> Guard {
        Guard {
            repository: self.repository.clone(),
            principal: self.principal.clone(),
            map: located.map.clone(),
            collection_id: located.collection.id,
            tree_version: located.collection.tree_version,
            access: located.access.clone(),
            needs: Vec::new(),
            knows_totals: located.knows_totals(),
            repetition: self.repetition.clone(),
            tokens: self.tokens.clone(),
        }
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

    /// Decides again, inside the transaction; cheap while nobody changed permissions or moved folders meanwhile. Until the
    /// transaction ends, nobody does.
    pub(crate) fn check(&self, transaction: &mut Transaction<'_>) -> Result<Checked> {
        transaction.enter(self.collection_id)?;
        self.decide(transaction)
    }

    /// The same for a document in a folder: with what is there under its name.
    pub(crate) fn check_shelf(
        &self,
        transaction: &mut Transaction<'_>,
        parent: Id,
        folded: &str,
    ) -> Result<(Checked, ShelfRow)> {
        transaction.enter(self.collection_id)?;
        let shelf = glance::shelf(transaction, self.collection_id, parent, folded)?.ok_or_else(no_collection)?;
        let checked = self.decide_on(transaction, shelf.collection.clone())?;
        Ok((checked, shelf))
    }

    /// The same for a transaction that changes where items are or who may do what with them: nothing else changes the site
    /// collection until it ends, so that whatever it decides for a whole subtree holds for all of it.
    pub(crate) fn check_alone(&self, transaction: &mut Transaction<'_>) -> Result<Checked> {
        transaction.enter_alone(self.collection_id)?;
        self.decide(transaction)
    }

    /// The one of the two that a change of the name or place of such an item needs: nothing is below a document.
    pub(crate) fn check_for(&self, transaction: &mut Transaction<'_>, kind: NodeKind) -> Result<Checked> {
        match kind {
            NodeKind::Document => self.check(transaction),
            NodeKind::Site | NodeKind::Library | NodeKind::Folder => self.check_alone(transaction),
        }
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
    pub(crate) fn map(&self) -> &Map {
        &self.map
    }

    fn finder(&self) -> Result<Finder> {
        let database = self.map.collection(self.collection_id)?.database_id;
        Ok(Finder {
            repository: self.repository.clone(),
            principal: self.principal.clone(),
            map: self.map.clone(),
            content: self.map.database(database)?.clone(),
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

#[cfg(test)]
mod tests;

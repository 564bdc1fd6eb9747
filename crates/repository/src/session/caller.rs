//! A caller's session, the only access to content.

use std::sync::Arc;

use database::Reader;
use model::{Code, Digest, Error, Id, Principal, Result, Right, Zone};

use crate::farm::absent::AbsentDatabase;
use crate::farm::registry::{ContentDatabase, Registry};
use crate::session::errors::no_item;
use crate::session::guard::{Guard, RequiredRight};
use crate::session::idempotency::{IdempotencyKey, Key};
use crate::session::known::{Known, Permitted, Viewed};
use crate::session::locate::{Finder, Located, locate_id, locate_path};
use crate::session::recorded::RecordedActions;
use crate::{Repository, Target};

/// The operations of one caller, limited by the caller's rights. Cheap to create; one for each request.
#[derive(Clone)]
pub struct Session {
    pub(crate) repository: Repository,
    pub(crate) principal: Arc<Principal>,
    pub(crate) repetition: IdempotencyKey,
    /// Lock tokens that the request submitted.
    pub(crate) tokens: Arc<[String]>,
    /// Time zone of the caller's days.
    pub(crate) zone: Zone,
    /// Owner of the turns for long listings: the caller, or the visitors of the caller's links together.
    pub(crate) turns_of: Id,
}

/// Expected duration of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadDuration {
    /// A few milliseconds.
    Short,
    /// Longer; the read does not occupy a runtime thread that other requests need.
    Long,
}

impl Session {
    pub(crate) fn new(repository: Repository, principal: Principal) -> Self {
        Self {
            turns_of: principal.id,
            repository,
            principal: Arc::new(principal),
            repetition: IdempotencyKey::default(),
            tokens: Arc::default(),
            zone: Zone::UTC,
        }
    }

    /// Returns this session for visitors of the caller's links. All of them share what one person may use at a time,
    /// and do not keep the caller waiting.
    pub(crate) fn for_visitors(self) -> Self {
        // No account has a negative identifier.
        Self { turns_of: Id::new(-self.principal.id.get()), ..self }
    }

    /// The caller.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Time zone of the caller's days.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The farm that this session belongs to.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub(crate) async fn registry(&self) -> Result<Arc<Registry>> {
        self.repository.registry_at(self.principal.directory_version).await
    }

    pub(crate) fn require_farm_administrator(&self, what: &str) -> Result<()> {
        if self.principal.farm_administrator {
            return Ok(());
        }
        if self.principal.everywhere {
            return Err(Error::forbidden(format!("this token cannot {what}: make one with the scope farm"))
                .with_code(Code::TokenScope));
        }
        Err(Error::forbidden(format!("only an administrator of the farm can {what}")))
    }

    /// Returns the name of a user or group; `None` when it does not exist.
    pub(crate) async fn name_of(&self, id: Id) -> Result<Option<String>> {
        Ok(self.principal_names(&[id]).await?.remove(&id).map(|found| found.name))
    }

    /// Finds an item that the caller may open and runs `f` on the same snapshot.
    ///
    /// # Errors
    /// `NotFound` when the caller may not open the item; those of `f`.
    pub(crate) async fn view<T: Send + 'static>(
        &self,
        target: &Target,
        f: impl FnOnce(&mut Reader<'_>, &Viewed) -> Result<T> + Send + 'static,
    ) -> Result<(Viewed, T)> {
        self.inspect(ReadDuration::Short, target, |known| known.viewed(), f).await
    }

    /// Finds an item that the caller may view and runs `f`, which may take long, on the same snapshot.
    pub(crate) async fn view_long<T: Send + 'static>(
        &self,
        target: &Target,
        f: impl FnOnce(&mut Reader<'_>, &Viewed) -> Result<T> + Send + 'static,
    ) -> Result<(Viewed, T)> {
        self.inspect(ReadDuration::Long, target, |known| known.viewed(), f).await
    }

    /// Finds an item on which the caller has a right and runs `f` on the same snapshot.
    ///
    /// # Errors
    /// Those of [`Known::to`]; those of `f`.
    pub(crate) async fn view_to<T: Send + 'static>(
        &self,
        right: Right,
        target: &Target,
        f: impl FnOnce(&mut Reader<'_>, &Permitted) -> Result<T> + Send + 'static,
    ) -> Result<(Permitted, T)> {
        self.inspect(ReadDuration::Short, target, move |known| known.to(right), f).await
    }

    /// Finds an item that the caller may know of and runs `f`, which may take long, on the same snapshot. No further
    /// right is checked: `f` must leave out everything that the caller may not know.
    pub(crate) async fn inspect_known<T: Send + 'static>(
        &self,
        time: ReadDuration,
        target: &Target,
        f: impl FnOnce(&mut Reader<'_>, &Known) -> Result<T> + Send + 'static,
    ) -> Result<(Known, T)> {
        self.inspect(time, target, Ok, f).await
    }

    async fn inspect<A: Send + 'static, T: Send + 'static>(
        &self,
        time: ReadDuration,
        target: &Target,
        ask: impl FnOnce(Known) -> Result<A> + Send + 'static,
        f: impl FnOnce(&mut Reader<'_>, &A) -> Result<T> + Send + 'static,
    ) -> Result<(A, T)> {
        self.repository.inner.activity.note();
        let registry = self.registry().await?;
        let content = self.content_of(&registry, target).await.map_err(|error| self.without_database_details(error))?;
        let (principal, repository, target) = (self.principal.clone(), self.repository.clone(), target.clone());
        let database = content.database.clone();
        let finder = Finder { repository, principal, registry, content, keep: true };
        let look = move |reader: &mut Reader<'_>| {
            let located = match &target {
                Target::Id(id) => locate_id(reader, &finder, *id)?,
                Target::Path(path) => locate_path(reader, &finder, path)?,
            };
            let asked = ask(Known::of(located))?;
            let result = f(reader, &asked)?;
            Ok((asked, result))
        };
        match time {
            ReadDuration::Short => database.read(look).await,
            ReadDuration::Long => database.read_long(look).await,
        }
    }

    /// Removes the name of an absent content database and the reason from an error, unless the caller is a farm
    /// administrator.
    pub(crate) fn without_database_details(&self, error: Error) -> Error {
        if error.code() != Code::DatabaseAway || self.principal.farm_administrator {
            return error;
        }
        let text =
            "a part of the site is not available at the moment: try again later, or ask an administrator of the farm";
        Error::unavailable(text).with_code(Code::DatabaseAway).with_source(error)
    }

    /// Finds an item that the caller may know of.
    pub(crate) async fn locate(&self, target: &Target) -> Result<Known> {
        Ok(self.inspect_known(ReadDuration::Short, target, |_, _| Ok(())).await?.0)
    }

    /// Finds the content database that holds (or would hold) the target.
    pub(crate) async fn content_of(&self, registry: &Arc<Registry>, target: &Target) -> Result<Arc<ContentDatabase>> {
        let id = match target {
            Target::Path(path) => {
                let (collection, _) = registry
                    .collection_of(path)
                    .ok_or_else(|| Error::not_found(format!("there is nothing at \"{path}\"")))?;
                return registry.database(collection.database_id).cloned();
            }
            Target::Id(id) => *id,
        };
        if let ([only], []) = (registry.databases.as_slice(), registry.absent.as_slice()) {
            return Ok(only.clone());
        }
        if let Ok(collection) = registry.collection(id) {
            return registry.database(collection.database_id).cloned();
        }
        let mut failed = None;
        for content in &registry.databases {
            match content.database.read(move |reader| database::content::node::find(reader, id)).await {
                Ok(Some(_)) => return Ok(content.clone()),
                Ok(None) => {}
                Err(error) => failed = Some(error),
            }
        }
        // The item may be in a database that cannot be queried.
        Err(failed
            .or_else(|| registry.absent.first().map(AbsentDatabase::error))
            .unwrap_or_else(crate::session::errors::no_item))
    }

    /// Creates the guard with which a transaction checks again that the items still exist and that the caller still has
    /// the rights on them. All items must be in the same site collection.
    ///
    /// # Errors
    /// `Conflict` with code `other_collection`.
    pub(crate) fn guard<'a>(&self, items: impl IntoIterator<Item = &'a Permitted>) -> Result<Guard> {
        let (mut first, mut found) = (None, Vec::new());
        for item in items {
            if item.collection.id != first.get_or_insert(item).collection.id {
                return Err(
                    Error::conflict("the items are in different site collections").with_code(Code::OtherCollection)
                );
            }
            let node = item.node();
            found.push(RequiredRight {
                node: node.id,
                right: item.right(),
                place: Some((node.parent_id, node.scope_id)),
            });
        }
        Ok(Guard { needs: found, ..self.guard_unchecked(first.ok_or_else(no_item)?) })
    }

    /// Creates a guard without any rights to check, for a transaction that itself checks the caller's rights in the
    /// site collection of `located`.
    pub(crate) fn guard_unchecked(&self, located: &Located) -> Guard {
        Guard {
            repository: self.repository.clone(),
            principal: self.principal.clone(),
            registry: located.registry.clone(),
            content: located.content.clone(),
            exclusive: false,
            allow_reserved_space: false,
            collection_id: located.collection.id,
            tree_version: located.collection.tree_version,
            access: located.access.clone(),
            needs: Vec::new(),
            knows_totals: located.may_see_totals(),
            repetition: self.repetition.clone(),
            tokens: self.tokens.clone(),
            recorded: RecordedActions::default(),
        }
    }
}

impl Session {
    /// Returns this session for one idempotent request that creates something. A repetition with the same `key` creates
    /// nothing and returns what was created first. A different `request` under the same key is an error with the code
    /// `idempotency_key_reused`.
    ///
    /// Applies to folders, sites, libraries, columns, content types, copies, site collections, accounts, groups, roles,
    /// BLOB stores and jobs; an upload has its key in its options. Keys are kept for at least seven days.
    #[must_use]
    pub fn idempotent(mut self, key: &str, request: Digest) -> Self {
        self.repetition = IdempotencyKey::new(Key::new(self.principal.id, key, request));
        self
    }

    /// Returns this session with days of a time zone instead of UTC, for searches.
    #[must_use]
    pub fn in_zone(mut self, zone: Zone) -> Self {
        self.zone = zone;
        self
    }
}

impl Repository {
    /// Opens a session for a caller. `principal` comes from one of the identity functions of this type.
    pub fn as_caller(&self, principal: Principal) -> Session {
        Session::new(self.clone(), principal)
    }
}

#[cfg(test)]
mod tests;

//! The caller's view of rows found anywhere in a content database.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use database::Reader;
use database::configuration::site_collection::SiteCollectionRow;
use database::content::node::NodeRow;
use database::content::search;
use model::{ErrorKind, Id, NodeKind, Result, Right, Timestamp};

use crate::Session;
use crate::farm::registry::{ContentDatabase, Registry};
use crate::items::item::Item;
use crate::session::access::GrantedRights;
use crate::session::locate::{Finder, Located, locate_id};

/// A caller's view of one content database. Looked-up parents are remembered for later rows.
pub(crate) struct CallerView {
    pub(crate) finder: Finder,
    /// Parent items with their paths; `None` for a parent that is in a recycle bin or unknown to the caller.
    parents: HashMap<Id, Option<(Located, String)>>,
}

impl CallerView {
    pub(crate) fn of(session: &Session, registry: &Arc<Registry>, content: &Arc<ContentDatabase>) -> Self {
        let finder = Finder {
            repository: session.repository.clone(),
            principal: session.principal.clone(),
            registry: registry.clone(),
            content: content.clone(),
            keep: true,
        };
        Self::with(finder)
    }

    /// Returns the view of the caller for whom this finder looks.
    pub(crate) fn with(finder: Finder) -> Self {
        Self { finder, parents: HashMap::new() }
    }

    /// Returns the scopes that the caller may open; `None` means all. They only save reading rows that cannot be shown:
    /// the rights are decided again for each item found.
    pub(crate) fn scopes(&self, reader: &mut Reader<'_>) -> Result<Option<Vec<Id>>> {
        let Some(open) = self.open(reader)? else { return Ok(None) };
        let mut scopes: Vec<Id> = open.iter().map(|granted| granted.scope_id).collect();
        scopes.sort_unstable();
        scopes.dedup();
        Ok(Some(scopes))
    }

    /// Returns the rights that each grant to the caller allows on its scope; `None` if the caller has all rights
    /// everywhere.
    pub(crate) fn granted_rights(&self, reader: &mut Reader<'_>) -> Result<Option<GrantedRights>> {
        let principal = &self.finder.principal;
        if principal.everywhere {
            return Ok(None);
        }
        let ids: Vec<Id> = principal.ids().collect();
        let (roles, mask) = (&self.finder.registry.roles, principal.limits.scopes.rights());
        let granted = search::granted(reader, &ids, Timestamp::now())?;
        let rights =
            |granted: &search::Granted| (granted.scope_id, Registry::rights(roles, granted.role_id).intersection(mask));
        Ok(Some(GrantedRights {
            by_scope: granted.iter().map(rights).collect(),
            ends_at: granted.iter().filter_map(|granted| granted.expires_at).min(),
        }))
    }

    /// Returns the site collections in which the caller may open something; `None` means all.
    pub(crate) fn known_collections(&self, reader: &mut Reader<'_>) -> Result<Option<HashSet<Id>>> {
        Ok(self.open(reader)?.map(|open| open.iter().map(|granted| granted.collection_id).collect()))
    }

    fn open(&self, reader: &mut Reader<'_>) -> Result<Option<Vec<search::Granted>>> {
        let principal = &self.finder.principal;
        if principal.everywhere {
            return Ok(None);
        }
        let ids: Vec<Id> = principal.ids().collect();
        let mut granted = search::granted(reader, &ids, Timestamp::now())?;
        granted.retain(|granted| Registry::rights(&self.finder.registry.roles, granted.role_id).has(Right::View));
        Ok(Some(granted))
    }

    /// Returns whether the caller's rights in a site collection, whose tree has this version, let the caller know of an
    /// item with this scope. Whether a path leads to it is not asked.
    pub(crate) fn may_know(
        &self,
        reader: &mut Reader<'_>,
        (collection, tree_version): (Id, i64),
        item: Id,
        scope: Id,
    ) -> Result<bool> {
        let (cache, roles) = (&self.finder.repository.inner.access, &self.finder.registry.roles);
        let access = cache.get(reader, collection, tree_version, &self.finder.principal, roles, self.finder.keep)?;
        Ok(access.may_know(item, scope))
    }

    /// Returns the site collections of this content database.
    pub(crate) fn collections<'a>(
        &self,
        registry: &'a Registry,
    ) -> impl Iterator<Item = &'a SiteCollectionRow> + use<'a> {
        let database = self.finder.content.row.id;
        registry.collections.iter().filter(move |row| row.database_id == database)
    }

    /// Returns an item that the caller may know of; `None` for all others.
    pub(crate) fn locate(&self, reader: &mut Reader<'_>, id: Id) -> Result<Option<Located>> {
        match locate_id(reader, &self.finder, id) {
            Ok(located) => Ok(Some(located)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns an item as the caller sees it; `None` when the caller may not open it or when it is in a recycle bin.
    pub(crate) fn show(&mut self, reader: &mut Reader<'_>, row: &NodeRow) -> Result<Option<Item>> {
        let Some((parent, path)) = self.parent(reader, row)? else { return Ok(None) };
        let open = parent.access.may_view(row.scope_id)
            && (row.kind != NodeKind::Document || parent.visible_version(row).is_some());
        if open { parent.child(reader, row, path).map(Some) } else { Ok(None) }
    }

    /// Returns the list of a row that was shown.
    pub(crate) fn list_of(&mut self, reader: &mut Reader<'_>, row: &NodeRow) -> Result<Option<Item>> {
        match self.parent(reader, row)? {
            Some((list, _)) => list.item(reader).map(Some),
            None => Ok(None),
        }
    }

    /// Returns a document as [`CallerView::show`] does; `None` too when the caller sees another version than `version`.
    pub(crate) fn show_version(&mut self, reader: &mut Reader<'_>, row: &NodeRow, version: Id) -> Result<Option<Item>> {
        let Some((parent, _)) = self.parent(reader, row)? else { return Ok(None) };
        if parent.visible_version(row) != Some(version) {
            return Ok(None);
        }
        self.show(reader, row)
    }

    /// Returns whether the reading of a document that was shown is recorded in the audit log.
    pub(crate) fn records_reads(&self, row: &NodeRow) -> bool {
        let parent = self.parents.get(&row.parent_id).and_then(Option::as_ref);
        parent.is_none_or(|(parent, _)| parent.collection.audit_reads)
    }

    /// Returns the parent of an item with its path; `None` when it is in a recycle bin or unknown to the caller.
    fn parent(&mut self, reader: &mut Reader<'_>, row: &NodeRow) -> Result<Option<&(Located, String)>> {
        if !self.parents.contains_key(&row.parent_id) {
            let parent = self.locate(reader, row.parent_id)?.map(|located| {
                let path = located.path();
                (located, path)
            });
            self.parents.insert(row.parent_id, parent);
        }
        Ok(self.parents.get(&row.parent_id).and_then(Option::as_ref))
    }
}

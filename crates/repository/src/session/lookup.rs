//! Lookup of a path with a single statement when its folder is cached.
//!
//! The cached data is valid for one version of the site collection's tree. The statement also returns the tree's
//! current version. If the versions differ, the result is discarded.

use database::content::name_lookup::{self, NameLookup};
use model::{NodeKind, NodePath, Result};

use crate::Session;
use crate::session::known::Known;
use crate::session::locate::Located;
use crate::session::path_cache::PathKey;

/// A folder and the result of one lookup in it.
pub(crate) struct FolderLookup {
    /// The folder.
    pub(crate) folder: Located,
    /// The result of looking up the name in it.
    pub(crate) child: NameLookup,
}

impl Session {
    /// Looks up the last name of a path in its folder. Returns `None` when the path must be resolved step by step.
    pub(crate) async fn look_up_cached(&self, path: &NodePath) -> Result<Option<FolderLookup>> {
        let registry = self.registry().await?;
        let Some((collection, used)) = registry.collection_of(path) else { return Ok(None) };
        let Some((name, above)) = path.names()[used..].split_last() else { return Ok(None) };
        let (inner, id) = (&self.repository.inner, collection.id);
        let key = PathKey::new(id, above);
        let Some((version, chain)) = inner.chains.last_by_path(&key, above.len()) else { return Ok(None) };
        let Some(access) = inner.access.known(id, version, &self.principal) else { return Ok(None) };
        let Some(parent) = chain.last().map(|folder| folder.id) else { return Ok(None) };
        inner.activity.note();
        // The slower look-up says in the caller's words that the database is away.
        let Ok(content) = registry.database(collection.database_id).cloned() else { return Ok(None) };
        let folded = name.folded();
        let found = content.database.read_one(move |reader| name_lookup::lookup(reader, id, parent, &folded)).await?;
        let Some(child) = found.filter(|child| child.collection.tree_version == version) else { return Ok(None) };
        let (collection, principal) = (child.collection.clone(), self.principal.clone());
        let folder = Located { registry, content, collection, access, principal, chain };
        if !folder.is_within_credential() {
            return Ok(None);
        }
        Ok(Some(FolderLookup { folder, child }))
    }
}

impl FolderLookup {
    /// Returns the document with its latest version, if that is the version that the caller sees there.
    pub(crate) fn document(self) -> Option<(Known, database::content::version::VersionRow)> {
        let (mut located, version) = (self.folder, self.child.version?);
        let item = self.child.item.filter(|item| item.kind == NodeKind::Document)?;
        located.chain.push(item.into());
        let sees_it = located.may_know(located.node()) && located.visible_version(located.node()) == Some(version.id);
        sees_it.then(|| (Known::of(located), version))
    }
}

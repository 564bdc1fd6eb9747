//! The folder that an import fills, and the rights that the caller needs for it.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use database::content::scope;
use model::{Code, Error, ErrorKind, Id, MAX_DEPTH, Name, NodeKind, Result, Right, Timestamp};

use crate::farm::registry::{ContentDatabase, Registry};
use crate::session::guard::Guard;
use crate::session::locate::Located;
use crate::storage::placement::StorageChoice;
use crate::{RoleGrant, Session, Target};

/// Maximum number of documents in one transaction.
pub const MAX_IMPORT_BATCH: usize = 500;

/// A library or folder that receives imported documents. Cheap to clone.
#[derive(Clone)]
pub struct ImportFolder {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) id: Id,
    pub(super) path: String,
    /// Number of items from the root site to this one, both included.
    pub(super) depth: usize,
    pub(super) guard: Guard,
    /// The library that contains the item, or the item itself if it is a library.
    pub(super) library: Id,
    pub(super) content: Arc<ContentDatabase>,
    pub(super) registry: Arc<Registry>,
}

impl Session {
    /// Returns the library or folder at `target`, ready to receive documents with the authors and times of their
    /// source.
    ///
    /// # Errors
    /// `Forbidden` without the rights to add documents and to manage the site; `Conflict` with code `wrong_kind` for an
    /// item that holds no documents.
    #[boxed]
    pub async fn import_folder(&self, target: &Target) -> Result<ImportFolder> {
        let located = self.locate(target).await.map_err(|error| match target {
            Target::Path(path) if error.kind() == ErrorKind::NotFound => Error::not_found(format!(
                "there is no library or folder \"{path}\": create the folder first, or import into an existing one"
            )),
            _ => error,
        })?;
        let located = located.unchecked();
        let node = located.node();
        if !node.kind.holds_documents() {
            return Err(Error::conflict(format!(
                "\"{}\" is a {}: documents go into libraries; name one as SITE/LIBRARY",
                located.path(),
                node.kind.as_str()
            ))
            .with_code(Code::WrongKind));
        }
        self.filled(located)
    }

    /// Returns the row at `target`, ready to receive attachments from a backup.
    ///
    /// # Errors
    /// Those of [`Session::import_folder`], for an item that is not a row.
    #[boxed]
    pub async fn import_attachments(&self, target: &Target) -> Result<ImportFolder> {
        let known = self.locate(target).await?;
        known.unchecked().require_kind(NodeKind::Row)?;
        self.filled(known.unchecked())
    }

    fn filled(&self, located: &Located) -> Result<ImportFolder> {
        let node = located.node();
        let permitted = NEEDS.map(|right| located.to(right));
        let permitted = permitted.into_iter().collect::<Result<Vec<_>>>()?;
        let guard = self.guard(&permitted)?;
        Ok(ImportFolder {
            inner: Arc::new(Inner {
                id: node.id,
                path: located.path(),
                library: node.library_id,
                depth: located.chain.len(),
                guard,
                content: located.content.clone(),
                registry: located.registry.clone(),
            }),
        })
    }

    /// Returns the grants that apply to an item, inherited or its own, in ascending order.
    #[boxed]
    pub async fn granted(&self, target: &Target) -> Result<Vec<RoleGrant>> {
        let (_, rows) = self
            .view_to(Right::ManagePermissions, target, |reader, located| {
                scope::grants(reader, located.node().scope_id, Timestamp::now())
            })
            .await?;
        let mut grants: Vec<RoleGrant> = rows.into_iter().map(RoleGrant::from).collect();
        grants.sort_unstable();
        Ok(grants)
    }
}

/// Rights that an import needs on each folder.
pub(super) const NEEDS: [Right; 2] = [Right::Add, Right::ManageSite];

impl ImportFolder {
    /// Returns the item's identifier.
    pub fn id(&self) -> Id {
        self.inner.id
    }

    /// Path in the farm.
    pub fn path(&self) -> &str {
        &self.inner.path
    }

    /// Refuses a name that would make the path too deep.
    pub fn check_depth(&self, name: &Name) -> Result<()> {
        if self.inner.depth >= MAX_DEPTH {
            return Err(Error::invalid(format!("\"{name}\" would be deeper than {MAX_DEPTH} levels"))
                .with_code(Code::PathTooDeep));
        }
        Ok(())
    }

    /// Decides where the bytes of a document with this name are stored.
    pub(super) fn placement(&self, name: &str) -> Result<StorageChoice> {
        let Inner { content, registry, guard, library, .. } = &*self.inner;
        StorageChoice::decide(registry, content, guard.collection(), *library, name)
    }
}

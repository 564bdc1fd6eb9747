//! Creates the folders of an import. All folders missing in one parent are created in one transaction.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::node::{self, NodeRow};
use database::content::scope;
use database::content::{collection, tree};
use model::{Error, Id, Name, NodeKind, Result, Right, Timestamp};

use crate::items::tree::held_parent;
use crate::session::errors::name_conflict;
use crate::session::guard::{Checked, Child, Guard};
use crate::{Ownership, RoleGrant, Session};

use super::folder::{ImportFolder, Inner, NEEDS};

/// A folder to be created.
#[derive(Clone, Debug)]
pub struct NewFolder {
    /// Name.
    pub name: Name,
    /// Its author and times; the caller and the current time when absent.
    pub ownership: Option<Ownership>,
    /// Permissions of its own; it inherits when absent. An existing folder keeps its permissions.
    pub grants: Option<Vec<RoleGrant>>,
}

impl Session {
    /// Creates folders in `parent`, with their own permissions from the first moment. Returns one result for each, in
    /// order. An existing folder is used unchanged. A document with the same name is an error of that folder alone.
    #[boxed]
    pub async fn import_folders(
        &self,
        parent: &ImportFolder,
        folders: Vec<NewFolder>,
    ) -> Result<Vec<Result<ImportFolder>>> {
        self.check_grants(parent, &folders).await?;
        let closes = folders.iter().any(|folder| folder.grants.is_some());
        let making = Making { parent: parent.inner.clone(), folders };
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            making.run(transaction, guard, checked)
        };
        parent.inner.guard.clone().exclusive_when(closes).write(write).await.map_err(name_conflict)
    }

    /// Checks the grants: roles must exist and allow no more than the caller may do; users and groups must exist.
    async fn check_grants(&self, parent: &ImportFolder, folders: &[NewFolder]) -> Result<()> {
        let mut grants: Vec<_> =
            folders.iter().filter_map(|folder| folder.grants.as_ref()).flatten().copied().collect();
        if folders.iter().all(|folder| folder.grants.is_none()) {
            return Ok(());
        }
        let located = self.locate(&parent.id().into()).await?.to(Right::ManagePermissions)?;
        grants.sort_unstable();
        grants.dedup();
        let principals: Vec<Id> = grants.iter().map(|grant| grant.principal).collect();
        let known = self.principal_names(&principals).await?;
        for RoleGrant { principal, role, .. } in grants {
            if !known.contains_key(&principal) {
                return Err(Error::not_found("there is no such user or group"));
            }
            let role = located.registry.roles.get(&role).ok_or_else(|| Error::not_found("there is no such role"))?;
            if !located.rights().contains(role.rights) {
                return Err(crate::content::permissions::role_exceeds_rights(&role.name));
            }
        }
        Ok(())
    }
}

struct Making {
    parent: Arc<Inner>,
    folders: Vec<NewFolder>,
}

impl Making {
    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        guard: &Guard,
        checked: &Checked,
    ) -> Result<Vec<Result<ImportFolder>>> {
        let parent = held_parent(transaction, self.parent.id)?;
        let mut made = Vec::with_capacity(self.folders.len());
        let mut changes_tree = false;
        for folder in &self.folders {
            let id = match checked.child(transaction, parent.id, &folder.name)? {
                Child::Known(present) if present.kind == NodeKind::Folder => self.enter(checked, &present),
                taken @ (Child::Known(_) | Child::Hidden) => {
                    made.extend(taken.require_free(&folder.name).err().map(Err));
                    continue;
                }
                Child::Free => {
                    changes_tree |= folder.grants.is_some();
                    make(transaction, guard, &parent, &self.parent.path, folder)
                }
            };
            made.push(id.map(|(id, name)| self.child(id, &name)));
        }
        if changes_tree {
            collection::change_tree(transaction, parent.collection_id)?;
        }
        Ok(made)
    }

    fn enter(&self, checked: &Checked, present: &NodeRow) -> Result<(Id, String)> {
        let rights = checked.access.rights(present.scope_id);
        match NEEDS.into_iter().find(|right| !rights.has(*right)) {
            None => Ok((present.id, present.name.clone())),
            Some(right) => Err(Error::lacking(right, &present.name)),
        }
    }

    fn child(&self, id: Id, name: &str) -> ImportFolder {
        let parent = &self.parent;
        ImportFolder {
            inner: Arc::new(Inner {
                id,
                path: crate::session::target::join(&parent.path, name),
                depth: parent.depth + 1,
                guard: parent.guard.for_child(id, &NEEDS),
                library: parent.library,
                content: parent.content.clone(),
                registry: parent.registry.clone(),
            }),
        }
    }
}

fn make(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    parent: &NodeRow,
    path: &str,
    folder: &NewFolder,
) -> Result<(Id, String)> {
    let (id, now, caller) = (guard.next_id(), Timestamp::now(), guard.caller());
    let mut row = NodeRow::new(id, parent, NodeKind::Folder, &folder.name, caller, now);
    if let Some(ownership) = folder.ownership {
        row.created_at = ownership.created_at;
        row.created_by = ownership.created_by;
        row.modified_at = ownership.modified_at;
        row.modified_by = ownership.modified_by;
    }
    node::insert(transaction, &row)?;
    if let Some(grants) = &folder.grants {
        let own = guard.next_id();
        scope::insert(transaction, own, parent.collection_id, id)?;
        for grant in grants {
            scope::grant(transaction, own, &grant.row(caller, now))?;
        }
        tree::set_scope(transaction, id, parent.scope_id, own)?;
    }
    guard.record(transaction, id, "folder.create", crate::session::target::join(path, folder.name.as_str()))?;
    Ok((id, folder.name.as_str().to_owned()))
}

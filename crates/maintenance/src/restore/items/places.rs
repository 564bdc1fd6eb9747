//! Sites and libraries that receive restored items. Existing ones are used; missing ones are created with their former
//! settings.

use std::collections::HashSet;

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::node::NodeRow;
use database::content::{column, library, scope};
use model::{Code, ColumnRole, ColumnValue, Error, Id, Name, NodeKind, NodePath, Result, SitePath, Timestamp};
use repository::{ColumnChange, Item, RoleGrant, Sort, Target, is_built_in_column, named_columns};

use super::context::Walk;
use super::destination::{Columns, Place};

/// Returns the name under which a column is restored. Earlier versions allowed the names of built-in columns.
/// `others` are the folded names of the columns in the set.
fn restored_name(place: NodeKind, name: &str, others: &HashSet<String>) -> Result<Name> {
    let own = Name::new(name)?;
    if !is_built_in_column(place, &own) {
        return Ok(own);
    }
    let mut found = Name::new(format!("{own} (column)"))?;
    let mut number = 2;
    while others.contains(&found.folded()) {
        found = Name::new(format!("{own} (column {number})"))?;
        number += 1;
    }
    Ok(found)
}

impl Walk<'_> {
    /// Returns a value of the set as it comes back, with its column; `None` if it does not.
    pub(super) fn value(&self, columns: &Columns, column: Id, value: &ColumnValue) -> Option<(Id, ColumnValue)> {
        let (new, kind) = columns.columns.get(&column)?;
        Some((*new, self.lookups.value(kind, value)?))
    }

    /// Returns the existing item at a path, if it is of this kind.
    #[boxed]
    pub async fn present(&self, path: &NodePath, kind: NodeKind) -> Result<Option<Item>> {
        match self.session.item(&Target::Path(path.clone())).await {
            Ok(item) if item.kind == kind => Ok(Some(item)),
            Ok(item) => Err(Error::conflict(format!(
                "there is now a {} at \"{path}\", where a {} is to be restored: rename it, or restore beside it",
                item.kind.as_str(),
                kind.as_str()
            ))),
            Err(error) if error.kind() == model::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates the site at a path if it is missing, as a site collection if it was one.
    #[boxed]
    pub async fn make_site(&mut self, path: &NodePath, row: &NodeRow) -> Result<()> {
        if self.present(path, NodeKind::Site).await?.is_some() {
            return match self.is_interrupted_creation(path, row).await? {
                true => self.grants(&Target::Path(path.clone()), row, &path.to_string()).await,
                false => Ok(()),
            };
        }
        if row.parent_id.is_none() {
            let address = SitePath::parse(&path.to_string())?;
            let database = self.source.database_name.clone();
            self.session.create_site_collection(&address, &row.name, Some(&database), None).await?;
        } else {
            let (parent, name) = split_parent(path)?;
            self.session.create_site(&Target::Path(parent), &name).await?;
        }
        self.grants(&Target::Path(path.clone()), row, &path.to_string()).await
    }

    /// Creates the library or list at a path if it is missing, with the columns that need nothing else.
    #[boxed]
    pub async fn library(&mut self, path: &NodePath, row: &NodeRow) -> Result<Place> {
        let id = row.id;
        let read = move |reader: &mut Reader<'_>| {
            Ok((library::find(reader, id)?, column::list(reader, id)?, column::content_types(reader, id)?))
        };
        let (settings, columns, types) = self.source.database.read_long(read).await?;
        let target = Target::Path(path.clone());
        let is_there = self.present(path, row.kind).await?.is_some();
        let is_new = !is_there || self.is_interrupted_creation(path, row).await?;
        let settings = settings.ok_or_else(|| Error::corrupt("the backup has a library without settings"))?;
        if !is_there {
            let (parent, name) = split_parent(path)?;
            let site = Target::Path(parent);
            if row.kind == NodeKind::List {
                let title = columns.iter().find(|column| column.role == Some(ColumnRole::Title));
                let title = title.ok_or_else(|| Error::corrupt("the backup has a list without a title column"))?;
                self.session.create_list(&site, &name, &Name::new(title.name.as_str())?).await?;
                self.session.change_library(&target, settings).await?;
            } else {
                self.session.create_library(&site, &name, settings).await?;
            }
        }
        if is_new {
            self.grants(&target, row, &path.to_string()).await?;
        }
        if row.kind == NodeKind::List {
            self.lookups.list_is_back(row.id, self.session.item(&target).await?.id);
        }
        let (present, present_types) = self.session.columns(&target).await?;
        let mut found = Columns::default();
        for (old, name) in types {
            let same = present_types.iter().find(|known| model::fold(&known.name) == model::fold(&name)).map(|t| t.id);
            let new = match same {
                Some(id) => id,
                None => self.session.create_content_type(&target, &Name::new(name.as_str())?).await?,
            };
            found.types.insert(old, new);
        }
        let names_in_set: HashSet<String> = columns.iter().map(|column| column.folded.clone()).collect();
        let names = columns.iter().map(|old| restored_name(row.kind, &old.name, &names_in_set));
        let names = names.collect::<Result<Vec<_>>>()?;
        // Formulas name the columns as they are called from now on.
        let mut renamed = columns.clone();
        renamed.iter_mut().zip(&names).for_each(|(column, name)| name.as_str().clone_into(&mut column.name));
        let options = named_columns(renamed)?.into_iter().map(|column| column.options);
        let (mut later, mut checked, mut lookups) = (Vec::new(), Vec::new(), Vec::new());
        for ((old, name), options) in columns.into_iter().zip(names).zip(options) {
            let mut folded = [old.folded.clone(), name.folded()].into_iter();
            let same = folded.find_map(|folded| present.iter().find(|known| model::fold(&known.name) == folded));
            if let Some(same) = same {
                let is_same_kind = same.kind.as_str() == old.kind.as_str();
                if is_same_kind && old.kind.takes_multiple() && !same.kind.takes_multiple() {
                    self.note(format!(
                        "the column \"{}\" of \"{path}\" takes a single value now: its values were not restored",
                        old.name
                    ));
                } else if is_same_kind && same.is_calculated() != options.formula.is_empty() {
                    let kind = old.kind.clone().taking_multiple(same.kind.takes_multiple())?;
                    found.columns.insert(old.id, (same.id, kind.clone()));
                    lookups.extend(same.kind.is_lookup().then(|| (old.id, same.kind.clone())));
                    // The title column of a new list is there already, and so are others after an interruption.
                    if is_new && same.options != options {
                        let change = ColumnChange {
                            name,
                            kind,
                            required: same.required,
                            content_type_id: same.content_type_id,
                            options,
                        };
                        checked.push((same.id, change));
                    }
                } else if is_same_kind {
                    self.note(format!(
                        "the column \"{}\" of \"{path}\" is calculated on one side only: its values were not restored",
                        old.name
                    ));
                } else {
                    self.note(format!(
                        "the column \"{}\" of \"{path}\" has a different kind now: its values were not restored",
                        old.name
                    ));
                }
                continue;
            }
            let change = ColumnChange {
                name,
                kind: old.kind.clone(),
                // A required column would prevent the check-in of existing documents that have no value for it.
                required: old.required && is_new,
                content_type_id: old.content_type_id.and_then(|id| found.types.get(&id).copied()),
                options,
            };
            if change.options.formula.is_empty() && change.options.check.is_empty() && !change.kind.is_lookup() {
                let id = self.session.create_column(&target, change).await?;
                found.columns.insert(old.id, (id, old.kind));
            } else {
                later.push((old.id, change));
            }
        }
        Ok(Place { path: path.clone(), row: row.clone(), columns: found, later, lookups, checked })
    }

    /// Creates the columns that a place still lacks, once all lists are there: those whose formulas read others after
    /// these. Completes the columns in `checked` last: a check can read a column whose own check reads its column.
    #[boxed]
    pub async fn complete(&mut self, place: &mut Place) -> Result<()> {
        let Place { path, columns: found, later, lookups, checked, .. } = place;
        let target = Target::Path(path.clone());
        for (old, present) in lookups.drain(..) {
            if found.columns.get(&old).is_some_and(|(_, kind)| self.lookups.kind(kind) != present) {
                found.columns.remove(&old);
                self.note(format!(
                    "a lookup column of \"{path}\" takes entries of another list now: its values were not restored"
                ));
            }
        }
        let (mut waiting, mut checked) = (std::mem::take(later), std::mem::take(checked));
        let mut failed = None;
        while !waiting.is_empty() {
            let count = waiting.len();
            for (old, change) in std::mem::take(&mut waiting) {
                let mut bare = change.clone();
                bare.kind = self.lookups.kind(&change.kind);
                bare.options.check.clear();
                bare.options.message.clear();
                match self.session.create_column(&target, bare).await {
                    Ok(id) => {
                        found.columns.insert(old, (id, change.kind.clone()));
                        checked.extend((!change.options.check.is_empty()).then_some((id, change)));
                    }
                    // It reads a column that is not there yet, or takes the entries of a list that is not there.
                    Err(error) if matches!(error.code(), Code::InvalidFormula | Code::InvalidValue) => {
                        failed = Some(error);
                        waiting.push((old, change));
                    }
                    Err(error) => return Err(error),
                }
            }
            if waiting.len() == count {
                break;
            }
        }
        for (_, change) in waiting {
            let why = failed.as_ref().map_or("", Error::message);
            self.note(format!("the column \"{}\" of \"{path}\" was not restored: {why}", change.name));
        }
        for (id, mut change) in checked {
            change.kind = self.lookups.kind(&change.kind);
            let name = change.name.clone();
            match self.session.change_column(&target, id, change).await {
                Err(error) if error.code() == Code::InvalidFormula => self.note(format!(
                    "the check of the column \"{name}\" of \"{path}\" was not restored: {}",
                    error.message()
                )),
                other => other?,
            }
        }
        Ok(())
    }

    /// Returns whether an existing site or library was created by an earlier restore that was interrupted: it is empty,
    /// and has no permissions except those of its creation and some of those in the set. Without this test its former
    /// permissions would not be applied, and restored content would be visible to other users than before.
    async fn is_interrupted_creation(&mut self, path: &NodePath, row: &NodeRow) -> Result<bool> {
        let target = Target::Path(path.clone());
        let (_, page) = self.session.list(&target, Sort::Name, false, None, 1).await?;
        if !page.items.is_empty() {
            return Ok(false);
        }
        let table = self.session.permissions(&target).await?;
        let made = self.full_control();
        let wanted = self.mapped_grants(row, &path.to_string()).await?.unwrap_or_default();
        let present = table.grants.iter().map(|grant| RoleGrant {
            principal: grant.principal,
            role: grant.role,
            until: grant.until,
        });
        let present: Vec<RoleGrant> = present.collect();
        let is_ours = |grant: &RoleGrant| *grant == made || wanted.contains(grant);
        // The role of its creation is taken away at the end, when all others are there. With fewer, somebody was taken
        // out since.
        let is_complete = present.len() == wanted.len() && wanted.iter().all(|grant| present.contains(grant));
        Ok(!table.own || is_complete || present.contains(&made) && present.iter().all(is_ours))
    }

    /// Applies the former permissions to an item that was just created, if it had its own. `place` is its path.
    pub(super) async fn grants(&mut self, target: &Target, row: &NodeRow, place: &str) -> Result<()> {
        let Some(grants) = self.mapped_grants(row, place).await? else { return Ok(()) };
        match self.session.break_inheritance(target, false).await {
            Ok(()) => {}
            Err(error) if error.code() == Code::OwnPermissions => {}
            Err(error) => return Err(error),
        }
        for grant in &grants {
            self.session.grant_until(target, *grant).await?;
        }
        // The creator initially has full control.
        let made = self.full_control();
        let is_kept = |grant: &RoleGrant| (grant.principal, grant.role) == (made.principal, made.role);
        if !grants.is_empty() && !grants.iter().any(is_kept) {
            self.session.revoke(target, made.principal, made.role).await?;
        }
        Ok(())
    }

    /// Returns what the caller has on an item that the caller has just created.
    fn full_control(&self) -> RoleGrant {
        RoleGrant { principal: self.session.principal().id, role: model::Role::FULL_CONTROL, until: None }
    }

    /// Returns the item's own permissions in the set, limited to users, groups and roles that still exist, or none when
    /// it inherited. `place` is its path in the farm.
    #[boxed]
    pub async fn mapped_grants(&mut self, row: &NodeRow, place: &str) -> Result<Option<Vec<RoleGrant>>> {
        let (id, now) = (row.id, Timestamp::now());
        let read = move |reader: &mut Reader<'_>| match scope::of_node(reader, id)? {
            Some(own) => Ok(Some(scope::grants(reader, own, now)?)),
            None => Ok(None),
        };
        let Some(rows) = self.source.database.read_long(read).await? else { return Ok(None) };
        let principals: Vec<Id> = rows.iter().map(|row| row.principal_id).collect();
        let known = self.session.principal_names(&principals).await?;
        let roles: Vec<Id> = self.session.role_list().await?.iter().map(|role| role.id).collect();
        let mut grants = Vec::new();
        for grant in rows {
            if known.contains_key(&grant.principal_id) && roles.contains(&grant.role_id) {
                grants.push(RoleGrant::from(grant));
            } else {
                self.note(format!(
                    "a permission on \"{place}\" was not restored: its user, group or role no longer exists"
                ));
            }
        }
        Ok(Some(grants))
    }
}

/// Splits a path into its parent and its name.
pub(super) fn split_parent(path: &NodePath) -> Result<(NodePath, Name)> {
    let split = path.split_last().map(|(parent, name)| (parent, name.clone()));
    split.ok_or_else(|| Error::invalid("the farm's root site always exists: name the part of it to restore"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restored_columns_have_names_that_are_allowed_and_their_own() {
        let set = ["title", "size", "type", "type (column)"].map(ToOwned::to_owned).into();
        for (name, restored) in [("Title", "Title"), ("SIZE", "SIZE (column)"), ("Type", "Type (column 2)")] {
            assert_eq!(restored_name(NodeKind::Library, name, &set).unwrap().as_str(), restored);
        }
    }
}

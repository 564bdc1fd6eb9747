//! Sites and libraries that items come back into: what is there is used, what is missing is made as it was.

use std::collections::HashMap;

use database::Reader;
use database::content::node::NodeRow;
use database::content::{column, library, scope};
use model::{Code, ColumnKind, Error, Id, Name, NodeKind, NodePath, Result, SitePath};
use repository::{ColumnChange, Item, Sort, Target};

use super::context::Walk;

/// Columns and content types of a library of the set, in the library that things come back into.
#[derive(Default)]
pub(super) struct Columns {
    pub columns: HashMap<Id, (Id, ColumnKind)>,
    pub types: HashMap<Id, Id>,
}

impl Walk<'_> {
    /// The item that is at a place now, if it is of this kind.
    pub async fn present(&self, path: &NodePath, kind: NodeKind) -> Result<Option<Item>> {
        match self.session.item(&Target::Path(path.clone())).await {
            Ok(item) if item.kind == kind => Ok(Some(item)),
            Ok(item) => Err(Error::conflict(format!(
                "there is a {} at \"{path}\" now, where a {} should come back: rename it, or restore beside it",
                item.kind.as_str(),
                kind.as_str()
            ))),
            Err(error) if error.kind() == model::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The site at a path, made when it is missing: as a site collection if it was one.
    pub async fn make_site(&mut self, path: &NodePath, row: &NodeRow) -> Result<()> {
        if self.present(path, NodeKind::Site).await?.is_some() {
            return if self.is_unfinished(path, row).await? { self.grants(path, row).await } else { Ok(()) };
        }
        if row.parent_id.is_none() {
            let address = SitePath::parse(&path.to_string())?;
            let database = self.source.database_name.clone();
            self.session.create_site_collection(&address, &row.name, Some(&database), None).await?;
        } else {
            let (parent, name) = split(path)?;
            self.session.create_site(&Target::Path(parent), &name).await?;
        }
        self.grants(path, row).await
    }

    /// The library at a path, made when it is missing, and what stands for its columns.
    pub async fn library(&mut self, path: &NodePath, row: &NodeRow) -> Result<Columns> {
        let id = row.id;
        let read = move |reader: &mut Reader<'_>| {
            Ok((library::find(reader, id)?, column::list(reader, id)?, column::content_types(reader, id)?))
        };
        let (settings, columns, types) = self.source.database.read_long(read).await?;
        let target = Target::Path(path.clone());
        let is_there = self.present(path, NodeKind::Library).await?.is_some();
        let is_new = !is_there || self.is_unfinished(path, row).await?;
        if !is_there {
            let (parent, name) = split(path)?;
            let settings = settings.ok_or_else(|| Error::corrupt("the backup has a library without settings"))?;
            self.session.create_library(&Target::Path(parent), &name, settings).await?;
        }
        if is_new {
            self.grants(path, row).await?;
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
        for old in columns {
            let same = present.iter().find(|known| model::fold(&known.name) == old.folded);
            if let Some(same) = same {
                if same.kind.as_str() == old.kind.as_str() {
                    found.columns.insert(old.id, (same.id, same.kind.clone()));
                } else {
                    self.note(format!(
                        "the column \"{}\" of \"{path}\" is of another kind now: its values were left out",
                        old.name
                    ));
                }
                continue;
            }
            let change = ColumnChange {
                name: Name::new(old.name.as_str())?,
                kind: old.kind.clone(),
                // Required columns would keep people from checking in what was there before them.
                required: old.required && is_new,
                content_type_id: old.content_type_id.and_then(|id| found.types.get(&id).copied()),
            };
            let id = self.session.create_column(&target, change).await?;
            found.columns.insert(old.id, (id, old.kind));
        }
        Ok(found)
    }

    /// Whether a place that is there is one that an earlier restoration had just made when it was cut short: nothing is in it, and it has no
    /// permissions but those of its making and some of the set. What comes into it would be for others than it was.
    async fn is_unfinished(&mut self, path: &NodePath, row: &NodeRow) -> Result<bool> {
        let target = Target::Path(path.clone());
        let (_, page) = self.session.list(&target, Sort::Name, false, None, 1).await?;
        if !page.items.is_empty() {
            return Ok(false);
        }
        let table = self.session.permissions(&target).await?;
        let made = (self.session.principal().id, model::Role::FULL_CONTROL);
        let wanted = self.own_grants(row, &path.to_string()).await?.unwrap_or_default();
        let present: Vec<(Id, Id)> = table.grants.iter().map(|grant| (grant.principal, grant.role)).collect();
        let is_ours = |grant: &(Id, Id)| *grant == made || wanted.contains(grant);
        Ok(!table.own || present.contains(&made) && present.iter().all(is_ours))
    }

    /// Gives a place that was just made the permissions that it had, if it had its own.
    async fn grants(&mut self, path: &NodePath, row: &NodeRow) -> Result<()> {
        let Some(grants) = self.own_grants(row, &path.to_string()).await? else { return Ok(()) };
        let target = Target::Path(path.clone());
        match self.session.break_inheritance(&target, false).await {
            Ok(()) => {}
            Err(error) if error.code() == Code::OwnPermissions => {}
            Err(error) => return Err(error),
        }
        for (principal, role) in &grants {
            self.session.grant(&target, *principal, *role).await?;
        }
        // Whoever makes a place holds it at first.
        let me = self.session.principal().id;
        if !grants.is_empty() && !grants.contains(&(me, model::Role::FULL_CONTROL)) {
            self.session.revoke(&target, me, model::Role::FULL_CONTROL).await?;
        }
        Ok(())
    }

    /// The permissions of its own that an item had, as far as users, groups and roles are still there; none when it inherited.
    /// `place` is where it comes to.
    pub async fn own_grants(&mut self, row: &NodeRow, place: &str) -> Result<Option<Vec<(Id, Id)>>> {
        let id = row.id;
        let read = move |reader: &mut Reader<'_>| match scope::of_node(reader, id)? {
            Some(own) => Ok(Some(scope::grants(reader, own)?)),
            None => Ok(None),
        };
        let Some(rows) = self.source.database.read_long(read).await? else { return Ok(None) };
        let principals: Vec<Id> = rows.iter().map(|row| row.principal_id).collect();
        let known = self.session.principal_names(&principals).await?;
        let roles: Vec<Id> = self.session.role_list().await?.iter().map(|role| role.id).collect();
        let mut grants = Vec::new();
        for grant in rows {
            if known.contains_key(&grant.principal_id) && roles.contains(&grant.role_id) {
                grants.push((grant.principal_id, grant.role_id));
            } else {
                self.note(format!("a permission on \"{place}\" was left out: its user, group or role is gone"));
            }
        }
        Ok(Some(grants))
    }
}

/// The place that holds a path, and its name there.
pub(super) fn split(path: &NodePath) -> Result<(NodePath, Name)> {
    let split = path.split_last().map(|(parent, name)| (parent, name.clone()));
    split.ok_or_else(|| Error::invalid("the farm's root site is always there: name what is to be restored in it"))
}

//! Operations on roles. Granting roles on items belongs to content.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::configuration::{event, farm, role};
use database::content::scope;
use model::{Code, Error, Id, Name, Result, Rights, Role, Timestamp};

use crate::Session;

/// Maximum number of roles in a farm.
const MAX_ROLES: usize = 1_000;

impl Session {
    /// Returns all roles, the built-in ones first. All signed-in users may see them.
    #[boxed]
    pub async fn roles(&self) -> Result<Vec<Role>> {
        self.repository.inner.configuration.read(role::list).await
    }

    /// Returns the role with this name, ignoring case.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` for text that cannot be a name.
    #[boxed]
    pub async fn role_by_name(&self, name: &str) -> Result<Role> {
        let name = Name::new(name)?;
        let none = Error::not_found(format!("there is no role \"{name}\""));
        self.repository.inner.configuration.read(move |reader| role::find_by_name(reader, &name)).await?.ok_or(none)
    }

    /// Creates a role.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators; `Invalid` for a bad name; `Conflict` with code
    /// `name_taken`; `Exhausted` when there are 1,000 roles already.
    #[boxed]
    pub async fn create_role(&self, name: &str, rights: Rights) -> Result<Role> {
        self.require_farm_administrator("create roles")?;
        let name = Name::new(name)?;
        let (id, actor) = (self.repository.inner.ids.next(), self.principal.id);
        let created = Role { id, name: name.as_str().to_owned(), rights };
        let repetition = self.repetition.clone();
        let create = move |tx: &mut Transaction| {
            if let Some(created) = repetition.find(tx)? {
                let none = || Error::not_found("the role that this idempotency key created has been deleted since");
                return role::find(tx, created)?.ok_or_else(none);
            }
            farm::change_directory(tx)?;
            refuse_taken(tx, &name, id)?;
            if role::list(tx)?.len() >= MAX_ROLES {
                return Err(Error::exhausted(format!("a farm has at most {MAX_ROLES} roles; delete one first")));
            }
            role::insert(tx, id, &name, rights)?;
            repetition.store_result(tx, id)?;
            record(tx, actor, "role.create", id, name.as_str())?;
            Ok(created.clone())
        };
        self.repository.inner.configuration.write(create).await
    }

    /// Changes name and rights; `None` leaves a value unchanged. Takes effect on the next request of all users who have
    /// the role.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators, and with code `fresh_sign_in_needed` for adding rights;
    /// `NotFound`; `Invalid` for a bad name and, with code `built_in`, for a built-in role; `Conflict` with code
    /// `name_taken`.
    #[boxed]
    pub async fn update_role(&self, id: Id, name: Option<&str>, rights: Option<Rights>) -> Result<Role> {
        self.require_farm_administrator("change roles")?;
        let name = name.map(Name::new).transpose()?;
        let (actor, asking) = (self.principal.id, self.clone());
        let update = move |tx: &mut Transaction| {
            farm::change_directory(tx)?;
            let before = changeable(tx, id)?;
            let name = match &name {
                Some(name) => name.clone(),
                None => Name::new(before.name.as_str())?,
            };
            refuse_taken(tx, &name, id)?;
            let rights = rights.unwrap_or(before.rights);
            if !before.rights.contains(rights) {
                asking.require_fresh("give a role more rights")?;
            }
            role::update(tx, id, &name, rights)?;
            let detail =
                format!("{} becomes {name}, rights {} become {}", before.name, words(before.rights), words(rights));
            record(tx, actor, "role.change", id, &detail)?;
            Ok(Role { id, name: name.as_str().to_owned(), rights })
        };
        self.repository.inner.configuration.write(update).await
    }

    /// Returns the number of grants of each role in the whole farm. Roles that are not granted are left out.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators; `Unavailable` when a content database does not answer.
    #[boxed]
    pub async fn role_uses(&self) -> Result<HashMap<Id, u64>> {
        self.require_farm_administrator("see where roles are used")?;
        let mut uses = HashMap::new();
        let registry = self.registry().await?;
        registry.require_all()?;
        for content in &registry.databases {
            for (role, count) in content.database.read(scope::uses_of_roles).await? {
                *uses.entry(role).or_default() += u64::try_from(count).unwrap_or(0);
            }
        }
        Ok(uses)
    }

    /// Deletes a role that is not granted. A grant made at the same moment allows nothing from the next request on.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators; `NotFound`; `Invalid` with code `built_in` for a
    /// built-in role; `Conflict` with code `role_in_use`.
    #[boxed]
    pub async fn delete_role(&self, id: Id) -> Result<()> {
        self.require_farm_administrator("delete roles")?;
        let present = self.repository.inner.configuration.read(move |reader| role::find(reader, id)).await?;
        let granted = present.is_some_and(|role| !role.is_built_in());
        let uses = if granted { self.role_uses().await?.remove(&id).unwrap_or(0) } else { 0 };
        if uses > 0 {
            let times = if uses == 1 { "once".to_owned() } else { format!("{uses} times") };
            let text = format!("the role is granted {times}; remove its grants first");
            return Err(Error::conflict(text).with_code(Code::RoleInUse));
        }
        let actor = self.principal.id;
        let delete = move |tx: &mut Transaction| {
            farm::change_directory(tx)?;
            let role = changeable(tx, id)?;
            role::remove(tx, id)?;
            record(tx, actor, "role.delete", id, &role.name)
        };
        self.repository.inner.configuration.write(delete).await
    }
}

fn changeable(tx: &mut Transaction, id: Id) -> Result<Role> {
    let none = || Error::not_found(format!("there is no role with the identifier {id}"));
    let role = role::find(tx, id)?.ok_or_else(none)?;
    if role.is_built_in() {
        let text = format!("the role {} came with the farm and cannot be changed; create one of your own", role.name);
        return Err(Error::invalid(text).with_code(Code::BuiltIn));
    }
    Ok(role)
}

fn refuse_taken(tx: &mut Transaction, name: &Name, id: Id) -> Result<()> {
    match role::find_by_name(tx, name)?.filter(|other| other.id != id) {
        Some(other) => {
            Err(Error::conflict(format!("there is already a role \"{}\"", other.name)).with_code(Code::NameTaken))
        }
        None => Ok(()),
    }
}

fn words(rights: Rights) -> String {
    let words: Vec<&str> = rights.iter().map(|right| right.as_str()).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}

fn record(tx: &mut Transaction, actor: Id, action: &str, role: Id, detail: &str) -> Result<()> {
    event::record(tx, Timestamp::now(), actor, action, &format!("role {role}"), detail)
}

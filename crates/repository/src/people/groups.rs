//! Operations on groups and their members.

use async_recursion::async_recursion as boxed;
use database::configuration::{account, event, farm, group, principal};
use database::{Reader, Transaction};
use model::{Code, Error, Id, MAX_PAGE, Name, Principal, Result, Timestamp, fold};

use crate::Session;

use super::accounts::missing as no_account;
use super::{Group, Member, text};

impl Session {
    /// Creates a group without members.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators; `Invalid` for a bad name; `Conflict` with code
    /// `name_taken`.
    #[boxed]
    pub async fn create_group(&self, name: &str, description: &str) -> Result<Group> {
        self.require_farm_administrator("create groups")?;
        let (name, description) = (Name::new(name)?, text::description(description)?);
        let (id, now, actor) = (self.repository.inner.ids.next(), Timestamp::now(), self.principal.id);
        let created = Group { id, name: name.as_str().to_owned(), description: description.clone(), created_at: now };
        let repetition = self.repetition.clone();
        let create = move |tx: &mut Transaction| {
            if let Some(created) = repetition.find(tx)? {
                return existing(tx, created);
            }
            farm::change_directory(tx)?;
            refuse_taken(tx, &name, id)?;
            group::insert(tx, id, &name, &description, now)?;
            principal::set_terms(tx, id, &text::terms(None, name.as_str()))?;
            repetition.store_result(tx, id)?;
            record(tx, actor, "group.create", id, name.as_str())?;
            Ok(created.clone())
        };
        self.repository.inner.configuration.write(create).await
    }

    /// Returns up to `limit` groups (at most 1,000) in order of name, after the name `after`. All signed-in users may
    /// see them.
    #[boxed]
    pub async fn groups(&self, after: &str, limit: usize) -> Result<Vec<Group>> {
        let after = fold(after);
        self.repository.inner.configuration.read(move |r| group::list(r, &after, limit.min(MAX_PAGE))).await
    }

    /// Returns a group. All signed-in users may see it.
    ///
    /// # Errors
    /// `NotFound`.
    #[boxed]
    pub async fn group(&self, id: Id) -> Result<Group> {
        self.repository.inner.configuration.read(move |r| existing(r, id)).await
    }

    /// Returns the group with this name, ignoring case.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` for text that cannot be a name.
    #[boxed]
    pub async fn group_by_name(&self, name: &str) -> Result<Group> {
        let name = Name::new(name)?;
        let none = Error::not_found(format!("there is no group \"{name}\""));
        self.repository.inner.configuration.read(move |r| group::find_by_name(r, &name)).await?.ok_or(none)
    }

    /// Changes name and description; `None` leaves a value unchanged.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators; `NotFound`; `Invalid` for a bad name and, with code
    /// `built_in`, for *Everyone*; `Conflict` with code `name_taken`.
    #[boxed]
    pub async fn update_group(&self, id: Id, name: Option<&str>, description: Option<&str>) -> Result<Group> {
        self.require_farm_administrator("change groups")?;
        let name = name.map(Name::new).transpose()?;
        let description = description.map(text::description).transpose()?;
        let actor = self.principal.id;
        let update = move |tx: &mut Transaction| {
            farm::change_directory(tx)?;
            let before = changeable(tx, id)?;
            let name = match &name {
                Some(name) => name.clone(),
                None => Name::new(before.name.as_str())?,
            };
            refuse_taken(tx, &name, id)?;
            let description = description.clone().unwrap_or_else(|| before.description.clone());
            group::update(tx, id, &name, &description)?;
            principal::set_terms(tx, id, &text::terms(None, name.as_str()))?;
            record(tx, actor, "group.change", id, &format!("{} becomes {name}", before.name))?;
            Ok(Group { name: name.as_str().to_owned(), description, ..before })
        };
        self.repository.inner.configuration.write(update).await
    }

    /// Deletes a group. From the next request on, its members no longer have the rights granted to it.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators; `NotFound`; `Invalid` with code `built_in` for
    /// *Everyone*.
    #[boxed]
    pub async fn delete_group(&self, id: Id) -> Result<()> {
        self.require_farm_administrator("delete groups")?;
        let actor = self.principal.id;
        let delete = move |tx: &mut Transaction| {
            farm::change_directory(tx)?;
            let group = changeable(tx, id)?;
            group::remove(tx, id)?;
            principal::set_terms(tx, id, &[])?;
            record(tx, actor, "group.delete", id, &group.name)
        };
        self.repository.inner.configuration.write_vital(delete).await
    }

    /// Adds an account to a group, effective from the next request on. Does nothing if it is a member already.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators, and with code `fresh_sign_in_needed`, even if the group
    /// has no role, because it may be given one afterwards; `NotFound`; `Invalid` with code `built_in` for *Everyone*.
    #[boxed]
    pub async fn add_member(&self, id: Id, member: Id) -> Result<()> {
        self.require_farm_administrator("change the members of groups")?;
        self.require_fresh("add members to a group")?;
        let actor = self.principal.id;
        let add = move |tx: &mut Transaction| {
            farm::change_directory(tx)?;
            let group = changeable(tx, id)?;
            let account = account::find(tx, member)?.filter(|a| !a.deleted).ok_or_else(|| no_account(member))?;
            if group::add_member(tx, id, member)? {
                record(tx, actor, "group.member-add", id, &format!("{} into {}", account.login, group.name))?;
            }
            Ok(())
        };
        self.repository.inner.configuration.write(add).await
    }

    /// Removes an account from a group, effective from the next request on. Does nothing if it is not a member.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators; `NotFound`; `Invalid` with code `built_in` for
    /// *Everyone*.
    #[boxed]
    pub async fn remove_member(&self, id: Id, member: Id) -> Result<()> {
        self.require_farm_administrator("change the members of groups")?;
        let actor = self.principal.id;
        let remove = move |tx: &mut Transaction| {
            farm::change_directory(tx)?;
            let group = changeable(tx, id)?;
            let account = account::find(tx, member)?.ok_or_else(|| no_account(member))?;
            if group::remove_member(tx, id, member)? {
                record(tx, actor, "group.member-remove", id, &format!("{} out of {}", account.login, group.name))?;
            }
            Ok(())
        };
        self.repository.inner.configuration.write_vital(remove).await
    }

    /// Returns up to `limit` members (at most 1,000) of a group in order of login, after the login `after`. For
    /// *Everyone*, returns the accounts that are not disabled.
    ///
    /// # Errors
    /// `Forbidden` for callers who are neither farm administrators nor members, and for *Everyone* for all callers who
    /// are not farm administrators; `NotFound`.
    #[boxed]
    pub async fn members(&self, id: Id, after: &str, limit: usize) -> Result<Vec<Member>> {
        if id == Principal::EVERYONE || !self.principal.groups.contains(&id) {
            self.require_farm_administrator("list the members of this group")?;
        }
        let (after, limit) = (after.to_owned(), limit.min(MAX_PAGE));
        let list = move |reader: &mut Reader| {
            existing(reader, id)?;
            match id {
                Principal::EVERYONE => group::list_everyone(reader, &after, limit),
                _ => group::list_members(reader, id, &after, limit),
            }
        };
        self.repository.inner.configuration.read(list).await
    }
}

fn existing(reader: &mut Reader, id: Id) -> Result<Group> {
    group::find(reader, id)?.ok_or_else(|| Error::not_found(format!("there is no group with the identifier {id}")))
}

fn changeable(tx: &mut Transaction, id: Id) -> Result<Group> {
    let group = existing(tx, id)?;
    if id == Principal::EVERYONE {
        return Err(Error::invalid(format!(
            "the group {} came with the farm and holds all accounts; it cannot be changed",
            group.name
        ))
        .with_code(Code::BuiltIn));
    }
    Ok(group)
}

fn refuse_taken(tx: &mut Transaction, name: &Name, id: Id) -> Result<()> {
    match group::find_by_name(tx, name)?.filter(|other| other.id != id) {
        Some(other) => {
            Err(Error::conflict(format!("there is already a group \"{}\"", other.name)).with_code(Code::NameTaken))
        }
        None => Ok(()),
    }
}

fn record(tx: &mut Transaction, actor: Id, action: &str, group: Id, detail: &str) -> Result<()> {
    event::record(tx, Timestamp::now(), actor, action, &format!("group {group}"), detail)
}

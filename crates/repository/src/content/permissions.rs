//! Permissions: grants on scopes, breaking and restoring inheritance, and explaining a user's rights.

use std::collections::{BTreeMap, HashMap};

use async_recursion::async_recursion as boxed;
use database::content::scope::{self, GrantRow};
use database::content::{collection, measurement, node, tree};
use database::{Reader, Transaction};
use model::{Code, Error, Id, LocalTime, Principal, Result, Right, Rights, Role, Timestamp, Zone};

use crate::content::event_detail::Detail;
use crate::farm::registry::Registry;
use crate::session::guard::{Checked, Guard};
use crate::session::locate::Located;
use crate::{Session, Target};

/// A role that a user or group is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoleGrant {
    /// The user or group.
    pub principal: Id,
    /// The role.
    pub role: Id,
    /// End of the grant; `None` for one without end.
    pub until: Option<Timestamp>,
}

impl From<GrantRow> for RoleGrant {
    fn from(row: GrantRow) -> Self {
        Self { principal: row.principal_id, role: row.role_id, until: row.expires_at }
    }
}

/// Returns the later of two ends; `None` is no end.
pub(crate) fn later_end(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.zip(other).map(|(one, other)| one.max(other))
}

impl RoleGrant {
    /// Returns the row for a grant by `granted_by` at the time `granted_at`.
    pub(crate) fn row(self, granted_by: Id, granted_at: Timestamp) -> GrantRow {
        let Self { principal, role, until } = self;
        GrantRow { principal_id: principal, role_id: role, granted_at, granted_by, expires_at: until }
    }
}

/// A role granted to a user or group.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The user or group.
    pub principal: Id,
    /// The role.
    pub role: Id,
    /// The role's name.
    pub role_name: String,
    /// Start time.
    pub granted_at: Timestamp,
    /// User who granted it.
    pub granted_by: Id,
    /// End of the grant; `None` for one without end.
    pub until: Option<Timestamp>,
}

/// The permissions of an item.
#[derive(Clone, Debug)]
pub struct PermissionTable {
    /// Set when the item has its own permissions instead of inheriting them.
    pub own: bool,
    /// The item whose permissions apply: the item itself, or the ancestor that it inherits from.
    pub from: Id,
    /// Path of that item.
    pub from_path: String,
    /// The grants.
    pub grants: Vec<Grant>,
}

/// Explanation of a user's rights on an item: one line for each grant that counts, such as "Read, through group Sales".
#[derive(Clone, Debug)]
pub struct Explanation {
    /// All rights that the user has on the item.
    pub rights: Rights,
    /// Set when the user has all rights as a farm administrator.
    pub farm_administrator: bool,
    /// The grants that give these rights, to the user or to one of their groups.
    pub grants: Vec<Grant>,
    /// Path of the item that has these grants.
    pub from_path: String,
}

impl Session {
    /// Returns the permissions of an item; needs the right to manage them.
    #[boxed]
    pub async fn permissions(&self, target: &Target) -> Result<PermissionTable> {
        let (_, table) =
            self.view_to(Right::ManagePermissions, target, |reader, located| table(reader, located)).await?;
        Ok(table)
    }

    /// Gives an item its own permissions. With `copy` these are a copy of the inherited ones; otherwise only the caller
    /// keeps the roles that they have.
    #[boxed]
    pub async fn break_inheritance(&self, target: &Target, copy: bool) -> Result<()> {
        let principal = self.principal.clone();
        self.change_permissions(target, move |transaction, guard, located| {
            if scope::of_node(transaction, located.node().id)?.is_some() {
                return Err(Error::conflict("the item already has its own permissions").with_code(Code::OwnPermissions));
            }
            let keeper = if copy { None } else { Some(&*principal) };
            give_own_permissions(transaction, guard, located, keeper).map(drop)
        })
        .await
    }

    /// Removes an item's own permissions, so that it inherits again.
    #[boxed]
    pub async fn restore_inheritance(&self, target: &Target) -> Result<()> {
        self.change_permissions(target, |transaction, guard, located| {
            let id = located.node().id;
            let row = node::lock(transaction, id)?.ok_or_else(crate::session::errors::no_item)?;
            if row.parent_id.is_none() {
                return Err(Error::conflict("the root site has nothing to inherit from").with_code(Code::WrongKind));
            }
            let parent = node::find(transaction, row.parent_id)?.ok_or_else(crate::session::errors::no_item)?;
            let own = scope::of_node(transaction, id)?.ok_or_else(inherits)?;
            tree::set_scope(transaction, id, own, parent.scope_id)?;
            hide_measured(transaction, located, parent.scope_id)?;
            scope::delete(transaction, own)?;
            guard.record(transaction, id, "permissions.inherit", located.path())
        })
        .await
    }

    /// Grants a role to a user or group, without end, on an item that has its own permissions.
    ///
    /// # Errors
    /// Those of [`Session::grant_until`].
    #[boxed]
    pub async fn grant(&self, target: &Target, principal: Id, role: Id) -> Result<()> {
        self.grant_until(target, RoleGrant { principal, role, until: None }).await
    }

    /// Grants a role to a user or group. An item that inherits gets its own permissions first, a copy of those that it
    /// inherits.
    ///
    /// # Errors
    /// Those of [`Session::grant_until`] apart from its first.
    #[boxed]
    pub async fn share_with(&self, target: &Target, given: RoleGrant) -> Result<()> {
        self.give_role(target, given, true).await
    }

    /// Grants a role to a user or group on an item that has its own permissions. Who has the role already keeps it
    /// until the new end.
    ///
    /// # Errors
    /// `Conflict` with code `inherits` when the item inherits. `Invalid` with code `grant_end_passed`. `Forbidden` when
    /// the role allows more than the caller may do. `Forbidden` with code `fresh_sign_in_needed` for a role that lets
    /// its holder manage permissions or the site and, when the caller is a farm administrator, for any role on a root
    /// site.
    #[boxed]
    pub async fn grant_until(&self, target: &Target, given: RoleGrant) -> Result<()> {
        self.give_role(target, given, false).await
    }

    async fn give_role(&self, target: &Target, given: RoleGrant, gives_own: bool) -> Result<()> {
        let (wanted, name) = self.role_and_name(given.role, given.principal).await?;
        let asking = self.clone();
        self.change_permissions(target, move |transaction, guard, located| {
            asking.require_may_give(located, &wanted)?;
            let now = Timestamp::now();
            if given.until.is_some_and(|until| until <= now) {
                let text = "the grant would have ended already: give it an end that is yet to come";
                return Err(Error::invalid(text).with_code(Code::GrantEndPassed));
            }
            let own = match scope::of_node(transaction, located.node().id)? {
                Some(own) => own,
                None if gives_own => give_own_permissions(transaction, guard, located, None)?,
                None => return Err(inherits()),
            };
            scope::grant(transaction, own, &given.row(guard.caller(), now))?;
            let detail = Detail::from(located.path()).grant(given_words(&wanted, &name, given.until));
            guard.record(transaction, located.node().id, "permissions.grant", detail)
        })
        .await
    }

    /// Replaces a role of a user or group by another one with the same end, in one step. If they have the other role as
    /// well, the later end counts.
    ///
    /// # Errors
    /// Those of [`Session::grant`]; `NotFound` when the user or group does not have the role.
    #[boxed]
    pub async fn change_role(&self, target: &Target, principal: Id, from: Id, to: Id) -> Result<()> {
        let (wanted, name) = self.role_and_name(to, principal).await?;
        let lost = self.grant_words(from, principal).await?;
        let asking = self.clone();
        self.change_permissions(target, move |transaction, guard, located| {
            asking.require_may_give(located, &wanted)?;
            let (own, now) = (own_scope(transaction, located)?, Timestamp::now());
            let grants = scope::grants(transaction, own, now)?;
            let of = |role| grants.iter().find(|row| (row.principal_id, row.role_id) == (principal, role));
            let until = of(from).ok_or_else(no_grant)?.expires_at;
            // Whoever has the other role already keeps it at least as long.
            let until = of(to).map_or(until, |had| later_end(had.expires_at, until));
            scope::revoke(transaction, own, principal, from)?;
            scope::grant(transaction, own, &RoleGrant { principal, role: to, until }.row(guard.caller(), now))?;
            let of = |words: String| Detail::from(located.path()).grant(words);
            guard.record(transaction, located.node().id, "permissions.revoke", of(lost.clone()))?;
            let given = given_words(&wanted, &name, until);
            guard.record(transaction, located.node().id, "permissions.grant", of(given))
        })
        .await
    }

    /// Returns a role, and the name of a user or group.
    async fn role_and_name(&self, role: Id, principal: Id) -> Result<(Role, String)> {
        let registry = self.registry().await?;
        let role = registry.roles.get(&role).ok_or_else(|| Error::not_found("there is no such role"))?.clone();
        let name = self.name_of(principal).await?;
        Ok((role, name.ok_or_else(|| Error::not_found("there is no such user or group"))?))
    }

    /// Returns a grant in words for the audit log, even if its role, user or group has been deleted.
    async fn grant_words(&self, role: Id, principal: Id) -> Result<String> {
        let registry = self.registry().await?;
        let role = registry.roles.get(&role).map_or_else(|| format!("role {role}"), |role| role.name.clone());
        let name = self.name_of(principal).await?;
        Ok(format!("{role} from {}", name.unwrap_or_else(|| principal.to_string())))
    }

    /// Refuses to give a role that allows more than the caller may do, and one by which the holder of a stolen session
    /// could make access permanent.
    fn require_may_give(&self, located: &Located, wanted: &Role) -> Result<()> {
        if !located.rights().contains(wanted.rights) {
            return Err(role_exceeds_rights(&wanted.name));
        }
        // The holder of such a role can make their access permanent and admit others.
        if wanted.rights.has(Right::ManagePermissions) || wanted.rights.has(Right::ManageSite) {
            self.require_fresh("give a role that manages permissions or the site")?;
        }
        // An administrator has all rights everywhere. A hijacked session of an administrator must not be able to hand
        // them out permanently.
        if self.principal().everywhere && located.node().id == located.collection.id {
            self.require_fresh("give a role on a whole site collection")?;
        }
        Ok(())
    }

    /// Revokes a role from a user or group.
    #[boxed]
    pub async fn revoke(&self, target: &Target, principal: Id, role: Id) -> Result<()> {
        let lost = self.grant_words(role, principal).await?;
        self.change_permissions(target, move |transaction, guard, located| {
            let own = own_scope(transaction, located)?;
            if scope::revoke(transaction, own, principal, role)? == 0 {
                return Err(no_grant());
            }
            let detail = Detail::from(located.path()).grant(lost.clone());
            guard.record(transaction, located.node().id, "permissions.revoke", detail)
        })
        .await
    }

    /// Explains the rights of a user on an item. Users may query their own rights; querying those of others needs the
    /// right to manage permissions.
    #[boxed]
    pub async fn explain(&self, target: &Target, person: Id) -> Result<Explanation> {
        let principal = self.repository.principal(person).await?;
        let own = person == self.principal.id;
        let (_, explanation) = self
            .view_to(if own { Right::View } else { Right::ManagePermissions }, target, move |reader, located| {
                explain(reader, located, &principal)
            })
            .await?;
        Ok(explanation)
    }

    /// All roles of the farm.
    #[boxed]
    pub async fn role_list(&self) -> Result<Vec<Role>> {
        let mut roles: Vec<Role> = self.registry().await?.roles.values().cloned().collect();
        roles.sort_by_key(|role| role.id);
        Ok(roles)
    }

    async fn change_permissions(
        &self,
        target: &Target,
        mut change: impl FnMut(&mut Transaction<'_>, &Guard, &Located) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let found = self.locate(target).await?.to(Right::ManagePermissions)?;
        let guard = self.guard([&found])?;
        let id = found.node().id;
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            // The grant is compared with the caller's current rights at the item's current location.
            let located = guard.find(transaction, id)?;
            located.require(Right::ManagePermissions)?;
            change(transaction, guard, &located)?;
            collection::change_tree(transaction, located.collection.id)
        };
        guard.exclusive().allow_reserved_space().write(write).await
    }
}

/// Gives an item that inherits a scope of its own, and returns it. It has the inherited grants or, for a `keeper`, only
/// the roles that this caller keeps.
fn give_own_permissions(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    located: &Located,
    keeper: Option<&Principal>,
) -> Result<Id> {
    let (id, own, now) = (located.node().id, guard.next_id(), Timestamp::now());
    let current = node::lock(transaction, id)?.ok_or_else(crate::session::errors::no_item)?.scope_id;
    scope::insert(transaction, own, located.collection.id, id)?;
    match keeper {
        None => scope::copy(transaction, current, own, guard.caller(), now)?,
        Some(keeper) => {
            for kept in roles_of(transaction, keeper, current, now)? {
                scope::grant(transaction, own, &kept.row(guard.caller(), now))?;
            }
        }
    }
    tree::set_scope(transaction, id, current, own)?;
    hide_measured(transaction, located, current)?;
    guard.record(transaction, id, "permissions.break", located.path())?;
    Ok(own)
}

/// Returns the scope that an item owns.
fn own_scope(reader: &mut Reader<'_>, located: &Located) -> Result<Id> {
    scope::of_node(reader, located.node().id)?.ok_or_else(inherits)
}

/// Describes a grant for the audit log.
fn given_words(role: &Role, to: &str, until: Option<Timestamp>) -> String {
    let end = until.and_then(|until| Zone::UTC.local(until));
    let end = end.map(|at| {
        let LocalTime { year, month, day, hour, minute, .. } = at;
        format!(" until {year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
    });
    format!("{} to {to}{}", role.name, end.unwrap_or_default())
}

/// Returns grants to the caller of the roles that the caller has from the grants of a scope, each until the latest of
/// their ends; full control for a farm administrator.
pub(crate) fn roles_of(
    reader: &mut Reader<'_>,
    principal: &Principal,
    scope: Id,
    now: Timestamp,
) -> Result<Vec<RoleGrant>> {
    let own = |role, until| RoleGrant { principal: principal.id, role, until };
    if principal.farm_administrator {
        return Ok(vec![own(Role::FULL_CONTROL, None)]);
    }
    let mut roles: BTreeMap<Id, Option<Timestamp>> = BTreeMap::new();
    for grant in scope::grants(reader, scope, now)? {
        if principal.ids().any(|id| id == grant.principal_id) {
            let until = roles.entry(grant.role_id).or_insert(grant.expires_at);
            // Without end is latest.
            *until = until.zip(grant.expires_at).map(|(one, other)| one.max(other));
        }
    }
    Ok(roles.into_iter().map(|(role, until)| own(role, until)).collect())
}

/// Hides how much the containers above an item hold under a scope, which the item has just left or joined, until they
/// are measured again. What it holds could be computed from the difference to what is visible.
fn hide_measured(transaction: &mut Transaction<'_>, located: &Located, scope: Id) -> Result<()> {
    let containers: Vec<Id> = located.chain.iter().map(|node| node.id).collect();
    measurement::scope_changed(transaction, located.collection.id, &containers, scope)
}

fn no_grant() -> Error {
    Error::not_found("there is no such grant on this item: look at the present ones")
}

fn inherits() -> Error {
    Error::conflict("the item inherits its permissions: give it its own permissions first").with_code(Code::Inherits)
}

fn table(reader: &mut Reader<'_>, located: &Located) -> Result<PermissionTable> {
    let node = located.node();
    let from = scope::owner(reader, node.scope_id)?.ok_or_else(crate::session::errors::no_item)?;
    Ok(PermissionTable {
        own: from == node.id,
        from,
        from_path: path_of(located, from),
        grants: named(scope::grants(reader, node.scope_id, Timestamp::now())?, &located.registry.roles),
    })
}

fn explain(reader: &mut Reader<'_>, located: &Located, person: &Principal) -> Result<Explanation> {
    let table = table(reader, located)?;
    let mut rights = if person.farm_administrator { Rights::ALL } else { Rights::NONE };
    let mut grants = table.grants;
    grants.retain(|grant| person.ids().any(|id| id == grant.principal));
    for grant in &grants {
        rights = rights.union(Registry::rights(&located.registry.roles, grant.role));
    }
    Ok(Explanation { rights, farm_administrator: person.farm_administrator, grants, from_path: table.from_path })
}

/// Returns the path of an item of the chain. The owner of a scope is always in the chain.
fn path_of(located: &Located, id: Id) -> String {
    let mut above = located.clone();
    while above.node().id != id && above.chain.len() > 1 {
        above.chain.pop();
    }
    above.path()
}

fn named(rows: Vec<GrantRow>, roles: &HashMap<Id, Role>) -> Vec<Grant> {
    let named = |row: GrantRow| Grant {
        principal: row.principal_id,
        role: row.role_id,
        role_name: roles.get(&row.role_id).map_or_else(String::new, |role| role.name.clone()),
        granted_at: row.granted_at,
        granted_by: row.granted_by,
        until: row.expires_at,
    };
    rows.into_iter().map(named).collect()
}

/// The error for a grant that allows more than the grantor may do.
pub(crate) fn role_exceeds_rights(role: &str) -> Error {
    Error::forbidden(format!("the role \"{role}\" allows more than you may do here")).with_code(Code::RoleTooGreat)
}

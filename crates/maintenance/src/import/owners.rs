//! Conversion of operating-system owners and permissions into those of the farm: a mapping with all names resolved.

use std::collections::{BTreeSet, HashMap};

use model::{Error, Id, Result, Role};
use repository::{RoleGrant, Session, Target};

use super::mapping::{Mapping, parse_bits};
use crate::posix::{Accounts, Class, Entry};

/// A mapping with names resolved to identifiers.
pub(super) struct Owners {
    default_owner: Id,
    users: HashMap<u32, Id>,
    groups: HashMap<u32, Id>,
    mapped: bool,
    permissions: Option<Rules>,
}

/// Rules that convert permissions of directories into grants.
struct Rules {
    others: Option<Id>,
    /// Role for each combination of bits.
    roles: [Option<Id>; 8],
    /// Grants that every folder with permissions of its own retains: full control for the principals that have it on
    /// the target.
    kept: Grants,
    /// Grants on the target.
    target: Grants,
}

/// Grants in ascending order.
pub(super) type Grants = BTreeSet<RoleGrant>;

/// Resolves every name of a mapping.
///
/// # Errors
/// `Invalid`, naming the entry whose user, group or role is unknown.
pub(super) async fn resolve(session: &Session, mapping: Option<&Mapping>, target: &Target) -> Result<Owners> {
    let caller = session.principal().id;
    let Some(mapping) = mapping else {
        return Ok(Owners {
            default_owner: caller,
            users: HashMap::new(),
            groups: HashMap::new(),
            mapped: false,
            permissions: None,
        });
    };
    let accounts = Accounts::of_this_machine();
    let mut users = HashMap::new();
    for (name, login) in &mapping.users {
        users.insert(accounts.user(name)?, user(session, login).await?);
    }
    let mut groups = HashMap::new();
    for (name, group) in &mapping.groups {
        groups.insert(accounts.group(name)?, self::group(session, group).await?);
    }
    let default_owner = match &mapping.default_owner {
        Some(login) => user(session, login).await?,
        None => caller,
    };
    let permissions = match &mapping.permissions {
        None => None,
        Some(permissions) => {
            let mut roles = [None; 8];
            for (bits, role) in &permissions.roles {
                let found = session.role_by_name(role).await.map_err(|error| unknown("role", role, error))?;
                roles[usize::from(parse_bits(bits)?)] = Some(found.id);
            }
            let others = match &permissions.others {
                Some(name) => Some(self::group(session, name).await?),
                None => None,
            };
            let target: Grants = session.granted(target).await?.into_iter().collect();
            let kept = target.iter().filter(|grant| grant.role == Role::FULL_CONTROL).copied().collect();
            Some(Rules { others, roles, kept, target })
        }
    };
    Ok(Owners { default_owner, users, groups, mapped: true, permissions })
}

async fn user(session: &Session, login: &str) -> Result<Id> {
    Ok(session.account_by_login(login).await.map_err(|error| unknown("user", login, error))?.id)
}

async fn group(session: &Session, name: &str) -> Result<Id> {
    Ok(session.group_by_name(name).await.map_err(|error| unknown("group", name, error))?.id)
}

fn unknown(what: &str, name: &str, error: Error) -> Error {
    if error.kind() != model::ErrorKind::NotFound {
        return error;
    }
    Error::invalid(format!("the mapping names the {what} \"{name}\", which is not in the farm: create it first"))
}

impl Owners {
    pub(super) fn user(&self, number: u32) -> Option<Id> {
        self.users.get(&number).copied()
    }

    pub(super) fn default_owner(&self) -> Id {
        self.default_owner
    }

    /// Returns whether the import has a mapping.
    pub(super) fn is_mapped(&self) -> bool {
        self.mapped
    }

    /// Returns whether permissions of directories are mapped.
    pub(super) fn maps_permissions(&self) -> bool {
        self.permissions.is_some()
    }

    /// Returns the grants on the target of the import, or none when permissions are not mapped.
    pub(super) fn of_target(&self) -> Grants {
        self.permissions.as_ref().map(|rules| rules.target.clone()).unwrap_or_default()
    }

    /// Returns the grants of a directory owned by `user` and `group`. Calls `unmapped` for each group without a
    /// counterpart in the farm.
    pub(super) fn grants(&self, user: u32, group: u32, entries: &[Entry], mut unmapped: impl FnMut(u32)) -> Grants {
        let Some(rules) = &self.permissions else { return Grants::new() };
        let mut grants = rules.kept.clone();
        for entry in entries {
            let Some(role) = rules.roles[usize::from(entry.bits & 7)] else { continue };
            let principal = match entry.class {
                Class::Owner => Some(self.user(user).unwrap_or(self.default_owner)),
                Class::User(number) => self.user(number),
                Class::OwningGroup | Class::Group(_) => {
                    let number = if let Class::Group(number) = entry.class { number } else { group };
                    let found = self.groups.get(&number).copied();
                    if found.is_none() {
                        unmapped(number);
                    }
                    found
                }
                Class::Others => rules.others,
            };
            if let Some(principal) = principal {
                // A grant without end takes the place of one that ends.
                grants.retain(|grant| (grant.principal, grant.role) != (principal, role));
                grants.insert(RoleGrant { principal, role, until: None });
            }
        }
        grants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_become_roles_of_those_who_are_mapped() {
        let mut roles = [None; 8];
        roles[7] = Some(Role::CONTRIBUTE);
        roles[5] = Some(Role::READ);
        let grant = |id, role| RoleGrant { principal: Id::new(id), role, until: None };
        let kept: Grants = [grant(900, Role::FULL_CONTROL)].into();
        let rules = Rules { others: None, roles, kept: kept.clone(), target: kept };
        let owners = Owners {
            default_owner: Id::new(100),
            users: [(1, Id::new(101)), (2, Id::new(102))].into(),
            groups: [(7, Id::new(107))].into(),
            mapped: true,
            permissions: Some(rules),
        };
        let entry = |class, bits| Entry { class, bits };
        let entries = [
            entry(Class::Owner, 7),
            entry(Class::User(2), 5),
            entry(Class::User(3), 7),
            entry(Class::OwningGroup, 5),
            entry(Class::Group(8), 7),
            entry(Class::Others, 5),
        ];
        let mut unknown = Vec::new();
        let grants = owners.grants(1, 7, &entries, |group| unknown.push(group));
        let expected: Grants = [
            grant(101, Role::CONTRIBUTE),
            grant(102, Role::READ),
            grant(107, Role::READ),
            grant(900, Role::FULL_CONTROL),
        ]
        .into();
        assert_eq!((grants, unknown), (expected, vec![8]));
        let nobody = owners.grants(9, 9, &[entry(Class::Owner, 7), entry(Class::OwningGroup, 0)], |_| {});
        assert!(nobody.contains(&grant(100, Role::CONTRIBUTE)), "an unknown owner's bits go to the default owner");
    }
}

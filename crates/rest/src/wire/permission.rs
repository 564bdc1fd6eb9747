//! Permissions.

use repository::{Explanation, Grant, PermissionTable};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::IdText;
use super::item::{Names, PersonJson, rights};
use http_core::protocol::time;

/// One role granted to a user or group.
#[derive(Serialize, ToSchema)]
pub struct GrantJson {
    /// The user or group.
    pub principal: PersonJson,
    /// The role.
    pub role: String,
    /// The role's name.
    pub role_name: String,
    /// Since when.
    pub granted_at: String,
    /// By whom.
    pub granted_by: PersonJson,
}

impl GrantJson {
    fn new(grant: Grant, names: &Names) -> Self {
        Self {
            principal: names.person(grant.principal),
            role: grant.role.to_string(),
            role_name: grant.role_name,
            granted_at: time::format(grant.granted_at),
            granted_by: names.person(grant.granted_by),
        }
    }
}

/// The permissions of an item.
#[derive(Serialize, ToSchema)]
pub struct PermissionsJson {
    /// Whether the item has its own, instead of those of something above it.
    pub own: bool,
    /// The item whose permissions apply.
    pub from: String,
    /// Path of that item.
    pub from_path: String,
    /// The grants.
    pub grants: Vec<GrantJson>,
}

impl PermissionsJson {
    /// A table with the names of those who are in it.
    pub fn new(table: PermissionTable, names: &Names) -> Self {
        Self {
            own: table.own,
            from: table.from.to_string(),
            from_path: table.from_path,
            grants: table.grants.into_iter().map(|grant| GrantJson::new(grant, names)).collect(),
        }
    }
}

/// Why somebody may do what they may.
#[derive(Serialize, ToSchema)]
pub struct ExplanationJson {
    /// Everything that the person may do with the item.
    pub rights: Vec<&'static str>,
    /// Whether the person may do everything as an administrator of the farm.
    pub farm_administrator: bool,
    /// The grants that give these rights, to the person or to a group that the person is in.
    pub grants: Vec<GrantJson>,
    /// Path of the item on which they are granted.
    pub from_path: String,
}

impl ExplanationJson {
    /// An explanation with the names of those who are in it.
    pub fn new(explanation: Explanation, names: &Names) -> Self {
        Self {
            rights: rights(explanation.rights),
            farm_administrator: explanation.farm_administrator,
            grants: explanation.grants.into_iter().map(|grant| GrantJson::new(grant, names)).collect(),
            from_path: explanation.from_path,
        }
    }
}

/// A role for a user or group.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantForm {
    /// The user or group.
    pub principal: IdText,
    /// The role.
    pub role: IdText,
}

/// How to begin with own permissions.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BreakForm {
    /// Begin with a copy of what was inherited; otherwise with full control for the caller alone.
    pub copy: bool,
}

/// About whom.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExplainQuery {
    /// The user; the caller when absent.
    #[serde(default)]
    #[param(value_type = Option<super::rules::Identifier>)]
    pub user: Option<IdText>,
}

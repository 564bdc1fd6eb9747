//! Permissions.

use model::Result;
use repository::{Explanation, Grant, PermissionTable, RoleGrant};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::IdText;
use super::item::{Names, PersonJson, rights};
use http_core::protocol::time;

/// A role granted to a user or group.
#[derive(Serialize, ToSchema)]
pub struct GrantJson {
    /// The user or group.
    pub principal: PersonJson,
    /// The role.
    pub role: String,
    /// The role's name.
    pub role_name: String,
    /// Start time.
    pub granted_at: String,
    /// User who granted it.
    pub granted_by: PersonJson,
    /// End of the grant; null for one without end.
    pub expires_at: Option<String>,
}

impl GrantJson {
    fn new(grant: Grant, names: &Names) -> Self {
        Self {
            principal: names.person(grant.principal),
            role: grant.role.to_string(),
            role_name: grant.role_name,
            granted_at: time::format(grant.granted_at),
            granted_by: names.person(grant.granted_by),
            expires_at: grant.until.map(time::format),
        }
    }
}

/// The permissions of an item.
#[derive(Serialize, ToSchema)]
pub struct PermissionsJson {
    /// Set when the item has its own permissions instead of inheriting them.
    pub own: bool,
    /// The item whose permissions apply.
    pub from: String,
    /// Path of that item.
    pub from_path: String,
    /// The grants.
    pub grants: Vec<GrantJson>,
}

impl PermissionsJson {
    /// Creates the JSON form of a permission table, with the names of the users and groups in it.
    pub fn new(table: PermissionTable, names: &Names) -> Self {
        Self {
            own: table.own,
            from: table.from.to_string(),
            from_path: table.from_path,
            grants: table.grants.into_iter().map(|grant| GrantJson::new(grant, names)).collect(),
        }
    }
}

/// Explanation of a user's rights.
#[derive(Serialize, ToSchema)]
pub struct ExplanationJson {
    /// All rights that the user has on the item.
    pub rights: Vec<&'static str>,
    /// Set when the user has all rights as a farm administrator.
    pub farm_administrator: bool,
    /// The grants of these rights, to the user or to a group of the user.
    pub grants: Vec<GrantJson>,
    /// Path of the item that has these grants.
    pub from_path: String,
}

impl ExplanationJson {
    /// Creates the JSON form of an explanation, with the names of the users and groups in it.
    pub fn new(explanation: Explanation, names: &Names) -> Self {
        Self {
            rights: rights(explanation.rights),
            farm_administrator: explanation.farm_administrator,
            grants: explanation.grants.into_iter().map(|grant| GrantJson::new(grant, names)).collect(),
            from_path: explanation.from_path,
        }
    }
}

/// A role to grant to a user or group.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantForm {
    /// The user or group.
    pub principal: IdText,
    /// The role.
    pub role: IdText,
    /// End of the grant; none when absent.
    #[serde(default)]
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

impl GrantForm {
    /// Reads the grant.
    pub fn read(self) -> Result<RoleGrant> {
        let until = self.expires_at.as_deref().map(time::parse).transpose()?;
        Ok(RoleGrant { principal: self.principal.0, role: self.role.0, until })
    }
}

/// Initial content of an item's own permissions.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BreakForm {
    /// Start with a copy of the inherited permissions; otherwise with full control for the caller alone.
    pub copy: bool,
}

/// Selects a user.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExplainQuery {
    /// The user; the caller when absent.
    #[serde(default)]
    #[param(value_type = Option<super::rules::Identifier>)]
    pub user: Option<IdText>,
}

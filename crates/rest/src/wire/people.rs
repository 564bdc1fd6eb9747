//! Users, groups, roles, tokens and sessions.

use model::{Result, Right, Role, TokenScope, TokenScopes};
use repository::{
    Account, AccountChange, Group, Member, NewAccount, NewTokenRequest, PrincipalName, Token, WebSession,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::item::rights;
use http_core::protocol::time;

/// A user's account.
#[derive(Serialize, ToSchema)]
pub struct UserJson {
    /// Identifier.
    pub id: String,
    /// The user's login name.
    pub login: String,
    /// The display name.
    pub display_name: String,
    /// E-mail address, or empty.
    pub email: String,
    /// True if the user administers the farm.
    pub farm_administrator: bool,
    /// True if all credentials of the user are refused.
    pub disabled: bool,
    /// Time at which the account was created.
    pub created_at: String,
    /// Time of the user's last sign-in.
    pub signed_in_at: Option<String>,
}

impl From<Account> for UserJson {
    fn from(account: Account) -> Self {
        Self {
            id: account.id.to_string(),
            login: account.login,
            display_name: account.display_name,
            email: account.email,
            farm_administrator: account.farm_administrator,
            disabled: account.disabled,
            created_at: time::format(account.created_at),
            signed_in_at: account.signed_in_at.map(time::format),
        }
    }
}

/// Data of a new user.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// The user's login name.
    #[schema(value_type = super::rules::Login)]
    pub login: String,
    /// Display name; the login when absent.
    #[serde(default)]
    #[schema(value_type = super::rules::OptionalDisplayName)]
    pub display_name: String,
    /// E-mail address.
    #[serde(default)]
    #[schema(value_type = super::rules::EmailAddress)]
    pub email: String,
    /// The password. Without one, only tokens work.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::Password>)]
    pub password: Option<String>,
    /// True if the user administers the farm.
    #[serde(default)]
    pub farm_administrator: bool,
}

impl From<NewUser> for NewAccount {
    fn from(new: NewUser) -> Self {
        Self {
            login: new.login,
            display_name: new.display_name,
            email: new.email,
            password: new.password,
            farm_administrator: new.farm_administrator,
        }
    }
}

/// Changes to an account. Absent fields stay as they are.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UserChange {
    /// The user's login name.
    #[schema(value_type = Option<super::rules::Login>)]
    pub login: Option<String>,
    /// The display name.
    #[schema(value_type = Option<super::rules::DisplayName>)]
    pub display_name: Option<String>,
    /// E-mail address, or empty.
    #[schema(value_type = Option<super::rules::EmailAddress>)]
    pub email: Option<String>,
    /// True if the user administers the farm.
    pub farm_administrator: Option<bool>,
    /// True if all credentials of the user are refused.
    pub disabled: Option<bool>,
}

impl From<UserChange> for AccountChange {
    fn from(change: UserChange) -> Self {
        Self {
            login: change.login,
            display_name: change.display_name,
            email: change.email,
            farm_administrator: change.farm_administrator,
            disabled: change.disabled,
        }
    }
}

/// A password set by an administrator.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordForm {
    /// The new password.
    #[schema(value_type = super::rules::Password)]
    pub password: String,
}

/// A password changed by its owner.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnPasswordForm {
    /// The current password.
    pub old: String,
    /// The new password.
    #[schema(value_type = super::rules::Password)]
    pub new: String,
}

/// A personal access token, without its secret.
#[derive(Serialize, ToSchema)]
pub struct TokenJson {
    /// Identifier.
    pub id: String,
    /// Name given by its owner.
    pub name: String,
    /// Time of creation.
    pub created_at: String,
    /// Expiry time.
    pub expires_at: Option<String>,
    /// Time of the last use, accurate to about a minute.
    pub used_at: Option<String>,
    /// Permitted uses: `read`, `write`, `manage`, `farm`.
    pub scopes: Vec<&'static str>,
    /// True if it was made before scopes existed and therefore has all of them.
    pub made_before_scopes: bool,
    /// Identifiers of the sites, libraries and folders that the token can reach; empty for all.
    pub places: Vec<String>,
    /// The only networks from which it is valid; empty for all.
    pub networks: Vec<String>,
}

impl From<Token> for TokenJson {
    fn from(token: Token) -> Self {
        Self {
            id: token.id.to_string(),
            name: token.name,
            created_at: time::format(token.created_at),
            expires_at: token.expires_at.map(time::format),
            used_at: token.used_at.map(time::format),
            scopes: token.scopes.unwrap_or(TokenScopes::ALL).iter().map(TokenScope::as_str).collect(),
            made_before_scopes: token.scopes.is_none(),
            places: token.places.iter().map(ToString::to_string).collect(),
            networks: token.networks.iter().map(ToString::to_string).collect(),
        }
    }
}

/// A newly created token.
#[derive(Serialize, ToSchema)]
pub struct NewTokenJson {
    /// The token.
    pub token: TokenJson,
    /// The secret that a client sends after `Bearer`. It cannot be shown again.
    pub secret: String,
}

/// Data of a new token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenForm {
    /// Name given by its owner.
    #[schema(value_type = super::rules::DisplayName)]
    pub name: String,
    /// Expiry time (RFC 3339): within 365 days, or fewer if the farm limits it further. The latest possible time when
    /// absent.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::Time>)]
    pub expires_at: Option<String>,
    /// Permitted uses: `read`, `write`, `manage`, `farm`. `write` and `manage` include `read`. When absent, all uses;
    /// all except `farm` if `places` is not empty.
    #[serde(default)]
    #[schema(value_type = Option<Vec<super::rules::ScopeWord>>, min_items = 1)]
    pub scopes: Option<Vec<String>>,
    /// Identifiers of up to 20 sites, libraries and folders. Nothing outside them exists for the token. Everywhere when
    /// empty.
    #[serde(default)]
    #[schema(value_type = Vec<super::rules::Identifier>, max_items = 20)]
    pub places: Vec<String>,
    /// Up to 20 networks, each an address or `ADDRESS/BITS`. The token works only from these; from everywhere when
    /// empty.
    #[serde(default)]
    #[schema(value_type = Vec<super::rules::NetworkText>, max_items = 20)]
    pub networks: Vec<String>,
}

impl TokenForm {
    /// Converts the form to the repository's type.
    pub fn wish(self) -> Result<NewTokenRequest> {
        let scopes = match &self.scopes {
            Some(words) => words.iter().map(|word| TokenScope::parse(word)).collect::<Result<_>>()?,
            None if self.places.is_empty() => TokenScopes::ALL,
            // The `farm` scope applies to the whole farm and cannot be limited to a path.
            None => TokenScope::ALL.into_iter().filter(|scope| *scope != TokenScope::Farm).collect(),
        };
        let places = self.places.iter().map(|id| id.parse()).collect::<Result<_>>()?;
        let expires_at = self.expires_at.as_deref().map(time::parse).transpose()?;
        let networks = self.networks.iter().map(|text| text.parse()).collect::<Result<_>>()?;
        Ok(NewTokenRequest { name: self.name, expires_at, scopes, places, networks })
    }
}

/// An active sign-in.
#[derive(Serialize, ToSchema)]
pub struct SessionJson {
    /// Identifier.
    pub id: String,
    /// Time of the sign-in.
    pub created_at: String,
    /// Expiry time, regardless of use.
    pub expires_at: String,
    /// Time of the last use, accurate to about a minute.
    pub seen_at: String,
    /// Address of the sign-in.
    pub address: String,
    /// User agent of the browser.
    pub agent: String,
    /// Time at which the user last proved their identity with the password.
    pub proved_at: String,
    /// Address of that proof.
    pub proved_address: String,
}

impl From<WebSession> for SessionJson {
    fn from(session: WebSession) -> Self {
        Self {
            id: session.id.to_string(),
            created_at: time::format(session.created_at),
            expires_at: time::format(session.expires_at),
            seen_at: time::format(session.seen_at),
            address: session.address,
            agent: session.agent,
            proved_at: time::format(session.proved_at),
            proved_address: session.proved_address,
        }
    }
}

/// A group.
#[derive(Serialize, ToSchema)]
pub struct GroupJson {
    /// Identifier.
    pub id: String,
    /// Name.
    pub name: String,
    /// Purpose or target.
    pub description: String,
    /// Time of creation.
    pub created_at: String,
}

impl From<Group> for GroupJson {
    fn from(group: Group) -> Self {
        Self {
            id: group.id.to_string(),
            name: group.name,
            description: group.description,
            created_at: time::format(group.created_at),
        }
    }
}

/// A new group.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupForm {
    /// Name.
    #[schema(value_type = super::rules::ItemName)]
    pub name: String,
    /// Purpose or target.
    #[serde(default)]
    #[schema(value_type = super::rules::Description)]
    pub description: String,
}

/// Changes to a group. Absent fields stay as they are.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GroupChange {
    /// Name.
    #[schema(value_type = Option<super::rules::ItemName>)]
    pub name: Option<String>,
    /// Purpose or target.
    #[schema(value_type = Option<super::rules::Description>)]
    pub description: Option<String>,
}

/// A member of a group.
#[derive(Serialize, ToSchema)]
pub struct MemberJson {
    /// The user.
    pub id: String,
    /// The user's login name.
    pub login: String,
    /// The display name.
    pub display_name: String,
}

impl From<Member> for MemberJson {
    fn from(member: Member) -> Self {
        Self { id: member.account.to_string(), login: member.login, display_name: member.display_name }
    }
}

/// A role.
#[derive(Serialize, ToSchema)]
pub struct RoleJson {
    /// Identifier.
    pub id: String,
    /// Name.
    pub name: String,
    /// Rights that it grants.
    pub rights: Vec<&'static str>,
    /// True if it is built in and cannot be changed.
    pub built_in: bool,
}

impl From<Role> for RoleJson {
    fn from(role: Role) -> Self {
        let built_in = role.is_built_in();
        Self { id: role.id.to_string(), name: role.name, rights: rights(role.rights), built_in }
    }
}

/// A new role.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleForm {
    /// Name.
    #[schema(value_type = super::rules::ItemName)]
    pub name: String,
    /// Rights that it grants.
    #[schema(value_type = Vec<super::rules::RightWord>)]
    pub rights: Vec<String>,
}

/// Changes to a role. Absent fields stay as they are.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RoleChange {
    /// Name.
    #[schema(value_type = Option<super::rules::ItemName>)]
    pub name: Option<String>,
    /// Rights that it grants.
    #[schema(value_type = Option<Vec<super::rules::RightWord>>)]
    pub rights: Option<Vec<String>>,
}

/// Parses the names of a set of rights.
pub fn parse_rights(words: &[String]) -> Result<model::Rights> {
    words.iter().map(|word| Right::parse(word)).collect()
}

/// A user or group found by a search.
#[derive(Serialize, ToSchema)]
pub struct PrincipalJson {
    /// Identifier.
    pub id: String,
    /// `user` or `group`.
    pub kind: &'static str,
    /// The display name.
    pub name: String,
    /// Login name of a user; null for a group.
    pub login: Option<String>,
}

impl From<PrincipalName> for PrincipalJson {
    fn from(name: PrincipalName) -> Self {
        Self { id: name.id.to_string(), kind: name.kind.as_str(), name: name.name, login: name.login }
    }
}

/// Search text and limit.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PrincipalQuery {
    /// Beginning of a login, a name or a word of a name.
    pub search: String,
    /// Maximum number of results, 1 to 50.
    #[param(minimum = 1, maximum = 50, default = 20)]
    pub limit: Option<usize>,
}

/// The caller.
#[derive(Serialize, ToSchema)]
pub struct MeJson {
    /// The account.
    pub user: UserJson,
    /// Groups that the caller is in.
    pub groups: Vec<super::item::PersonJson>,
    /// Credential of the request: `session`, `token` or `password`.
    pub credential: &'static str,
    /// Language, theme and time zone.
    pub preferences: PreferencesJson,
}

/// Language, theme and time zone.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreferencesJson {
    /// A language tag such as `de`; empty to follow the browser.
    #[schema(value_type = super::rules::LanguageTag)]
    pub language: String,
    /// `system`, `light` or `dark`.
    #[schema(value_type = super::rules::ThemeWord)]
    pub theme: String,
    /// Name of a time zone such as `Europe/Berlin`; empty for that of the browser. In a change, absent to keep it.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::ZoneName>)]
    pub time_zone: Option<String>,
}

//! The caller's account, and the farm as a whole.

use axum::Json as Reply;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use model::{Code, Error, Preferences, Result, Theme};
use repository::{Credential, FARM_ACTIONS, FarmFilter};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::{self, Authenticated};
use http_core::protocol::time;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

use super::extract::{Json, Query};
use super::wire::event::FarmEventJson;
use super::wire::farm::{FarmStatus, FindingJson};
use super::wire::item::Names;
use super::wire::list::{List, PageQuery, cursor_of};
use super::wire::people::{MeJson, OwnPasswordForm, PreferencesJson};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(me))
        .routes(routes!(change_password))
        .routes(routes!(change_preferences))
        .routes(routes!(status))
        .routes(routes!(health))
        .routes(routes!(audit_log))
}

/// Get the caller's account
#[utoipa::path(
    get,
    path = "/api/v1/me",
    operation_id = "get_me",
    tag = "me",
    responses((status = 200, description = "The caller", body = MeJson))
)]
async fn me(caller: Authenticated) -> Answer<Reply<MeJson>> {
    let principal = caller.session.principal();
    let account = caller.session.account(principal.id).await?;
    let names = Names::of(&caller.session, principal.groups.iter().copied()).await?;
    let preferences = PreferencesJson {
        language: account.preferences.language.clone(),
        theme: account.preferences.theme.as_str().to_owned(),
        time_zone: Some(account.preferences.time_zone.clone()),
    };
    Ok(Reply(MeJson {
        groups: principal.groups.iter().map(|group| names.person(*group)).collect(),
        user: account.into(),
        credential: match caller.credential {
            Credential::Session { .. } => "session",
            Credential::Token { .. } => "token",
            Credential::Password => "password",
        },
        preferences,
    }))
}

/// Change the caller's password
///
/// Ends all of the caller's sessions.
#[utoipa::path(
    put,
    path = "/api/v1/me/password",
    operation_id = "change_own_password",
    tag = "me",
    request_body = OwnPasswordForm,
    responses((status = 204, description = "Done"))
)]
async fn change_password(
    caller: Authenticated,
    client: Client,
    Json(form): Json<OwnPasswordForm>,
) -> Answer<StatusCode> {
    caller.session.change_own_password(&form.old, &form.new, &client.0).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Set the caller's language, theme and time zone
#[utoipa::path(
    put,
    path = "/api/v1/me/preferences",
    operation_id = "change_preferences",
    tag = "me",
    request_body = PreferencesJson,
    responses((status = 204, description = "Done"))
)]
async fn change_preferences(caller: Authenticated, Json(form): Json<PreferencesJson>) -> Answer<StatusCode> {
    let time_zone = match form.time_zone {
        Some(name) => name,
        None => caller.session.account(caller.session.principal().id).await?.preferences.time_zone,
    };
    let preferences = Preferences::new(&form.language, Theme::parse(&form.theme)?, &time_zone)?;
    caller.session.set_preferences(preferences).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get the storage status of the farm
///
/// Farm administrators only.
#[utoipa::path(
    get,
    path = "/api/v1/farm/status",
    operation_id = "get_farm_status",
    tag = "farm",
    responses((status = 200, description = "Databases and stores", body = FarmStatus))
)]
async fn status(caller: Authenticated) -> Answer<Reply<FarmStatus>> {
    let (databases, stores) = caller.session.storage_status().await?;
    Ok(Reply(FarmStatus {
        version: env!("CARGO_PKG_VERSION"),
        databases: databases.into_iter().map(Into::into).collect(),
        stores: stores.into_iter().map(Into::into).collect(),
    }))
}

/// List problems that need attention
///
/// Farm administrators only. The most severe come first; empty when there is no problem.
#[utoipa::path(
    get,
    path = "/api/v1/farm/health",
    operation_id = "get_farm_health",
    tag = "farm",
    responses((status = 200, description = "The findings of the health rules", body = List<FindingJson>))
)]
async fn health(caller: Authenticated) -> Answer<Reply<List<FindingJson>>> {
    let found = caller.session.health().await?;
    Ok(Reply(List::whole(found.into_iter().map(Into::into).collect())))
}

/// Filter and page of the farm's audit log.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct FarmLogQuery {
    /// Maximum number of entries on the page, 1 to 1000.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// `next` of the previous page.
    #[param(value_type = Option<super::wire::rules::CursorText>)]
    cursor: Option<String>,
    /// Identifier of a user: only actions of that user.
    #[param(value_type = Option<super::wire::rules::Identifier>)]
    actor: Option<String>,
    /// Only this action, such as `account.create`.
    #[param(value_type = Option<super::wire::rules::FarmAction>)]
    action: Option<String>,
    /// Only entries with this text in the subject or the details, ignoring case.
    text: Option<String>,
    /// Identifier of a user or group: only actions on it. With `text`, entries that match either.
    #[param(value_type = Option<super::wire::rules::Identifier>)]
    about: Option<String>,
    /// Only entries from this time or day (UTC) on.
    #[param(value_type = Option<super::wire::rules::DayOrTime>)]
    from: Option<String>,
    /// Only entries before this time, or until the end of this day (UTC).
    #[param(value_type = Option<super::wire::rules::DayOrTime>)]
    to: Option<String>,
}

impl FarmLogQuery {
    fn filter(&self) -> Result<FarmFilter> {
        if let Some(action) = self.action.as_deref().filter(|action| !FARM_ACTIONS.contains(action)) {
            let text = format!("the audit log of the farm has no action \"{}\"", action.escape_debug());
            return Err(Error::invalid(text).with_code(Code::InvalidQuery));
        }
        let id = |text: &Option<String>| text.as_ref().map(|text| text.parse()).transpose();
        Ok(FarmFilter {
            actor: id(&self.actor)?,
            action: self.action.clone(),
            text: self.text.clone(),
            about: id(&self.about)?,
            from: self.from.as_deref().map(time::parse_day).transpose()?,
            until: self.to.as_deref().map(time::parse_last_day).transpose()?,
        })
    }
}

/// List the audit log of the farm
///
/// Farm administrators only. The log covers accounts, groups, roles, sign-ins, storage and jobs. Newest first. A page
/// may be short or empty; only a page without `next` is the last.
#[utoipa::path(
    get,
    path = "/api/v1/farm/audit-log",
    operation_id = "list_farm_audit_log",
    tag = "farm",
    params(FarmLogQuery),
    responses((status = 200, description = "One page", body = List<FarmEventJson>))
)]
async fn audit_log(caller: Authenticated, Query(query): Query<FarmLogQuery>) -> Answer<Reply<List<FarmEventJson>>> {
    let part = PageQuery { limit: query.limit, cursor: query.cursor.clone() };
    let found = caller.session.farm_events(query.filter()?, part.before()?, part.limit()?).await?;
    let names = Names::of(&caller.session, found.items.iter().map(|event| event.actor)).await?;
    let items = found.items.into_iter().map(|event| FarmEventJson::new(event, &names)).collect();
    Ok(Reply(List { items, next: found.next.map(cursor_of) }))
}

/// The other end of the connection.
struct Client(repository::Client);

impl FromRequestParts<AppState> for Client {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, std::convert::Infallible> {
        Ok(Self(identity::client(parts)))
    }
}

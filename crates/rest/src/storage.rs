//! The farm's BLOB stores and storage policies. Farm administrators only.

use axum::Json as Reply;
use axum::http::StatusCode;
use model::{Error, Result};
use repository::Session;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Create, Json, PathParams, Query};
use super::wire::Once;
use super::wire::farm::StoreJson;
use super::wire::list::List;
use super::wire::policy::{PolicyForm, StoragePolicyJson, target};
use super::wire::store::{NewStoreJson, ProbeJson, Removal, StepJson, StoreChange};
use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(stores, add))
        .routes(routes!(change, remove))
        .routes(routes!(test))
        .routes(routes!(rotate_key))
        .routes(routes!(policies))
        .routes(routes!(policy, set_policy))
}

/// List the BLOB stores
///
/// Farm administrators only. Oldest first.
#[utoipa::path(
    get,
    path = "/api/v1/farm/stores",
    operation_id = "list_stores",
    tag = "storage",
    responses((status = 200, description = "All BLOB stores", body = List<StoreJson>))
)]
async fn stores(caller: Authenticated) -> Answer<Reply<List<StoreJson>>> {
    let (_, stores) = caller.session.storage_status().await?;
    Ok(Reply(List::whole(stores.into_iter().map(Into::into).collect())))
}

async fn named(session: &Session, found: impl Fn(&StoreJson) -> bool) -> Result<StoreJson> {
    let (_, stores) = session.storage_status().await?;
    stores.into_iter().map(StoreJson::from).find(found).ok_or_else(|| Error::not_found("the BLOB store was removed"))
}

/// Add a BLOB store
///
/// Farm administrators only. The store is opened first, which writes the farm's owner marker into it. It takes BLOBs as
/// soon as a storage policy names it.
#[utoipa::path(
    post,
    path = "/api/v1/farm/stores",
    operation_id = "add_store",
    tag = "storage",
    params(Once),
    request_body = NewStoreJson,
    responses((status = 201, description = "The store", body = StoreJson))
)]
async fn add(caller: Authenticated, create: Create<NewStoreJson>) -> Answer<(StatusCode, Reply<StoreJson>)> {
    let (session, new) = create.with(caller.session);
    let id = session.add_store(new.into()).await?.to_string();
    Ok((StatusCode::CREATED, Reply(named(&session, |store| store.id == id).await?)))
}

/// Change a BLOB store
///
/// Farm administrators only. Changes either the state, or settings and secrets. If the settings do not work, nothing is
/// changed.
#[utoipa::path(
    patch,
    path = "/api/v1/farm/stores/{store}",
    operation_id = "change_store",
    tag = "storage",
    params(("store" = String, Path, description = "Name of the store")),
    request_body = StoreChange,
    responses((status = 200, description = "The store as it is now", body = StoreJson))
)]
async fn change(
    caller: Authenticated,
    PathParams([name]): PathParams<1>,
    Json(change): Json<StoreChange>,
) -> Answer<Reply<StoreJson>> {
    match change.state()? {
        Some(state) => caller.session.set_store_state(&name, state).await?,
        None => caller.session.change_store(&name, &change.settings, &change.secrets).await?,
    }
    Ok(Reply(named(&caller.session, |store| store.name == name).await?))
}

/// Remove a BLOB store from the farm
///
/// Farm administrators only. Refused while the store is active or contains BLOBs (see `force`). The bytes in the store
/// are not deleted.
#[utoipa::path(
    delete,
    path = "/api/v1/farm/stores/{store}",
    operation_id = "remove_store",
    tag = "storage",
    params(("store" = String, Path, description = "Name of the store"), Removal),
    responses((status = 204, description = "Done"))
)]
async fn remove(
    caller: Authenticated,
    PathParams([name]): PathParams<1>,
    Query(removal): Query<Removal>,
) -> Answer<StatusCode> {
    caller.session.remove_store(&name, removal.force).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Test a BLOB store
///
/// Farm administrators only. Writes, reads, lists and deletes random bytes. No BLOB is touched.
#[utoipa::path(
    post,
    path = "/api/v1/farm/stores/{store}/test",
    operation_id = "test_store",
    tag = "storage",
    params(("store" = String, Path, description = "Name of the store")),
    responses((status = 200, description = "The outcome of the test, even if the test failed", body = ProbeJson))
)]
async fn test(caller: Authenticated, PathParams([name]): PathParams<1>) -> Answer<Reply<ProbeJson>> {
    let report = caller.session.test_store(&name).await?;
    let step = |what: &str, bytes, time: std::time::Duration| StepJson {
        what: what.to_owned(),
        bytes,
        microseconds: u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
    };
    Ok(Reply(ProbeJson {
        good: report.is_good(),
        steps: report.steps.iter().map(|done| step(done.what, done.bytes, done.time)).collect(),
        failed_at: report.failure.as_ref().map(|(what, _)| (*what).to_owned()),
        failure: report.failure.as_ref().map(|(_, error)| error.message().to_owned()),
    }))
}

/// Rotate the encryption key of a BLOB store
///
/// Farm administrators only. New BLOBs are encrypted with the new key. Existing BLOBs stay readable with the keys that
/// they were encrypted with.
#[utoipa::path(
    post,
    path = "/api/v1/farm/stores/{store}/rotate-key",
    operation_id = "rotate_store_key",
    tag = "storage",
    params(("store" = String, Path, description = "Name of the store")),
    responses((status = 204, description = "Done"))
)]
async fn rotate_key(caller: Authenticated, PathParams([name]): PathParams<1>) -> Answer<StatusCode> {
    caller.session.rotate_store_key(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the storage policies
///
/// Farm administrators only. Includes those of all content databases, and of each site collection and library that has
/// its own.
#[utoipa::path(
    get,
    path = "/api/v1/farm/storage-policies",
    operation_id = "list_storage_policies",
    tag = "storage",
    responses((status = 200, description = "All storage policies", body = List<StoragePolicyJson>))
)]
async fn policies(caller: Authenticated) -> Answer<Reply<List<StoragePolicyJson>>> {
    let policies = caller.session.storage_policies().await?;
    Ok(Reply(List::whole(policies.into_iter().map(Into::into).collect())))
}

/// Get a storage policy
///
/// Farm administrators only. Returns the policy that applies to new BLOBs of the target.
#[utoipa::path(
    get,
    path = "/api/v1/farm/storage-policies/{kind}/{target}",
    operation_id = "get_storage_policy",
    tag = "storage",
    params(
        ("kind" = String, Path, description = "`database`, `collection` or `library`"),
        ("target" = String, Path, description = "Name of the database, or identifier of the site collection or library")
    ),
    responses((status = 200, description = "The policy", body = StoragePolicyJson))
)]
async fn policy(caller: Authenticated, PathParams([kind, which]): PathParams<2>) -> Answer<Reply<StoragePolicyJson>> {
    let target = target(&kind, &which)?;
    Ok(Reply(caller.session.storage_policy(&target).await?.into()))
}

/// Set a storage policy
///
/// Farm administrators only. The policy applies to uploads that begin from now on. Stored BLOBs stay where they are
/// until a job of the kind `migrate` moves them. An empty object removes the policy of a site collection or library.
#[utoipa::path(
    put,
    path = "/api/v1/farm/storage-policies/{kind}/{target}",
    operation_id = "set_storage_policy",
    tag = "storage",
    params(
        ("kind" = String, Path, description = "`database`, `collection` or `library`"),
        ("target" = String, Path, description = "Name of the database, or identifier of the site collection or library")
    ),
    request_body = PolicyForm,
    responses((status = 200, description = "The policy that applies now", body = StoragePolicyJson))
)]
async fn set_policy(
    caller: Authenticated,
    PathParams([kind, which]): PathParams<2>,
    Json(form): Json<PolicyForm>,
) -> Answer<Reply<StoragePolicyJson>> {
    let target = target(&kind, &which)?;
    Ok(Reply(caller.session.set_storage_policy(&target, form.read()?).await?.into()))
}

//! Locks.

use model::Id;
use repository::{Lock, NewLock};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::item::{Names, PersonJson};
use http_core::protocol::time;

/// A lock on an item, or on one above that covers it.
#[derive(Serialize, ToSchema)]
pub struct LockJson {
    /// What shows that a request comes from who holds it, in the field `Lock-Token` of changes; null when it is not the caller's.
    pub token: Option<String>,
    /// The item that was locked.
    pub item: String,
    /// Its path in the farm, where that is known.
    pub path: Option<String>,
    /// Who holds it.
    pub holder: PersonJson,
    /// Whether nobody else may have one too.
    pub exclusive: bool,
    /// Whether it covers everything below the item.
    pub deep: bool,
    /// Since when.
    pub created_at: String,
    /// When it ends unless it is refreshed.
    pub expires_at: String,
}

impl LockJson {
    /// A lock as this caller sees it.
    pub fn new(lock: Lock, caller: Id, names: &Names) -> Self {
        Self {
            token: (lock.holder == caller).then_some(lock.token),
            item: lock.item.to_string(),
            path: lock.path,
            holder: names.person(lock.holder),
            exclusive: lock.exclusive,
            deep: lock.deep,
            created_at: time::format(lock.created_at),
            expires_at: time::format(lock.expires_at),
        }
    }
}

/// The lock that somebody wants.
#[derive(Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LockForm {
    /// Whether nobody else may have one too.
    #[schema(default = true)]
    pub exclusive: bool,
    /// Whether it covers everything below a folder.
    #[schema(default = false)]
    pub deep: bool,
    /// For how long, in seconds; 30 to 86,400 are given.
    #[schema(default = 600)]
    pub seconds: u64,
}

impl Default for LockForm {
    fn default() -> Self {
        Self { exclusive: true, deep: false, seconds: USUAL_SECONDS }
    }
}

/// Seconds of a lock when nobody says otherwise.
const USUAL_SECONDS: u64 = 600;

impl From<LockForm> for NewLock {
    fn from(form: LockForm) -> Self {
        Self { exclusive: form.exclusive, deep: form.deep, owner: String::new(), seconds: form.seconds }
    }
}

/// More time for a lock.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MoreTime {
    /// From now on, in seconds; 30 to 86,400 are given.
    pub seconds: u64,
}

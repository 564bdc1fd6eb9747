//! Locks.

use model::Id;
use repository::{Lock, NewLock};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::item::{Names, PersonJson};
use http_core::protocol::time;

/// A lock on an item, or on an item above that covers it.
#[derive(Serialize, ToSchema)]
pub struct LockJson {
    /// Token that proves in the field `Lock-Token` of changes that a request comes from the holder; null for locks of
    /// other users.
    pub token: Option<String>,
    /// The locked item.
    pub item: String,
    /// Its path in the farm, if known.
    pub path: Option<String>,
    /// The user who holds it.
    pub holder: PersonJson,
    /// True for an exclusive lock, which admits no other lock beside it.
    pub exclusive: bool,
    /// True if it covers everything below the item.
    pub deep: bool,
    /// Start time.
    pub created_at: String,
    /// Time at which it ends unless it is refreshed.
    pub expires_at: String,
}

impl LockJson {
    /// Creates the JSON form of a lock as the caller may see it.
    pub fn new(lock: Lock, caller: Id, names: &Names) -> Self {
        Self {
            token: lock.token().filter(|_| lock.holder == caller).map(str::to_owned),
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

/// Parameters of a requested lock.
#[derive(Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LockForm {
    /// True for an exclusive lock, which admits no other lock beside it.
    #[schema(default = true)]
    pub exclusive: bool,
    /// True if it covers everything below a folder.
    #[schema(default = false)]
    pub deep: bool,
    /// Duration in seconds, limited to 30 to 86,400.
    #[schema(default = 600)]
    pub seconds: u64,
}

impl Default for LockForm {
    fn default() -> Self {
        Self { exclusive: true, deep: false, seconds: USUAL_SECONDS }
    }
}

/// Default duration of a lock in seconds.
const USUAL_SECONDS: u64 = 600;

impl From<LockForm> for NewLock {
    fn from(form: LockForm) -> Self {
        Self { exclusive: form.exclusive, deep: form.deep, owner: String::new(), seconds: form.seconds }
    }
}

/// Extension of a lock.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MoreTime {
    /// Duration in seconds from now, limited to 30 to 86,400.
    pub seconds: u64,
}

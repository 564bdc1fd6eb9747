//! BLOB stores to be added and changed.

use std::collections::BTreeMap;

use model::{Code, Error, Result};
use repository::{NewStore, StoreState};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A BLOB store to be added.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStoreJson {
    /// Unique name.
    #[schema(value_type = super::rules::ItemName)]
    pub name: String,
    /// Kind of its provider, such as `directory` or `s3`.
    #[schema(value_type = super::rules::StoreWord)]
    pub kind: String,
    /// Where it is: a directory (relative to the data directory), or a bucket and perhaps a prefix (`bucket/prefix`).
    pub location: String,
    /// Settings of its provider by name.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Credentials and keys by name. They are kept sealed, and never told again.
    #[serde(default)]
    pub secrets: BTreeMap<String, String>,
    /// Whether BLOBs are encrypted before they are stored, with a key that the farm makes and keeps.
    #[serde(default)]
    pub encrypt: bool,
}

impl From<NewStoreJson> for NewStore {
    fn from(new: NewStoreJson) -> Self {
        Self {
            name: new.name,
            kind: new.kind,
            location: new.location,
            settings: new.settings,
            secrets: new.secrets,
            encrypt: new.encrypt,
        }
    }
}

/// What to change of a BLOB store: either its state, or settings and secrets.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreChange {
    /// `active` (takes new BLOBs where a policy says so), `read-only` or `draining`. A job of the kind `migrate` moves what is in it.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::StoreStateWord>)]
    pub state: Option<String>,
    /// Settings to replace; an empty text removes one.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Credentials and keys to replace; an empty text removes one. The next access uses them.
    #[serde(default)]
    pub secrets: BTreeMap<String, String>,
}

impl StoreChange {
    /// The state, if it is that which is to change.
    pub fn state(&self) -> Result<Option<StoreState>> {
        let others = !self.settings.is_empty() || !self.secrets.is_empty();
        let Some(word) = self.state.as_deref() else { return Ok(None) };
        if others {
            return Err(Error::invalid(
                "change the state and the settings in two requests, so that a refusal is clear",
            )
            .with_code(Code::TooMuchAtOnce));
        }
        [StoreState::Active, StoreState::ReadOnly, StoreState::Draining]
            .into_iter()
            .find(|state| state.as_str() == word)
            .map(Some)
            .ok_or_else(|| Error::invalid("the state of a BLOB store is active, read-only or draining"))
    }
}

/// How to remove a BLOB store.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Removal {
    /// Also when BLOBs are in it that nothing refers to, or it does not answer.
    pub force: bool,
}

/// How the test of a store went.
#[derive(Serialize, ToSchema)]
pub struct ProbeJson {
    /// Whether every step succeeded.
    pub good: bool,
    /// The steps that succeeded, in order.
    pub steps: Vec<StepJson>,
    /// The step that failed.
    pub failed_at: Option<String>,
    /// How it failed.
    pub failure: Option<String>,
}

/// A step of the test of a store.
#[derive(Serialize, ToSchema)]
pub struct StepJson {
    /// What was done, such as `read a range`.
    pub what: String,
    /// Bytes that were moved; 0 where that means nothing.
    pub bytes: u64,
    /// How long it took.
    pub microseconds: u64,
}

//! BLOB stores to add, change, remove and test.

use std::collections::BTreeMap;

use model::{Code, Error, Result, StoreState};
use repository::NewStore;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A new BLOB store.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStoreJson {
    /// Unique name.
    #[schema(value_type = super::rules::ItemName)]
    pub name: String,
    /// Kind of its provider, such as `directory` or `s3`.
    #[schema(value_type = super::rules::StoreWord)]
    pub kind: String,
    /// Location: a directory (relative to the data directory), or a bucket with an optional prefix (`bucket/prefix`).
    pub location: String,
    /// Settings of its provider by name.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Credentials and keys by name. They are stored encrypted and never returned.
    #[serde(default)]
    pub secrets: BTreeMap<String, String>,
    /// True if BLOBs are encrypted before they are stored, with a key that the farm generates and keeps.
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

/// Changes to a BLOB store: either its state, or settings and secrets.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreChange {
    /// `active` (takes new BLOBs where a policy names it), `read-only` or `draining`. A job of the kind `migrate` moves
    /// the BLOBs in it.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::StoreStateWord>)]
    pub state: Option<String>,
    /// Settings to replace; an empty text removes a setting.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Credentials and keys to replace; an empty text removes one. They apply from the next access on.
    #[serde(default)]
    pub secrets: BTreeMap<String, String>,
}

impl StoreChange {
    /// Returns the new state, if the state is to change.
    pub fn state(&self) -> Result<Option<StoreState>> {
        let others = !self.settings.is_empty() || !self.secrets.is_empty();
        let Some(word) = self.state.as_deref() else { return Ok(None) };
        if others {
            return Err(Error::invalid(
                "change the state and the settings in two requests, so that a refusal is clear",
            )
            .with_code(Code::TooMuchAtOnce));
        }
        StoreState::parse(word).map(Some).map_err(|error| error.with_code(Code::InvalidJson))
    }
}

/// Options for removing a BLOB store.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Removal {
    /// Remove the store even if it contains BLOBs that nothing refers to, or does not respond.
    pub force: bool,
}

/// Result of the test of a store.
#[derive(Serialize, ToSchema)]
pub struct ProbeJson {
    /// True if every step succeeded.
    pub good: bool,
    /// The successful steps, in order.
    pub steps: Vec<StepJson>,
    /// The step that failed.
    pub failed_at: Option<String>,
    /// The reason for the failure.
    pub failure: Option<String>,
}

/// A step of the test of a store.
#[derive(Serialize, ToSchema)]
pub struct StepJson {
    /// The operation, such as `read a range`.
    pub what: String,
    /// Bytes transferred; 0 where this does not apply.
    pub bytes: u64,
    /// Duration.
    pub microseconds: u64,
}

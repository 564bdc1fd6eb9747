//! Libraries and their settings.

use model::{LibrarySettings, Result, Versioning};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How a library keeps versions.
#[derive(Serialize, ToSchema)]
pub struct SettingsJson {
    /// `none`, `major` or `major-minor`.
    pub versioning: &'static str,
    /// Most major versions of each document; 0 keeps all.
    pub major_limit: u32,
    /// Number of latest major versions that keep their drafts; 0 keeps all.
    pub minor_limit: u32,
    /// Whether a document must be checked out before it is changed.
    pub require_checkout: bool,
}

impl From<LibrarySettings> for SettingsJson {
    fn from(settings: LibrarySettings) -> Self {
        Self {
            versioning: settings.versioning.as_str(),
            major_limit: settings.major_limit,
            minor_limit: settings.minor_limit,
            require_checkout: settings.require_checkout,
        }
    }
}

/// What to change of a library's settings; what is absent stays.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SettingsChange {
    /// `none`, `major` or `major-minor`.
    #[schema(value_type = Option<super::rules::VersioningWord>)]
    pub versioning: Option<String>,
    /// Most major versions of each document; 0 keeps all.
    #[schema(maximum = 50000)]
    pub major_limit: Option<u32>,
    /// Number of latest major versions that keep their drafts; 0 keeps all.
    #[schema(maximum = 50000)]
    pub minor_limit: Option<u32>,
    /// Whether a document must be checked out before it is changed.
    pub require_checkout: Option<bool>,
}

impl SettingsChange {
    /// These settings on top of what was there.
    pub fn on(self, before: LibrarySettings) -> Result<LibrarySettings> {
        Ok(LibrarySettings {
            versioning: self.versioning.as_deref().map(Versioning::parse).transpose()?.unwrap_or(before.versioning),
            major_limit: self.major_limit.unwrap_or(before.major_limit),
            minor_limit: self.minor_limit.unwrap_or(before.minor_limit),
            require_checkout: self.require_checkout.unwrap_or(before.require_checkout),
        })
    }
}

/// A library to be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLibrary {
    /// Its name.
    #[schema(value_type = super::rules::ItemName)]
    pub name: String,
    /// Its settings; what is absent has its default.
    #[serde(default, deserialize_with = "super::object")]
    pub settings: SettingsChange,
}

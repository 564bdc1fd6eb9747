//! Libraries and their settings.

use model::{LibrarySettings, Result, Versioning};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Versioning of a library.
#[derive(Serialize, ToSchema)]
pub struct SettingsJson {
    /// `none`, `major` or `major-minor`.
    pub versioning: &'static str,
    /// Maximum number of major versions of each document; 0 keeps all.
    pub major_limit: u32,
    /// Number of the latest major versions whose drafts are kept; 0 keeps all.
    pub minor_limit: u32,
    /// True if a document must be checked out before it is changed.
    pub require_checkout: bool,
    /// True if drafts are published by approval only, which needs the right `override` beside `publish`.
    pub require_approval: bool,
    /// True if documents can be attached to the rows of a list; false for a library.
    pub attachments: bool,
}

impl From<LibrarySettings> for SettingsJson {
    fn from(settings: LibrarySettings) -> Self {
        Self {
            versioning: settings.versioning.as_str(),
            major_limit: settings.major_limit,
            minor_limit: settings.minor_limit,
            require_checkout: settings.require_checkout,
            require_approval: settings.require_approval,
            attachments: settings.attachments,
        }
    }
}

/// Changes to a library's settings. Absent fields stay as they are.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SettingsChange {
    /// `none`, `major` or `major-minor`.
    #[schema(value_type = Option<super::rules::VersioningWord>)]
    pub versioning: Option<String>,
    /// Maximum number of major versions of each document; 0 keeps all.
    #[schema(maximum = 50000)]
    pub major_limit: Option<u32>,
    /// Number of the latest major versions whose drafts are kept; 0 keeps all.
    #[schema(maximum = 50000)]
    pub minor_limit: Option<u32>,
    /// True if a document must be checked out before it is changed.
    pub require_checkout: Option<bool>,
    /// True if drafts are published by approval only, which needs `major-minor`.
    pub require_approval: Option<bool>,
    /// True if documents can be attached to the rows of a list. A library has no rows.
    pub attachments: Option<bool>,
}

impl SettingsChange {
    /// Applies the changes to the existing settings.
    pub fn on(self, before: LibrarySettings) -> Result<LibrarySettings> {
        Ok(LibrarySettings {
            versioning: self.versioning.as_deref().map(Versioning::parse).transpose()?.unwrap_or(before.versioning),
            major_limit: self.major_limit.unwrap_or(before.major_limit),
            minor_limit: self.minor_limit.unwrap_or(before.minor_limit),
            require_checkout: self.require_checkout.unwrap_or(before.require_checkout),
            require_approval: self.require_approval.unwrap_or(before.require_approval),
            attachments: self.attachments.unwrap_or(before.attachments),
        })
    }
}

/// A new library.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLibrary {
    /// Name.
    #[schema(value_type = super::rules::ItemName)]
    pub name: String,
    /// Its settings. Absent fields have their defaults.
    #[serde(default, deserialize_with = "super::object")]
    pub settings: SettingsChange,
}

//! Settings of a library.

use crate::{Code, Error, Result, Right, Rights};

/// Versioning of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versioning {
    /// Only the current content; replacing it discards the previous content.
    None,
    /// Each change is a published version.
    Major,
    /// Each change is a draft until it is published; readers see the last published version.
    MajorMinor,
}

impl Versioning {
    /// Returns the name used in the database and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Major => "major",
            Self::MajorMinor => "major-minor",
        }
    }

    /// Parses the word.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "none" => Ok(Self::None),
            "major" => Ok(Self::Major),
            "major-minor" => Ok(Self::MajorMinor),
            _ => Err(Error::invalid("versioning is one of none, major, major-minor")),
        }
    }
}

/// Settings for all documents of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibrarySettings {
    /// The versions that are kept.
    pub versioning: Versioning,
    /// Limit on the major versions kept for each document; the oldest are removed first. 0 keeps all.
    pub major_limit: u32,
    /// Number of latest major versions that keep their drafts; 0 keeps all drafts.
    pub minor_limit: u32,
    /// True if a document must be checked out before it is changed.
    pub require_checkout: bool,
    /// True if a draft needs approval: publishing then takes the right to override as well. Needs
    /// [`Versioning::MajorMinor`].
    pub require_approval: bool,
    /// True if documents can be attached to the rows of a list. False for a library.
    pub attachments: bool,
}

impl LibrarySettings {
    /// Limit on the versions that a library keeps, unless it keeps all.
    pub const MAX_VERSIONS: u32 = 50_000;

    /// Checks the settings.
    ///
    /// # Errors
    /// `Invalid` for limits beyond [`Self::MAX_VERSIONS`]; with code `approval_without_drafts` for approval in a
    /// library that keeps no drafts.
    pub fn check(&self) -> Result<()> {
        if self.major_limit > Self::MAX_VERSIONS || self.minor_limit > Self::MAX_VERSIONS {
            return Err(Error::invalid(format!("at most {} versions can be kept; 0 keeps all", Self::MAX_VERSIONS)));
        }
        if self.require_approval && self.versioning != Versioning::MajorMinor {
            return Err(Error::invalid("approval is for drafts, and only the versioning major-minor keeps drafts")
                .with_code(Code::ApprovalWithoutDrafts));
        }
        Ok(())
    }

    /// Returns whether somebody with these rights may publish documents.
    pub fn may_publish(&self, rights: Rights) -> bool {
        rights.has(Right::Publish) && (!self.require_approval || rights.has(Right::Override))
    }
}

impl Default for LibrarySettings {
    fn default() -> Self {
        Self {
            versioning: Versioning::Major,
            major_limit: 500,
            minor_limit: 10,
            require_checkout: false,
            require_approval: false,
            attachments: false,
        }
    }
}

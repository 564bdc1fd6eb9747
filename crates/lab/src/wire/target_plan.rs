//! The `[target]` section of a plan. Contacts no host.

use serde::{Deserialize, Serialize};

/// The `[target]` section of a plan.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetPlan {
    /// URL of the server; `--target` takes precedence.
    #[serde(default)]
    pub url: Option<String>,
    /// Servers that should be equal to the target. Users are spread over all of them, and servers that differ are
    /// reported.
    #[serde(default)]
    pub twins: Vec<String>,
    /// Kind of the target.
    #[serde(default)]
    pub kind: TargetKind,
    /// Hosts besides that of `url` that load may be sent to. This machine need not be listed.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Path below which the corpus is created: a site for Strongroom, a collection such as `/dav/Documents` for WebDAV.
    #[serde(default)]
    pub root: String,
}

/// The protocol that a target speaks.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// Strongroom, with everything that it offers.
    #[default]
    Strongroom,
    /// Documents and folders over WebDAV.
    Webdav,
}

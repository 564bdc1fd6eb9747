//! The part `[target]` of a plan. Asks nobody.

use serde::{Deserialize, Serialize};

/// The part `[target]` of a plan.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetPlan {
    /// Where the server is; `--target` wins over it.
    #[serde(default)]
    pub url: Option<String>,
    /// Servers that should be equal to it: users are spread over all of them, and those that differ are named.
    #[serde(default)]
    pub twins: Vec<String>,
    /// What it speaks.
    #[serde(default)]
    pub kind: Kind,
    /// Hosts besides that of `url` that load may be sent to. This machine needs no naming.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Below which path the corpus is made: a site for Strongroom, a collection such as `/dav/Documents` for WebDAV.
    #[serde(default)]
    pub root: String,
}

/// The protocol that a target speaks.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Everything that Strongroom offers.
    #[default]
    Strongroom,
    /// Documents and folders by WebDAV.
    Webdav,
}

//! The plans that are shipped with the program.

use super::message::unknown;
use crate::error::{Error, Result};

/// A plan that is shipped with the program.
pub struct Shipped {
    /// Name.
    pub name: &'static str,
    /// Content of its file.
    pub text: &'static str,
}

/// All scopes.
pub const SHIPPED: &[Shipped] = &[
    Shipped { name: "quick", text: include_str!("../../plans/quick.toml") },
    Shipped { name: "files", text: include_str!("../../plans/files.toml") },
    Shipped { name: "rbs-2010", text: include_str!("../../plans/rbs-2010.toml") },
    Shipped { name: "ebs-2007", text: include_str!("../../plans/ebs-2007.toml") },
    Shipped { name: "ebs-2007-read", text: include_str!("../../plans/ebs-2007-read.toml") },
    Shipped { name: "ebs-2007-write", text: include_str!("../../plans/ebs-2007-write.toml") },
    Shipped { name: "ebs-2007-profile", text: include_str!("../../plans/ebs-2007-profile.toml") },
    Shipped { name: "rbs-2010-sp1", text: include_str!("../../plans/rbs-2010-sp1.toml") },
    Shipped { name: "dms-2012-upload", text: include_str!("../../plans/dms-2012-upload.toml") },
    Shipped { name: "dms-2012-browse", text: include_str!("../../plans/dms-2012-browse.toml") },
    Shipped { name: "web-tuning", text: include_str!("../../plans/web-tuning.toml") },
];

/// Returns the text of a shipped plan.
///
/// # Errors
/// If there is no such plan; the message suggests the most similar name, or else lists all names.
pub fn shipped(name: &str) -> Result<&'static str> {
    let found = SHIPPED.iter().find(|plan| plan.name == name).map(|plan| plan.text);
    let names: Vec<&str> = SHIPPED.iter().map(|plan| plan.name).collect();
    found.ok_or_else(|| Error::new(unknown("plan", name, &names)))
}

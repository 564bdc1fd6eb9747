//! JSON in a readable layout.

use model::{Error, Result};
use serde::Serialize;

/// Formats a value as indented JSON.
pub(crate) fn pretty(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|e| Error::invalid("a description of a backup cannot be written").with_source(e))?;
    bytes.push(b'\n');
    Ok(bytes)
}

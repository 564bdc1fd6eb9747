//! Documents that could not be read because a program of others is missing.

use std::collections::BTreeSet;

use model::{Code, Result};
use search::index::View;

/// Error codes of such documents.
const CODES: [Code; 2] = [Code::NeedsSoffice, Code::NeedsTesseract];
/// Entries that are read at once.
const BATCH: usize = 10_000;

/// Returns the identifiers of at most `limit` such documents in an index. Blocks.
///
/// # Errors
/// `Corrupt` or `Unavailable` if the index cannot be read.
pub(super) fn documents_without_program(view: &View, limit: usize) -> Result<BTreeSet<i64>> {
    let mut documents = BTreeSet::new();
    let counts = view.fault_counts()?;
    if !CODES.iter().any(|code| counts.contains_key(code.as_str())) {
        return Ok(documents);
    }
    let mut before = None;
    loop {
        let faults = view.faults(before, BATCH)?;
        let Some(last) = faults.last() else { return Ok(documents) };
        before = Some((last.node, last.version));
        for fault in faults {
            if CODES.iter().any(|code| code.as_str() == fault.fault.code) {
                documents.insert(fault.node.get());
            }
            if documents.len() >= limit {
                return Ok(documents);
            }
        }
    }
}

//! Moving an item to another parent or name, together with what is stored by its parent.

use model::{Id, Result};

use super::record;
use crate::{Transaction, params, statements};

statements! {
    PLACE = "UPDATE node SET parent_id = $2, name = $3, folded = $4 WHERE id = $1";
}

/// Moves an item to another parent or name. A name that is taken there is a conflict.
pub fn place(transaction: &mut Transaction<'_>, item: Id, parent: Id, name: &str, folded: &str) -> Result<()> {
    record::move_entries(transaction, item, parent)?;
    transaction.execute(PLACE, &params![item, parent, name, folded]).map(drop)
}

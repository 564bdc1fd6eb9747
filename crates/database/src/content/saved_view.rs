//! Saved views: ways in which users want libraries displayed.

use model::{Id, Result};

use crate::statement::{Inserts, insert_rows};
use crate::{Reader, Row, Transaction, Value, params, statements};

/// The columns of a new view, in the order of [`values`].
macro_rules! insert {
    () => {
        "INSERT INTO saved_view (id, library_id, owner_id, name, folded, query, standard) VALUES "
    };
}

/// Number of views that one statement inserts.
const GROUP: usize = 8;

statements! {
    LIST = "SELECT id, library_id, owner_id, name, folded, query, standard FROM saved_view
        WHERE library_id = $1 AND (owner_id = 0 OR owner_id = $2) ORDER BY owner_id, folded";
    FIND = "SELECT id, library_id, owner_id, name, folded, query, standard FROM saved_view WHERE id = $1";
    PUT = concat!(insert!(), "($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (library_id, owner_id, folded)
        DO UPDATE SET name = excluded.name, query = excluded.query, standard = excluded.standard");
    INSERT = insert_rows!(insert!(), 7, 1);
    INSERT_MANY = insert_rows!(insert!(), 7, GROUP);
    ORDINARY = "UPDATE saved_view SET standard = FALSE WHERE library_id = $1 AND owner_id = $2 AND folded <> $3";
    DELETE = "DELETE FROM saved_view WHERE id = $1";
}

/// A stored view.
#[derive(Clone, Debug)]
pub struct SavedViewRow {
    /// Identifier.
    pub id: Id,
    /// The library.
    pub library_id: Id,
    /// The owner; [`Id::NONE`] for a shared view.
    pub owner_id: Id,
    /// Name as the user entered it.
    pub name: String,
    /// Name folded for comparison.
    pub folded: String,
    /// Order, filter and columns, in the format of the web pages.
    pub query: String,
    /// Set for the view with which the library opens.
    pub standard: bool,
}

fn read(row: &Row<'_>) -> Result<SavedViewRow> {
    Ok(SavedViewRow {
        id: row.get(0)?,
        library_id: row.get(1)?,
        owner_id: row.get(2)?,
        name: row.get(3)?,
        folded: row.get(4)?,
        query: row.get(5)?,
        standard: row.get(6)?,
    })
}

/// The shared views and those of one user, shared ones first, then by name.
pub fn list(reader: &mut Reader<'_>, library: Id, person: Id) -> Result<Vec<SavedViewRow>> {
    reader.query(LIST, &params![library, person], read)
}

/// The view with this identifier.
pub fn find(reader: &mut Reader<'_>, id: Id) -> Result<Option<SavedViewRow>> {
    reader.find(FIND, &params![id], read)
}

/// Stores a view. A view of the same owner and name is replaced. An owner has at most one standard view per library.
pub fn put(transaction: &mut Transaction<'_>, view: &SavedViewRow) -> Result<()> {
    if view.standard {
        transaction.execute(ORDINARY, &params![view.library_id, view.owner_id, &view.folded])?;
    }
    transaction.execute(PUT, &values(view)).map(drop)
}

/// Adds many views, of which at most one is the standard of an owner and library. A name that is taken is a conflict.
pub fn insert_many(transaction: &mut Transaction<'_>, views: &[SavedViewRow]) -> Result<()> {
    let rows: Vec<_> = views.iter().map(|view| values(view).into()).collect();
    transaction.insert_all(&Inserts { one: INSERT, many: INSERT_MANY, group: GROUP }, &rows)
}

fn values(view: &SavedViewRow) -> [Value<'_>; 7] {
    params![view.id, view.library_id, view.owner_id, &view.name, &view.folded, &view.query, view.standard]
}

/// Deletes a view.
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}

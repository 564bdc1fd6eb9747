//! Saved views of libraries: per user or shared by all users of a library. The web pages define the content of a view;
//! here it is opaque text.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::saved_view::{self, SavedViewRow};
use model::{Code, Error, Id, Name, Result};

use crate::content::libraries::Library;
use crate::session::guard::{Checked, Guard};
use crate::session::known::Viewed;
use crate::{Session, Target};

/// Limit on the views of one library: on the shared ones, and on those of each user.
const MAX_VIEWS: usize = 50;
/// Limit on the text of a view, in bytes.
pub(crate) const MAX_VIEW_BYTES: usize = 4_000;

/// A saved view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedView {
    /// Identifier.
    pub id: Id,
    /// Name.
    pub name: String,
    /// Order, filter and columns, in the format of the web pages.
    pub query: String,
    /// Set for a view that all users of the library see. Only managers of the library can change it.
    pub shared: bool,
    /// Set for the view with which the library opens. A user's own view takes precedence over a shared one.
    pub standard: bool,
}

impl From<SavedViewRow> for SavedView {
    fn from(row: SavedViewRow) -> Self {
        Self { id: row.id, name: row.name, query: row.query, shared: row.owner_id.is_none(), standard: row.standard }
    }
}

/// A view to be saved.
#[derive(Clone, Debug)]
pub struct NewView {
    /// Name; a view with the same name and owner is replaced.
    pub name: Name,
    /// Order, filter and columns; at most 4,000 bytes.
    pub query: String,
    /// Set for a view that all users of the library see.
    pub shared: bool,
    /// Set for the view with which the library opens.
    pub standard: bool,
}

impl Session {
    /// Returns the views of the library that an item is in (or is): the shared ones, then the caller's own.
    #[boxed]
    pub async fn views(&self, target: &Target) -> Result<Vec<SavedView>> {
        let caller = self.principal.id;
        let (_, rows) = self
            .view(target, move |reader, located| saved_view::list(reader, located.node().library_id, caller))
            .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// Saves a view of the library that an item is in (or is) and returns its identifier.
    ///
    /// # Errors
    /// `Forbidden` when the view is shared and the caller does not manage the library; `Exhausted` when there are too
    /// many views.
    #[boxed]
    pub async fn save_view(&self, target: &Target, view: NewView) -> Result<Id> {
        if view.query.len() > MAX_VIEW_BYTES {
            return Err(Error::invalid("a view takes at most 4,000 bytes: choose fewer columns or conditions"));
        }
        if view.query.chars().any(char::is_control) {
            return Err(Error::invalid("a view contains no control characters, such as line ends"));
        }
        let located = self.locate(target).await?.viewed()?;
        let guard = self.view_guard(&located, view.shared)?;
        let library = located.node().library_id;
        if library.is_none() {
            return Err(Error::conflict("only libraries have views").with_code(Code::WrongKind));
        }
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            let owner_id = if view.shared { Id::NONE } else { guard.caller() };
            let folded = view.name.folded();
            let present = saved_view::list(transaction, library, guard.caller())?;
            let own = present.iter().filter(|row| row.owner_id == owner_id);
            let replaced = own.clone().find(|row| row.folded == folded);
            if replaced.is_none() && own.count() >= MAX_VIEWS {
                return Err(Error::exhausted(format!("a library has at most {MAX_VIEWS} views: delete one first"))
                    .with_code(Code::TooMany));
            }
            let row = SavedViewRow {
                id: replaced.map_or_else(|| guard.next_id(), |row| row.id),
                library_id: library,
                owner_id,
                name: view.name.as_str().to_owned(),
                folded: folded.clone(),
                query: view.query.clone(),
                standard: view.standard,
            };
            saved_view::put(transaction, &row)?;
            if view.shared {
                // It replaces the caller's personal view of that name.
                let own = present.iter().find(|row| row.owner_id == guard.caller() && row.folded == folded);
                if let Some(own) = own {
                    saved_view::delete(transaction, own.id)?;
                }
                guard.record(transaction, library, "view.save", view.name.as_str())?;
            }
            Ok(row.id)
        };
        guard.write(write).await
    }

    /// Returns the guard for changing a view. A shared view is authorised on the library, a personal one on the item at
    /// hand.
    fn view_guard(&self, item: &Viewed, shared: bool) -> Result<Guard> {
        if shared {
            return self.guard([&*Library::containing(item)?]);
        }
        self.guard([&**item])
    }

    /// Removes a view of the library that an item is in (or is).
    #[boxed]
    pub async fn delete_view(&self, target: &Target, id: Id) -> Result<()> {
        let gone = || Error::not_found("there is no such view");
        let caller = self.principal.id;
        let (located, row) = self.view(target, move |reader, _| saved_view::find(reader, id)).await?;
        let row = row.filter(|row| row.library_id == located.node().library_id).ok_or_else(gone)?;
        let shared = row.owner_id.is_none();
        if !shared && row.owner_id != caller {
            return Err(gone());
        }
        let guard = self.view_guard(&located, shared)?;
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            saved_view::delete(transaction, id)?;
            if shared {
                guard.record(transaction, row.library_id, "view.delete", row.name.as_str())?;
            }
            Ok(())
        };
        guard.write(write).await
    }
}

//! Saved views of libraries: per user or shared by all users of a library. The web pages define the content of a view;
//! here it is opaque text, apart from the columns that it names.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::column::ColumnRow;
use database::content::saved_view::{self, SavedViewRow};
use model::{Code, Error, FormulaColumn, Id, Name, Result};

use crate::content::libraries::Library;
use crate::items::condition;
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

/// Returns the query of a view for a copy of its library or list: with the copies of its columns, which `copy` returns.
/// A condition that cannot be read is left out.
pub(crate) fn over_columns(query: &str, columns: &[ColumnRow], copy: &dyn Fn(Id) -> Id) -> String {
    let word = |word: &str| word.parse().map_or_else(|_| word.to_owned(), |id| copy(id).to_string());
    let words = |words: &str| {
        let each = words.split(',').map(|one| match one.split_once(':') {
            Some((column, further)) => format!("{}:{further}", word(column)),
            None => word(one),
        });
        each.collect::<Vec<_>>().join(",")
    };
    let known: Vec<_> =
        columns.iter().map(|column| FormulaColumn { id: column.id, name: &column.name, kind: &column.kind }).collect();
    let mut written = form_urlencoded::Serializer::new(String::new());
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*key {
            "sort" => written.append_pair(&key, &word(&value)),
            "cols" | "totals" => written.append_pair(&key, &words(&value)),
            "filter" => match condition::parse(&value, &known) {
                Ok(formula) => written.append_pair(&key, &formula.over(copy).stored()),
                Err(_) => &mut written,
            },
            _ => match key.strip_prefix("f-") {
                Some(column) => written.append_pair(&format!("f-{}", word(column)), &value),
                None => written.append_pair(&key, &value),
            },
        };
    }
    written.finish()
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
                folded,
                query: view.query.clone(),
                standard: view.standard,
            };
            saved_view::put(transaction, &row)?;
            if view.shared {
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

#[cfg(test)]
mod tests {
    use model::ColumnKind;

    use super::*;

    #[test]
    fn a_view_follows_the_copies_of_its_columns() {
        let column = |id: i64, name: &str, kind| ColumnRow {
            id: Id::new(id),
            library_id: Id::new(1),
            content_type_id: None,
            name: name.to_owned(),
            folded: name.to_lowercase(),
            kind,
            required: false,
            position: 0,
            slot: id,
            role: None,
            options: String::new(),
        };
        let columns = [column(7, "Due", ColumnKind::Date), column(8, "Effort", ColumnKind::Number)];
        let copy = |id: Id| if id.get() < 10 { Id::new(id.get() + 100) } else { id };
        let over = |query: &str| over_columns(query, &columns, &copy);
        assert_eq!(
            over("sort=7&as=grid&order=descending&f-8=7&filter=%5B%238%5D+%3E+7&cols=7:120,modified,8&totals=8:sum"),
            "sort=107&as=grid&order=descending&f-108=7&filter=%5B%23108%5D+%3E+7&cols=107%3A120%2Cmodified%2C108\
             &totals=108%3Asum"
        );
        assert_eq!(over("sort=name&name=7"), "sort=name&name=7");
        assert_eq!(over("sort=modified&filter=broken("), "sort=modified");
    }
}

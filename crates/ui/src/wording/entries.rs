//! Entries of lists in the fields of lookup columns.

use model::{Error, ErrorKind, Id, Result};
use repository::{EntryName, Item, ListRequest, Session, Target};

/// Number of suggestions for a field.
const SUGGESTED: usize = 200;

/// Returns suggestions for a field that takes an entry of a list: the newest ones; none for a list that the caller may
/// not open.
pub async fn suggestions(session: &Session, list: Id) -> Result<Vec<String>> {
    let request = ListRequest { descending: true, limit: SUGGESTED, ..ListRequest::default() };
    match session.list_filtered(&Target::Id(list), request).await {
        Ok(found) => Ok(found.page.items.iter().map(typed).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn typed(row: &Item) -> String {
    EntryName::new(row.title.as_deref(), &row.name).typed()
}

/// Returns the lists whose entries a new column of a library or list can take: those of its site.
pub async fn lists(session: &Session, holder: &Item) -> Result<Vec<Item>> {
    let way = session.item_with_ancestors(&Target::Id(holder.id)).await?;
    let site = way.iter().rev().nth(1).ok_or_else(|| Error::not_found("there is nothing at this address"))?;
    let (_, below) = session.list(&Target::Id(site.id), repository::Sort::Name, false, None, model::MAX_PAGE).await?;
    Ok(below.items.into_iter().filter(|item| item.kind == model::NodeKind::List).collect())
}

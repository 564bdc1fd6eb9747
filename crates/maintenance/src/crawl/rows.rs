//! The entries of the search index for rows of lists. A row is read from the database alone, so many are read and
//! written at once.

use std::collections::HashMap;
use std::time::Duration;

use database::Reader;
use database::content::node::{self, NodeRow};
use database::content::{feed, record};
use model::{ColumnValue, ErrorKind, Id, NodeKind, Result};
use repository::indexed_versions;
use search::index::{Entry, EntryKind};

use super::entries::is_reachable;
use super::follow::Follower;

/// Rows that are read at once. One has 256 KiB at most.
const AT_ONCE: usize = 100;

impl Follower {
    /// Writes rows, as they are now. Commits at this interval.
    pub(super) async fn write_rows(&mut self, rows: &[NodeRow], commit: Duration) -> Result<()> {
        for rows in rows.chunks(AT_ONCE) {
            let ids: Vec<Id> = rows.iter().map(|row| row.id).collect();
            let read = move |reader: &mut Reader<'_>| undamaged(reader, &ids);
            let entries = self.database.database.read(read).await?;
            self.replace_all(entries).await?;
            self.commit_if_due(commit).await?;
        }
        Ok(())
    }
}

/// Returns the entries of rows, without those of damaged rows, so that the entries that they have stay.
fn undamaged(reader: &mut Reader<'_>, ids: &[Id]) -> Result<Vec<(Id, Vec<Entry>)>> {
    match entries(reader, ids) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {}
        read => return read,
    }
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        match entries(reader, &[*id]) {
            Ok(mut read) => all.append(&mut read),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                metrics::counter!("strongroom_search_index_failures_total").increment(1);
                let (row, error) = (id.get(), error.report());
                tracing::warn!(row, error, "a row of a list cannot be indexed, because it is damaged");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Returns the entries of rows: one for each, none for those that are gone or in recycle bins, and for those without a
/// title and values.
fn entries(reader: &mut Reader<'_>, ids: &[Id]) -> Result<Vec<(Id, Vec<Entry>)>> {
    let own = feed::own_scopes(reader, ids)?;
    let (mut lists, mut found): (HashMap<Id, Vec<NodeRow>>, HashMap<Id, Vec<Entry>>) = Default::default();
    for row in node::find_many(reader, ids)? {
        if row.kind == NodeKind::Row {
            lists.entry(row.parent_id).or_default().push(row);
        }
    }
    for (list, rows) in lists {
        if !is_reachable(reader, list)? {
            continue;
        }
        let ids: Vec<Id> = rows.iter().map(|row| row.id).collect();
        let mut values: HashMap<Id, Vec<(Id, ColumnValue)>> = HashMap::new();
        for (row, column, value) in record::each_value_of_many(reader, &ids, list)? {
            values.entry(row).or_default().push((column, value));
        }
        for row in rows {
            let place = if own.contains(&row.id) { row.id } else { list };
            let entry = entry(&row, place, values.remove(&row.id).unwrap_or_default());
            found.entry(row.id).or_default().extend(entry);
        }
    }
    Ok(ids.iter().map(|id| (*id, found.remove(id).unwrap_or_default())).collect())
}

/// Returns whether a row has something to find it by.
pub(super) fn is_findable(row: &NodeRow, values: &[(Id, ColumnValue)]) -> bool {
    row.title.as_deref().is_some_and(|title| !title.is_empty()) || !values.is_empty()
}

/// Returns the entry of a row with these values; `None` if there is nothing to find it by.
fn entry(row: &NodeRow, place: Id, values: Vec<(Id, ColumnValue)>) -> Option<Entry> {
    let indexed = indexed_versions(row).into_iter().next().filter(|_| is_findable(row, &values))?;
    let (title, text) = (row.title.clone().unwrap_or_default(), text(row, &values));
    Some(Entry {
        kind: EntryKind::Row,
        node: row.id,
        version: indexed.version,
        collection: row.collection_id,
        place,
        audience: indexed.audience,
        author: row.created_by,
        editor: row.modified_by,
        holder: indexed.holder,
        checked_out_by: row.holder_id.unwrap_or(Id::NONE),
        created: row.created_at,
        modified: row.modified_at,
        size: (title.len() + text.len()) as u64,
        name: row.shown_name().to_owned(),
        title,
        stated_author: String::new(),
        text,
        library: row.library_id,
        values,
        fault: None,
    })
}

/// Returns the texts of a row in the order of its columns, a line for each, without the one that is its title.
fn text(row: &NodeRow, values: &[(Id, ColumnValue)]) -> String {
    let texts = values.iter().filter_map(|(_, value)| match value {
        ColumnValue::Text(text) => Some(text.as_str()),
        // Whether the reader may see the name of a person or of an entry is known only when the row is shown.
        ColumnValue::Number(_)
        | ColumnValue::Date(_)
        | ColumnValue::Person(_)
        | ColumnValue::YesNo(_)
        | ColumnValue::Lookup(_)
        | ColumnValue::Multiple(_) => None,
    });
    let mut has_title = false;
    let texts = texts.filter(|text| {
        let is_title = !has_title && row.title.as_deref() == Some(*text);
        has_title |= is_title;
        !is_title
    });
    texts.collect::<Vec<_>>().join("\n")
}

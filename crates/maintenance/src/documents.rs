//! Paths of documents, for messages about damaged or missing bytes.

use std::collections::BTreeMap;

use async_recursion::async_recursion as boxed;
use database::configuration::site_collection;
use database::content::{blob, node};
use database::{Database, Reader};
use model::{Digest, Id, Result};

/// Addresses of site collections by identifier.
pub(crate) struct Addresses(BTreeMap<Id, String>);

impl Addresses {
    /// Reads the addresses from a configuration database.
    #[boxed]
    pub async fn read(configuration: &Database) -> Result<Self> {
        let rows = configuration.read_long(|reader: &mut Reader<'_>| site_collection::list(reader)).await?;
        Ok(Self(rows.into_iter().map(|row| (row.id, row.path)).collect()))
    }

    /// Returns at most `limit` documents of a content database that have a version with these bytes, each as
    /// `"site/library/path"`.
    #[boxed]
    pub async fn of(&self, database: &Database, digest: Digest, limit: usize) -> Result<Vec<String>> {
        let find = move |reader: &mut Reader<'_>| blob::documents_of(reader, &digest, limit);
        let mut documents = Vec::new();
        for (id, _) in database.read_long(find).await? {
            documents.push(self.path(database, id).await?);
        }
        Ok(documents)
    }

    /// Returns the path of a document in quotation marks.
    #[boxed]
    pub async fn path(&self, database: &Database, document: Id) -> Result<String> {
        let climb = move |reader: &mut Reader<'_>| {
            let (mut names, mut at) = (Vec::new(), document);
            loop {
                // A deleted item belongs to a recycle-bin entry, not to a parent.
                let Some(row) = node::find(reader, at)? else { return Ok((names, None)) };
                if row.parent_id == Id::NONE {
                    return Ok((names, Some(row.id)));
                }
                names.push(row.name);
                at = row.parent_id;
            }
        };
        let (mut names, site) = database.read_long(climb).await?;
        names.extend(site.and_then(|site| self.0.get(&site)).filter(|address| !address.is_empty()).cloned());
        names.reverse();
        let bin = if site.is_some() { "" } else { " (deleted, in a recycle bin)" };
        Ok(format!("\"{}\"{bin}", names.join("/")))
    }
}

/// Joins documents into a list for a message, or returns `none` when there are no documents.
pub(crate) fn listed(documents: &[String], none: &str) -> String {
    if documents.is_empty() { none.to_owned() } else { documents.join(", ") }
}

//! The pages of a template. Their bytes are made durable before the transaction that makes the documents.

use std::collections::HashMap;

use database::Transaction;
use database::content::node::{self, NodeRow};
use database::content::version::{self, VersionRow};
use model::{Digest, Error, Id, Name, Result, Timestamp, VersionNumber};

use super::format::ListTemplate;
use crate::columns::fields;
use crate::documents::{PendingBlob, charge, media_type, needs_confirmation};
use crate::session::guard::{Checked, Guard};
use crate::session::locate::Located;
use crate::storage::placement::StorageChoice;

/// The texts of pages, ready for a transaction.
#[derive(Clone, Default)]
pub(super) struct PageTexts(HashMap<Digest, PendingBlob>);

/// A page to be made.
pub(super) struct PlannedPage {
    pub(super) node: NodeRow,
    pub(super) bytes: PendingBlob,
}

impl PageTexts {
    /// Stores the texts of all pages of these lists in a language, where documents of the site collection go.
    pub(super) async fn store(
        located: &Located,
        guard: &Guard,
        lists: &[ListTemplate],
        language: &str,
    ) -> Result<Self> {
        let mut texts = HashMap::new();
        for page in lists.iter().flat_map(|list| &list.pages) {
            let text = page.text.in_language(language);
            let digest = digest_of(text);
            if texts.contains_key(&digest) {
                continue;
            }
            let name = page.name.in_language(language);
            // The library has no policy of its own yet.
            let placement =
                StorageChoice::decide(&located.registry, &located.content, located.collection.id, Id::NONE, name)?;
            let bytes = text.as_bytes().to_vec().into();
            texts.insert(digest, PendingBlob::put(guard, &located.content, &placement, bytes).await?);
        }
        Ok(Self(texts))
    }

    /// Returns the bytes of a text.
    pub(super) fn of(&self, text: &str) -> Result<PendingBlob> {
        let found = self.0.get(&digest_of(text)).cloned();
        found.ok_or_else(|| Error::corrupt("the text of a page of a template was not stored"))
    }

    /// Returns whether a transaction that was refused may be tried again, after making sure of the bytes.
    pub(super) async fn may_retry(
        &self,
        error: &Error,
        attempt: u32,
        guard: &Guard,
        located: &Located,
    ) -> Result<bool> {
        let mut may = false;
        for bytes in self.0.values() {
            may |= bytes.may_retry(error, attempt, guard, &located.content).await?;
            if may && !needs_confirmation(error) {
                break;
            }
        }
        Ok(may)
    }
}

/// Makes the documents, each with one published version.
pub(super) fn store(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    checked: &Checked,
    pages: Vec<PlannedPage>,
    now: Timestamp,
) -> Result<()> {
    if pages.is_empty() {
        return Ok(());
    }
    let (mut nodes, mut versions) = (Vec::with_capacity(pages.len()), Vec::with_capacity(pages.len()));
    let mut size = 0;
    for PlannedPage { mut node, bytes } in pages {
        let reference = bytes.reference(transaction, guard.next_id(), now)?;
        let stored = VersionRow {
            id: guard.next_id(),
            node_id: node.id,
            blob_id: reference.id,
            number: VersionNumber::new(1, 0),
            working: false,
            size: bytes.size(),
            media_type: media_type(&Name::new(&node.name)?, None),
            created_at: now,
            created_by: guard.caller(),
            modified_at: now,
            comment: String::new(),
            digest: reference.digest,
            store_id: reference.store_id,
            locator: reference.locator,
        };
        node.size = stored.size;
        node.media_type.clone_from(&stored.media_type);
        node.version_id = Some(stored.id);
        node.published_id = Some(stored.id);
        node.number = stored.number;
        size += stored.size;
        nodes.push(node);
        versions.push(stored);
    }
    node::insert_many(transaction, &nodes)?;
    for stored in &versions {
        version::insert(transaction, stored)?;
    }
    for node in &nodes {
        fields::give_defaults(transaction, guard, node)?;
    }
    let collection = &checked.collection;
    charge(transaction, guard, collection.quota_bytes, collection.id, size, nodes.len() as i64)
}

fn digest_of(text: &str) -> Digest {
    Digest::new(*blake3::hash(text.as_bytes()).as_bytes())
}

//! Texts that an index in a directory keeps for passages.

use model::{Id, Result};
use tantivy::schema::{IndexRecordOption, TantivyDocument, Value};
use tantivy::{DocAddress, DocSet, TERMINATED, Term};

use super::error::index_failed;
use super::view::LocalView;

impl LocalView {
    /// Returns the kept text of an entry in its stored form.
    pub(crate) fn packed(&self, address: DocAddress) -> Result<Vec<u8>> {
        let document: TantivyDocument = self.searcher.doc(address).map_err(index_failed)?;
        let packed = document.get_first(self.fields.body).and_then(|value| value.as_bytes());
        Ok(packed.map(<[u8]>::to_vec).unwrap_or_default())
    }

    /// Returns the address of the entry for a version of a document.
    pub(crate) fn entry_of(&self, node: Id, version: Id) -> Result<Option<DocAddress>> {
        self.address_of(node, version).map_err(index_failed)
    }

    fn address_of(&self, node: Id, version: Id) -> tantivy::Result<Option<DocAddress>> {
        let wanted = Term::from_field_i64(self.fields.node, node.get());
        for (ordinal, (segment, columns)) in (0..).zip(self.segments()?) {
            let index = segment.inverted_index(self.fields.node)?;
            let Some(mut found) = index.read_postings(&wanted, IndexRecordOption::Basic)? else { continue };
            while found.doc() != TERMINATED {
                let doc = found.doc();
                if !segment.is_deleted(doc) && columns.version(doc) == version {
                    return Ok(Some(DocAddress::new(ordinal, doc)));
                }
                found.advance();
            }
        }
        Ok(None)
    }
}

//! The passages of one document that match a query.

use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::Reader;
use model::{NodeKind, Result, Timestamp};
use search::index::{Clock, Passage, PassageFinder};
use search::query::{SearchQuery, Tolerance};

use super::request::{TextSearch, checked_length};
use crate::{Session, Target};

/// Limit on the passages of a document.
const MAX_PASSAGES: usize = 20;
/// Time limit.
const PASSAGES_TIMEOUT: Duration = Duration::from_millis(150);

/// The passages of a document that match a query.
#[derive(Clone, Debug, Default)]
pub struct DocumentPassages {
    /// In the order of the text, at most 20.
    pub passages: Vec<Passage>,
    /// True if there are more.
    pub more: bool,
    /// `Incomplete` if the version that the caller sees is not indexed yet, or if time was up; `Unavailable` if the
    /// index cannot be used.
    pub texts: TextSearch,
    /// True if the site records who reads its documents. Then there are no passages, because they are a part of the
    /// content.
    pub is_withheld: bool,
}

impl Session {
    /// Returns the passages of a document with the words of a query, in the version that the caller sees. Only the
    /// beginning of the text that the index keeps is searched. Similar words are marked if no word of the query itself
    /// is there.
    ///
    /// # Errors
    /// `NotFound` when the caller may not open the document; `Conflict` for another item; `Invalid` when the text is
    /// longer than [`crate::MAX_QUERY_CHARS`].
    #[boxed]
    pub async fn passages(&self, target: &Target, text: &str) -> Result<DocumentPassages> {
        let (located, version) = self
            .view(target, |_, located| {
                located.require_kind(NodeKind::Document)?;
                Ok(located.visible_version(located.node()))
            })
            .await?;
        checked_length(text)?;
        let columns = self.columns_in(text).await?.known();
        let query = SearchQuery::parse_with(text, Timestamp::now(), &self.zone, &columns);
        if located.collection.audit_reads {
            return Ok(DocumentPassages { is_withheld: true, ..DocumentPassages::default() });
        }
        let (node, database) = (located.node().id, located.content.row.id);
        let Some(index) = self.repository.inner.search.of(database) else {
            return Ok(DocumentPassages { texts: TextSearch::Unavailable, ..DocumentPassages::default() });
        };
        let Some(version) = version.filter(|_| query.expression.is_some()) else {
            return Ok(DocumentPassages::default());
        };
        // The index is read by a thread for long reads, whose number is limited. The text of a version never changes.
        let look = move |_: &mut Reader<'_>| {
            let view = match index.newest() {
                Ok(view) => view,
                Err(error) => return Ok(Err(error)),
            };
            let clock = Clock::new(Instant::now() + view.time_limit(PASSAGES_TIMEOUT));
            // Its text could not be read yet.
            match view.waits_for_text_of(node, version, &clock) {
                Ok(false) => {}
                Ok(true) => return Ok(Ok(None)),
                Err(error) => return Ok(Err(error)),
            }
            let find = |tolerance| {
                let mut finder = PassageFinder::new(&view, &query, tolerance, clock.clone())?;
                finder.passages((node, version), MAX_PASSAGES)
            };
            Ok(match find(Tolerance::Exact) {
                Ok(Some(found)) if found.passages.is_empty() && query.benefits_from(Tolerance::Similar) => {
                    find(Tolerance::Similar)
                }
                found => found,
            })
        };
        let found = located.content.database.read_long(look).await?;
        Ok(match found {
            Ok(Some(found)) => DocumentPassages {
                passages: found.passages,
                more: found.more,
                texts: if found.whole { TextSearch::Complete } else { TextSearch::Incomplete },
                is_withheld: false,
            },
            Ok(None) => DocumentPassages { texts: TextSearch::Incomplete, ..DocumentPassages::default() },
            Err(error) => {
                self.repository.inner.search.note_error(database, &error);
                tracing::warn!(
                    database = located.content.row.name,
                    error = error.report(),
                    "passages of a document were not looked up, because the search index cannot be read"
                );
                DocumentPassages { texts: TextSearch::Unavailable, ..DocumentPassages::default() }
            }
        })
    }
}

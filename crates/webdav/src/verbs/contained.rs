//! The documents whose contents have the words of a query. They are looked up once, before items are judged.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use model::{Id, Result};
use repository::{Containing, Item, Session};

use crate::wire::query::Query;

/// The documents that contain the texts of a query.
#[derive(Default)]
pub struct Contained(HashMap<String, Documents>);

struct Documents {
    /// The best first.
    ordered: Vec<Id>,
    set: HashSet<Id>,
    is_complete: bool,
}

impl From<Containing> for Documents {
    fn from(found: Containing) -> Self {
        let set = found.documents.iter().copied().collect();
        Self { ordered: found.documents, set, is_complete: found.is_complete }
    }
}

impl Contained {
    /// Looks up the texts of a query at an item and below it, until time is up.
    pub async fn of(session: &Session, query: &Query, top: &Item, until: Instant) -> Result<Self> {
        let mut found = HashMap::new();
        for text in query.condition.iter().flat_map(|condition| condition.contained()) {
            found.insert(text.to_owned(), session.containing(text, top, until).await?.into());
        }
        Ok(Self(found))
    }

    /// Returns whether all documents are known.
    pub fn is_complete(&self) -> bool {
        self.0.values().all(|documents| documents.is_complete)
    }

    /// Returns whether an item contains a text; `None` if that is not known.
    pub fn has(&self, text: &str, item: &Item) -> Option<bool> {
        if item.kind.is_container() {
            return Some(false);
        }
        let documents = self.0.get(text)?;
        (documents.is_complete || documents.set.contains(&item.id)).then(|| documents.set.contains(&item.id))
    }

    /// Returns the documents that are known to contain all of these texts, the best for the first of them first; `None`
    /// without a text.
    pub fn documents_with(&self, texts: &[&str]) -> Option<Vec<Id>> {
        let (first, others) = texts.split_first()?;
        let has_others =
            |id: &Id| others.iter().all(|text| self.0.get(*text).is_some_and(|found| found.set.contains(id)));
        let ordered = self.0.get(*first).map(|found| found.ordered.as_slice()).unwrap_or_default();
        Some(ordered.iter().copied().filter(has_others).collect())
    }
}

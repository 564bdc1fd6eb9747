//! Queries for properties of entries.

use std::collections::HashMap;
use std::sync::Arc;

use model::Id;
use tantivy::index::SegmentId;
use tantivy::query::doc_predicate_query::{DocPredicateQuery, FunctionPredicate};
use tantivy::query::{BoostQuery, Query};
use tantivy::{DocId, SegmentReader, TantivyError};

use super::columns::Columns;
use crate::index::clock::Clock;
use crate::index::entry::Audience;
use crate::query::{Filter, Status, ValueCondition};

/// Translates filters, for one search.
pub(super) struct Filters {
    columns: Arc<HashMap<SegmentId, Arc<Columns>>>,
    clock: Clock,
}

impl Filters {
    pub(super) fn new(columns: Arc<HashMap<SegmentId, Arc<Columns>>>, clock: Clock) -> Self {
        Self { columns, clock }
    }

    /// Returns a query for a property.
    pub(super) fn of(&self, filter: Filter) -> Box<dyn Query> {
        self.tested(move |columns| fits(&filter, columns))
    }

    /// Returns a query for entries with a value that fulfils the condition of its column.
    pub(super) fn values(&self, conditions: Vec<(Id, ValueCondition)>) -> Box<dyn Query> {
        let conditions = Arc::new(conditions);
        self.tested(move |columns| {
            let conditions = conditions.clone();
            Ok(Box::new(move |doc| columns.values(doc).any(|value| fits_key(&conditions, value))))
        })
    }

    /// Returns a query for entries that fit, without a score. It finds nothing once time is up.
    fn tested(&self, fits: impl Fn(Arc<Columns>) -> tantivy::Result<Fits> + Send + Sync + 'static) -> Box<dyn Query> {
        let (columns, clock) = (self.columns.clone(), self.clock.clone());
        let predicate = FunctionPredicate::from(move |segment: &SegmentReader| {
            let unknown = || TantivyError::InternalError("a segment of another view".to_owned());
            let columns = columns.get(&segment.segment_id()).ok_or_else(unknown)?;
            let (fits, clock) = (fits(columns.clone())?, clock.clone());
            Ok(move |doc: DocId| !clock.is_over() && fits(doc))
        });
        Box::new(BoostQuery::new(Box::new(DocPredicateQuery::from(predicate)), 0.0))
    }
}

/// Returns whether the key of a value fulfils the condition of its column.
fn fits_key(conditions: &[(Id, ValueCondition)], (column, key): (Id, u64)) -> bool {
    conditions.iter().any(|(of, condition)| {
        *of == column
            && match condition {
                ValueCondition::Between(keys) => keys.contains(&key),
                ValueCondition::OneOf(keys) => keys.contains(&key),
                ValueCondition::Words(_) => false,
            }
    })
}

type Fits = Box<dyn Fn(DocId) -> bool + Send + Sync>;

/// Returns a function that tells which entries of a segment fit.
fn fits(filter: &Filter, columns: Arc<Columns>) -> tantivy::Result<Fits> {
    Ok(match filter.clone() {
        Filter::Extension(extensions) => {
            let mut numbers = Vec::new();
            for extension in &extensions {
                numbers.extend(columns.number_of(extension)?);
            }
            Box::new(move |doc| columns.extension(doc).is_some_and(|number| numbers.contains(&number)))
        }
        Filter::Size(sizes) => Box::new(move |doc| sizes.contains(&columns.size(doc))),
        Filter::Created(time) => Box::new(move |doc| time.contains(&columns.created(doc))),
        Filter::Modified(time) => Box::new(move |doc| time.contains(&columns.modified(doc))),
        Filter::Author(people) => Box::new(move |doc| people.contains(&columns.author(doc))),
        Filter::Editor(people) => Box::new(move |doc| people.contains(&columns.editor(doc))),
        Filter::NotSeen(seen) => Box::new(move |doc| !seen.has(columns.version(doc), columns.modified(doc))),
        Filter::Documents(documents) => Box::new(move |doc| documents.contains(&columns.node(doc))),
        Filter::Within(within) => Box::new(move |doc| within.0(columns.position(doc))),
        Filter::Language(language) => Box::new(move |doc| columns.language(doc) == Some(language.number())),
        Filter::Status(Status::Draft) => Box::new(move |doc| columns.audience(doc) == Some(Audience::Draft)),
        Filter::CheckedOut(now) => {
            Box::new(move |doc| now.0(columns.node(doc)).unwrap_or_else(|| columns.is_checked_out(doc)))
        }
        Filter::Reference(_) | Filter::Column(_) | Filter::Values(_) | Filter::Status(_) => Box::new(|_| false),
    })
}

//! The meaning of names in a query: people, sites, libraries and folders that the caller knows.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use model::{ErrorKind, Id, NodeKind, PrincipalKind, Result, fold};
use search::query::{
    CheckOuts, ColumnCondition, Expression, Filter, Position, QueryWord, Reference, ReferenceKind, Remark,
    RemarkReason, SearchQuery, Sought, Status, ValuesFilter, Within, WordField,
};

use super::caller_admission::CallerAdmission;
use super::columns::NamedColumns;
use crate::items::item::Item;
use crate::people::PrincipalName;
use crate::{Session, Target};

/// Limit on the people whom one name stands for.
const MAX_PEOPLE: usize = 20;

/// People and containers for which the names in a query stand.
#[derive(Clone, Default)]
pub(super) struct Meanings {
    people: HashMap<Reference, Vec<Id>>,
    containers: HashMap<Reference, Vec<Id>>,
    columns: NamedColumns,
    /// The people for whom the names in conditions on columns stand.
    in_columns: HashMap<String, Vec<Id>>,
    /// True if documents are asked for that the caller follows.
    pub(super) asks_for_followed: bool,
    /// True if a content database did not answer, so that a name may have more meanings.
    pub(super) is_incomplete: bool,
}

impl Meanings {
    /// Looks up the names in a query. Adds a remark for each that nothing within the caller's reach has.
    pub(super) async fn of(
        session: &Session,
        text: &str,
        query: &mut SearchQuery,
        columns: NamedColumns,
    ) -> Result<Self> {
        let mut meanings = Self { columns, ..Self::default() };
        meanings.is_incomplete = !meanings.columns.missing.is_empty();
        meanings.look_up_filters(session, text, query).await?;
        for reference in query.references() {
            let is_known = match reference.kind {
                ReferenceKind::Author | ReferenceKind::Creator | ReferenceKind::Editor => {
                    let people = people(session, &reference.name).await?;
                    let is_known = !people.is_empty() || reference.kind == ReferenceKind::Author;
                    meanings.people.insert(reference.clone(), people);
                    is_known
                }
                ReferenceKind::Site | ReferenceKind::Library | ReferenceKind::Container => {
                    let Named { containers, is_incomplete } = containers(session, &reference).await?;
                    meanings.is_incomplete |= is_incomplete;
                    let is_known = !containers.is_empty() || is_incomplete;
                    meanings.containers.insert(reference.clone(), containers);
                    is_known
                }
            };
            if !is_known {
                Remark::add(&mut query.remarks, RemarkReason::UnknownName, text, reference.range);
            }
        }
        Ok(meanings)
    }

    /// Looks up the people in conditions on columns, and notes what else the query asks for.
    async fn look_up_filters(&mut self, session: &Session, text: &str, query: &mut SearchQuery) -> Result<()> {
        let mut conditions = Vec::new();
        query.each(|part, _| match part {
            Expression::Filter(Filter::Column(condition)) => conditions.push(condition.clone()),
            Expression::Filter(Filter::Status(Status::Followed)) => self.asks_for_followed = true,
            _ => {}
        });
        for condition in conditions {
            let Some(name) = &condition.person else { continue };
            if !self.in_columns.contains_key(name) {
                self.in_columns.insert(name.clone(), people(session, name).await?);
            }
            let people = &self.in_columns[name];
            if !self.columns.kinds(&condition.name).any(|kind| condition.of_kind(kind, people).is_some()) {
                Remark::add(&mut query.remarks, RemarkReason::UnknownName, text, condition.range);
            }
        }
        Ok(())
    }

    /// Limits a query to an item and what lies below it.
    pub(super) fn limit(&mut self, query: &mut SearchQuery, item: &Item) {
        let id = item.id;
        let filter = if item.kind.is_leaf() {
            Filter::Documents(Arc::new(HashSet::from([id])))
        } else {
            // No name in a query has an empty range.
            let reference = Reference { kind: ReferenceKind::Container, name: id.to_string(), range: 0..0 };
            self.containers.insert(reference.clone(), vec![id]);
            Filter::Reference(reference)
        };
        let filter = Expression::Filter(filter);
        query.expression = query.expression.take().map(|expression| match expression {
            Expression::All(mut parts) => {
                parts.push(filter);
                Expression::All(parts)
            }
            expression => Expression::All(vec![expression, filter]),
        });
    }

    /// Returns the query with what the names stand for in a content database, in which the caller follows these
    /// documents.
    pub(super) fn resolve(
        &self,
        query: &SearchQuery,
        admission: &CallerAdmission,
        database: Id,
        followed: &Arc<HashSet<Id>>,
    ) -> SearchQuery {
        let mut resolved = HashMap::with_capacity(self.people.len() + self.containers.len());
        for (reference, people) in &self.people {
            let meaning = match reference.kind {
                // Documents also state their authors themselves.
                ReferenceKind::Author => {
                    let by = Expression::Filter(Filter::Author(people.clone()));
                    Expression::Any(std::iter::once(by).chain(stated(&reference.name)).collect())
                }
                ReferenceKind::Creator => Expression::Filter(Filter::Author(people.clone())),
                _ => Expression::Filter(Filter::Editor(people.clone())),
            };
            resolved.insert(reference.clone(), meaning);
        }
        for (reference, containers) in &self.containers {
            let (places, unindexed, containers) =
                (admission.places.clone(), admission.unindexed.clone(), containers.clone());
            let unknown = admission.unknown.clone();
            let is_within = move |position: Position| {
                if containers.is_empty() {
                    return false;
                }
                let place = unindexed.changed_place(position.node).unwrap_or(position.place);
                if let Err(place) = places.scope(position.collection, place) {
                    unknown.add(place);
                }
                places.upward(position.collection, place).any(|above| containers.contains(&above))
            };
            let within = Within(Arc::new(is_within));
            resolved.insert(reference.clone(), Expression::Filter(Filter::Within(within)));
        }
        let mut query = query.clone();
        query.resolve(&resolved);
        let is_current = are_current(admission);
        query.replace_filters(|filter| match filter {
            Filter::Column(condition) => Some(Filter::Values(self.values(condition, &is_current, database))),
            Filter::Status(Status::Mine) => Some(Filter::Author(vec![admission.principal.id])),
            Filter::Status(Status::Followed) => Some(Filter::Documents(followed.clone())),
            Filter::Status(Status::CheckedOut) => {
                let unindexed = admission.unindexed.clone();
                Some(Filter::CheckedOut(CheckOuts(Arc::new(move |node| unindexed.is_checked_out(node)))))
            }
            _ => None,
        });
        query
    }

    /// Returns the columns for which a condition stands.
    fn values(&self, condition: &ColumnCondition, is_current: &Within, database: Id) -> ValuesFilter {
        let people = condition.person.as_ref().and_then(|name| self.in_columns.get(name));
        let people = people.map(Vec::as_slice).unwrap_or_default();
        let named = self.columns.of(database).iter().filter(|column| column.name == condition.name);
        let conditions = named.filter_map(|column| Some((column.id, condition.of_kind(&column.kind, people)?)));
        ValuesFilter { conditions: conditions.collect(), is_current: is_current.clone() }
    }
}

/// Returns a test whether the indexed values of a document are those that it has now. Others fulfil no condition.
fn are_current(admission: &CallerAdmission) -> Within {
    let (places, unindexed, unknown) =
        (admission.places.clone(), admission.unindexed.clone(), admission.unknown.clone());
    Within(Arc::new(move |position: Position| {
        if unindexed.has_other_values(position.node) {
            return false;
        }
        let place = unindexed.changed_place(position.node).unwrap_or(position.place);
        if let Err(place) = places.scope(position.collection, place) {
            unknown.add(place);
        }
        places.upward(position.collection, place).any(|above| above == position.library)
    }))
}

/// Limit on the words of a name that are looked for.
const MAX_NAME_WORDS: usize = 8;

/// Returns the words of a name, as documents state their authors. More than [`MAX_NAME_WORDS`] are left out.
fn stated(name: &str) -> Option<Expression> {
    let mut words = QueryWord::all_of(name);
    words.truncate(MAX_NAME_WORDS);
    let is_sought = !words.is_empty() && !is_caller(name);
    is_sought.then_some(Expression::Words(WordField::StatedAuthor, Sought::Phrase { words, gap: 1 }))
}

/// Returns whether a name stands for the caller.
fn is_caller(name: &str) -> bool {
    matches!(fold(name).as_str(), "me" | "ich" | "mir")
}

/// Returns the people with this login or name, or else with a login, or a word of a name, that begins like it.
async fn people(session: &Session, name: &str) -> Result<Vec<Id>> {
    if is_caller(name) {
        return Ok(vec![session.principal.id]);
    }
    let mut found = session.search_principals(name, MAX_PEOPLE).await?;
    found.retain(|found| found.kind == PrincipalKind::User);
    let wanted = fold(name);
    let is_exact = |found: &PrincipalName| {
        found.login.as_deref().is_some_and(|login| fold(login) == wanted) || fold(&found.name) == wanted
    };
    if found.iter().any(is_exact) {
        found.retain(is_exact);
    }
    Ok(found.into_iter().map(|found| found.id).collect())
}

/// The containers that a name stands for.
struct Named {
    containers: Vec<Id>,
    /// True if a content database did not answer.
    is_incomplete: bool,
}

/// Returns the containers at a path, or with a name.
async fn containers(session: &Session, reference: &Reference) -> Result<Named> {
    let is_kind = |kind: NodeKind| match reference.kind {
        ReferenceKind::Site => kind == NodeKind::Site,
        ReferenceKind::Library => kind.defines_columns(),
        _ => kind.is_container(),
    };
    let mut is_incomplete = false;
    if let Ok(target) = Target::path(reference.name.trim_matches('/')) {
        match session.item(&target).await {
            Ok(item) if is_kind(item.kind) => return Ok(Named { containers: vec![item.id], is_incomplete }),
            Ok(_) => {}
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::Invalid | ErrorKind::Forbidden => {}
                ErrorKind::Unavailable => is_incomplete = true,
                _ => return Err(error),
            },
        }
    }
    let (found, missing) = session.containers_named(&reference.name).await?;
    let containers = found.into_iter().filter(|(_, kind)| is_kind(*kind)).map(|(id, _)| id).collect();
    Ok(Named { containers, is_incomplete: is_incomplete || !missing.is_empty() })
}

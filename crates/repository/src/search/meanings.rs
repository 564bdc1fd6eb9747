//! The meaning of names in a query: people, sites, libraries and folders that the caller knows.

use std::collections::HashMap;
use std::sync::Arc;

use model::{ErrorKind, Id, NodeKind, PrincipalKind, Result, fold};
use search::query::{
    Expression, Filter, QueryWord, Reference, ReferenceKind, Remark, RemarkReason, SearchQuery, Sought,
};
use search::query::{Position, Within, WordField};

use super::places::Places;
use super::tail::Tail;
use crate::{MAX_FOUND, Session, Target};

/// Limit on the people whom one name stands for.
const MAX_PEOPLE: usize = 20;

/// What the names in a query stand for.
#[derive(Clone, Default)]
pub(super) struct Meanings {
    people: HashMap<Reference, Vec<Id>>,
    containers: HashMap<Reference, Vec<Id>>,
}

impl Meanings {
    /// Looks up the names in a query. Adds a remark for each that nothing within the caller's reach has.
    pub(super) async fn of(session: &Session, text: &str, query: &mut SearchQuery) -> Result<Self> {
        let mut meanings = Self::default();
        for reference in query.references() {
            let is_known = match reference.kind {
                ReferenceKind::Author | ReferenceKind::Editor => {
                    let people = people(session, &reference.name).await?;
                    let is_known = !people.is_empty() || reference.kind == ReferenceKind::Author;
                    meanings.people.insert(reference.clone(), people);
                    is_known
                }
                ReferenceKind::Site | ReferenceKind::Library | ReferenceKind::Container => {
                    let containers = containers(session, &reference).await?;
                    let is_known = !containers.is_empty();
                    meanings.containers.insert(reference.clone(), containers);
                    is_known
                }
            };
            if !is_known {
                let start = text.find(&reference.name).unwrap_or_default();
                let range = start..(start + reference.name.len()).min(text.len());
                query.remarks.push(Remark { range, reason: RemarkReason::UnknownName, text: reference.name.clone() });
            }
        }
        Ok(meanings)
    }

    /// Returns the query with what the names stand for.
    pub(super) fn resolve(&self, query: &SearchQuery, places: &Arc<Places>, tail: &Arc<Tail>) -> SearchQuery {
        let mut resolved = HashMap::with_capacity(self.people.len() + self.containers.len());
        for (reference, people) in &self.people {
            let meaning = match reference.kind {
                // Documents also state their authors themselves.
                ReferenceKind::Author => {
                    let by = Expression::Filter(Filter::Author(people.clone()));
                    Expression::Any(std::iter::once(by).chain(stated(&reference.name)).collect())
                }
                _ => Expression::Filter(Filter::Editor(people.clone())),
            };
            resolved.insert(reference.clone(), meaning);
        }
        for (reference, containers) in &self.containers {
            let (places, tail, containers) = (places.clone(), tail.clone(), containers.clone());
            let is_within = move |position: Position| {
                let place = tail.changed_place(position.node).unwrap_or(position.place);
                places.upward(position.collection, place).any(|above| containers.contains(&above))
            };
            let within = Within(Arc::new(is_within));
            resolved.insert(reference.clone(), Expression::Filter(Filter::Within(within)));
        }
        let mut query = query.clone();
        query.resolve(&resolved);
        query
    }
}

/// Returns the words of a name, as documents state their authors.
fn stated(name: &str) -> Option<Expression> {
    let words = QueryWord::all_of(name);
    (!words.is_empty()).then_some(Expression::Words(WordField::Writer, Sought::Phrase { words, gap: 1 }))
}

/// Returns the people with a name or login that begins with the text. "me" is the caller.
async fn people(session: &Session, name: &str) -> Result<Vec<Id>> {
    if matches!(fold(name).as_str(), "me" | "ich" | "mir") {
        return Ok(vec![session.principal.id]);
    }
    let found = session.search_principals(name, MAX_PEOPLE).await?;
    Ok(found.into_iter().filter(|found| found.kind == PrincipalKind::User).map(|found| found.id).collect())
}

/// Returns the containers at a path, or with a name.
async fn containers(session: &Session, reference: &Reference) -> Result<Vec<Id>> {
    let is_kind = |kind: NodeKind| match reference.kind {
        ReferenceKind::Site => kind == NodeKind::Site,
        ReferenceKind::Library => kind == NodeKind::Library,
        _ => kind != NodeKind::Document,
    };
    if let Ok(target) = Target::path(reference.name.trim_matches('/')) {
        match session.item(&target).await {
            Ok(item) if is_kind(item.kind) => return Ok(vec![item.id]),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Invalid | ErrorKind::Forbidden) => {}
            Err(error) => return Err(error),
        }
    }
    let found = match session.search(&reference.name, MAX_FOUND).await {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::Invalid => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let wanted = fold(&reference.name);
    let named = |item: &&crate::Item| is_kind(item.kind) && fold(&item.name) == wanted;
    Ok(found.items.iter().filter(named).map(|item| item.id).collect())
}

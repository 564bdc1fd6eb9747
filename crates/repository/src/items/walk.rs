//! The walk behind a page of a listing: containers first, then documents along one index, group after group. A page
//! ends after an item that the caller may know of. Ending after a hidden item would let the caller learn its sort key
//! by comparison with items that the caller adds.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use database::Reader;
use database::content::node::NodeRow;
use database::content::sorted::{self, RowFilter, SortOrder};
use database::content::{listing, record};
use model::{Code, Error, Id, MAX_PAGE, NodeKind, Result, SortValue, Timestamp};

use crate::items::item::Item;
use crate::items::page::Page;
use crate::session::access::Access;
use crate::session::locate::Located;

use super::filter::Filter;
use super::order::{ListRequest, Order, Sort, SortKey};

/// Time after which a filtered walk stops with the items found so far.
const TIME: Duration = Duration::from_millis(150);
/// Number of items for which a condition is evaluated between two checks of the time.
const MAX_CONDITIONS: usize = 200;

/// State of a walk between two slices.
pub(super) struct Progress {
    place: SortKey,
    /// Position of the last item that the caller may know of; `went_on` is set once the walk has reached one.
    known: SortKey,
    went_on: bool,
    /// Items found so far.
    pub(super) items: Vec<Item>,
    /// Time at which a filtered walk stops with the items found so far, if it has made progress.
    enough: Instant,
}

/// Outcome of a walk.
pub(super) enum Walked {
    /// The page is complete.
    Page(Page<Item, SortKey>),
    /// The walk must continue from this state: the time is up, and it has reached no item after which a page may end.
    Unfinished(Progress),
}

/// One listing of one container.
pub(super) struct Listing<'a> {
    located: &'a Located,
    sort: Sort,
    down: bool,
    path: &'a str,
    filter: &'a Filter,
    sieve: RowFilter,
    order: Order,
}

impl<'a> Listing<'a> {
    pub(super) fn new(located: &'a Located, request: &'a ListRequest, path: &'a str, order: Order) -> Self {
        let (filter, sieve) = (&request.filter, request.filter.sieve());
        Self { located, sort: request.sort, down: request.descending, path, filter, sieve, order }
    }

    /// Returns the version of permissions and locations that the listing is based on.
    pub(super) fn tree_version(&self) -> i64 {
        self.located.collection.tree_version
    }

    /// Returns the caller's rights.
    pub(super) fn access(&self) -> Arc<Access> {
        self.located.access.clone()
    }

    /// Refuses a position in a group that is no longer there: what comes after it is not known.
    pub(super) fn require_place(&self, after: &SortKey) -> Result<()> {
        let is_there = match (after, &self.order) {
            (SortKey::Named(id, _), Order::Named(_, all)) => all.contains(id),
            (SortKey::Named(..), _) | (SortKey::Field(..), Order::Named(..)) => false,
            _ => true,
        };
        match is_there {
            true => Ok(()),
            false => Err(Error::invalid("the order has changed in the meantime: start again at the first page")
                .with_code(Code::InvalidCursor)),
        }
    }

    /// Returns the start of a walk after `after`; `None` when there is nothing to walk through.
    pub(super) fn begin(&self, after: Option<SortKey>) -> Option<Progress> {
        if !self.located.node().kind.has_contents() {
            return None;
        }
        let place = after.or_else(|| self.start())?;
        Some(Progress { known: place.clone(), place, went_on: false, items: Vec::new(), enough: Instant::now() + TIME })
    }

    /// Continues a walk to the end of the page or of the time slice.
    pub(super) fn walk(&self, reader: &mut Reader<'_>, mut at: Progress, limit: usize, end: &End) -> Result<Walked> {
        loop {
            // One row beyond the page shows whether there is a next page. Hidden rows are skipped in larger steps.
            // With conditions on values, the first step is short too, since most conditions leave a good part.
            let missing = limit.saturating_sub(at.items.len()) + 1;
            let wanted = match (self.filter.asks_for_values(), at.went_on) {
                _ if !self.filter.condition.is_empty() => MAX_CONDITIONS,
                (false, _) => missing,
                (true, false) => missing.saturating_mul(4),
                (true, true) => MAX_PAGE,
            };
            let wanted = wanted.clamp(50, MAX_PAGE);
            let rows = self.rows(reader, &at.place, wanted)?;
            let exhausted = rows.len() < wanted;
            let passes =
                self.filter.evaluate(reader, self.located.node().library_id, self.located.principal.id, &rows)?;
            let mut last_known = None;
            for (row, passes) in rows.iter().zip(passes).filter(|(row, _)| self.located.lists(row)) {
                if passes && at.items.len() >= limit {
                    let next = last_known.map_or(Ok(at.known), |row| self.key(reader, &at.place, row))?;
                    return Ok(Walked::Page(Page { items: at.items, next: Some(next) }));
                }
                last_known = Some(row);
                if passes {
                    at.items.push(self.located.child(reader, row, self.path)?);
                }
            }
            if let Some(row) = last_known {
                (at.known, at.went_on) = (self.key(reader, &at.place, row)?, true);
            }
            if let Some(row) = rows.last() {
                at.place = self.key(reader, &at.place, row)?;
            }
            if exhausted {
                match self.behind(&at.place) {
                    Some(next) => at.place = next,
                    None => return Ok(Walked::Page(Page { items: at.items, next: None })),
                }
            }
            if !self.filter.is_empty() && at.went_on && Instant::now() > at.enough {
                return Ok(Walked::Page(Page { items: at.items, next: Some(at.known) }));
            }
            if end.is_over() {
                return Ok(Walked::Unfinished(at));
            }
        }
    }

    fn rows(&self, reader: &mut Reader<'_>, place: &SortKey, limit: usize) -> Result<Vec<NodeRow>> {
        let parent = self.located.node().id;
        let slot = match self.order {
            Order::Field(slot) | Order::Named(slot, _) => slot,
            Order::Plain | Order::People(_) | Order::Types(_) => 0,
        };
        let mut down = self.down;
        let walk = match place {
            SortKey::Container(name) => {
                return listing::containers(reader, parent, name, self.down && self.sort == Sort::Name, limit);
            }
            SortKey::Name(name) => SortOrder::Name(name),
            SortKey::Modified(at, id) => SortOrder::Time(*at, *id),
            SortKey::Size(size, id) => SortOrder::Size(*size, *id),
            SortKey::Person(person, name) => SortOrder::Person(*person, name),
            SortKey::Type(kind, name) => SortOrder::Type(kind, name),
            SortKey::Row(id) => SortOrder::Id(*id),
            SortKey::Field(value, id) => SortOrder::Field(slot, value, *id),
            SortKey::Empty(id) => {
                down = false;
                SortOrder::Field(slot, &SortValue::EMPTY, *id)
            }
            SortKey::Named(person, id) => SortOrder::Named(slot, *person, *id),
            SortKey::Absent(name) => SortOrder::Absent(slot, name),
        };
        sorted::leaves(reader, parent, &walk, down, &self.sieve, limit)
    }

    /// Returns the position at which the first page begins; `None` when nothing can pass the filter.
    fn start(&self) -> Option<SortKey> {
        if self.filter.asks_for_names_only() { Some(SortKey::Container(String::new())) } else { self.first_document() }
    }

    fn first_document(&self) -> Option<SortKey> {
        let kind = self.located.node().kind;
        if !kind.takes_documents() && kind != NodeKind::List {
            return None;
        }
        let edge = if self.down { i64::MAX } else { i64::MIN };
        let id = if self.down { Id::new(i64::MAX) } else { Id::NONE };
        match &self.order {
            Order::People(people) => self.nth(people, 0).map(|person| SortKey::Person(person, String::new())),
            Order::Types(types) => self.nth(types, 0).map(|kind| SortKey::Type(kind, String::new())),
            Order::Field(_) => {
                let number = if self.down { f64::INFINITY } else { f64::NEG_INFINITY };
                Some(SortKey::Field(SortValue::number(number), Id::NONE))
            }
            Order::Named(_, people) => match self.nth(people, 0) {
                Some(person) => Some(SortKey::Named(person, Id::NONE)),
                None => Some(self.empty()),
            },
            Order::Plain => Some(match self.sort {
                Sort::Modified => SortKey::Modified(Timestamp::from_micros(edge), id),
                Sort::Size => SortKey::Size(edge, id),
                Sort::Name | Sort::Person | Sort::Type | Sort::Column(_) if kind == NodeKind::List => SortKey::Row(id),
                Sort::Name | Sort::Person | Sort::Type | Sort::Column(_) => SortKey::Name(String::new()),
            }),
        }
    }

    /// Returns the position before the items whose field is empty.
    fn empty(&self) -> SortKey {
        match self.located.node().kind {
            NodeKind::List => SortKey::Empty(Id::NONE),
            _ => SortKey::Absent(String::new()),
        }
    }

    /// Returns the group at this position in the direction of the walk.
    fn nth<T: Clone>(&self, groups: &[T], position: usize) -> Option<T> {
        if self.down { groups.iter().rev().nth(position).cloned() } else { groups.get(position).cloned() }
    }

    /// Returns the group after this one.
    fn following<T: Clone + PartialEq>(&self, groups: &[T], group: &T) -> Option<T> {
        let position = groups.iter().position(|other| other == group)?;
        let position = if self.down { groups.len() - 1 - position } else { position };
        self.nth(groups, position + 1)
    }

    /// Returns the position at which the walk continues when a stage is complete.
    fn behind(&self, place: &SortKey) -> Option<SortKey> {
        match (place, &self.order) {
            (SortKey::Container(_), _) => self.first_document(),
            (SortKey::Person(person, _), Order::People(people)) => {
                self.following(people, person).map(|person| SortKey::Person(person, String::new()))
            }
            (SortKey::Type(kind, _), Order::Types(types)) => {
                self.following(types, kind).map(|kind| SortKey::Type(kind, String::new()))
            }
            (SortKey::Named(person, _), Order::Named(_, people)) => match self.following(people, person) {
                Some(person) => Some(SortKey::Named(person, Id::NONE)),
                None => Some(self.empty()),
            },
            // Upwards, the empty fields of rows are the last part of the same range.
            (SortKey::Field(..), _) if self.down || self.located.node().kind != NodeKind::List => Some(self.empty()),
            _ => None,
        }
    }

    /// Returns the position of a row in the stage of `place`.
    fn key(&self, reader: &mut Reader<'_>, place: &SortKey, row: &NodeRow) -> Result<SortKey> {
        Ok(match place {
            SortKey::Container(_) => SortKey::Container(row.folded.clone()),
            SortKey::Name(_) => SortKey::Name(row.folded.clone()),
            SortKey::Modified(..) => SortKey::Modified(row.modified_at, row.id),
            SortKey::Size(..) => SortKey::Size(row.size, row.id),
            SortKey::Person(person, _) => SortKey::Person(*person, row.folded.clone()),
            SortKey::Type(kind, _) => SortKey::Type(kind.clone(), row.folded.clone()),
            SortKey::Named(person, _) => SortKey::Named(*person, row.id),
            SortKey::Absent(_) => SortKey::Absent(row.folded.clone()),
            SortKey::Row(_) => SortKey::Row(row.id),
            SortKey::Empty(_) => SortKey::Empty(row.id),
            SortKey::Field(..) => {
                let Order::Field(slot) = self.order else {
                    return Err(Error::invalid("the cursor belongs to another order").with_code(Code::InvalidCursor));
                };
                let fields = record::find(reader, row.id)?;
                let value = fields.and_then(|fields| fields.sort_value(slot)).unwrap_or(SortValue::EMPTY);
                SortKey::Field(value, row.id)
            }
        })
    }
}

/// End of a slice of a walk.
#[derive(Clone)]
pub(super) struct End {
    pub(super) at: Instant,
    /// Dropped once no caller waits for the walk any more.
    pub(super) caller: Weak<()>,
}

impl End {
    /// Returns whether the slice is over.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() > self.at || self.caller.strong_count() == 0
    }

    /// Returns the end of a slice that begins now and lasts `time`.
    pub(super) fn after(&self, time: Duration) -> Self {
        Self { at: Instant::now() + time, caller: self.caller.clone() }
    }
}

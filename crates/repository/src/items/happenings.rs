//! Recent events of documents, and of what is in a site, library, list or folder, as far as the caller may know of
//! them. They are read from the log of events, which is also the outbox that the search index follows.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::event::{self, EventRow};
use database::content::node::{self, NodeRow};
use model::{Code, Error, Id, NodeKind, Result, Right, Timestamp};

use crate::content::events::{self, has_drafts, is_visible_without_drafts};
use crate::items::item::Item;
use crate::session::known::Viewed;
use crate::{Session, Target};

use super::caller_view::CallerView;
use super::merged::Merged;
use super::recent::{libraries_of, path_below};

/// Time after which no further events are examined.
const TIME: Duration = Duration::from_millis(20);
/// Events of documents that one statement reads; `STEPS` is the maximum number of such statements. The documents of so
/// many events are looked up at once as most pages show.
const BATCH: usize = 100;
const STEPS: usize = 10;
const SHOWN: usize = 16;
/// Prefixes of actions that are never about documents. Creating a site from a template records hundreds of them.
const OTHER_ACTIONS: [&str; 7] = ["column.", "content-type.", "folder.", "library.", "list.", "template.", "view."];
/// Events below an item whose items are looked up at once, and number of times that this is done before the first check
/// of the time.
const PART: usize = 64;
const FIRST_PARTS: usize = 4;
/// Minimum number of events of a library that are read at once.
const MIN_READ: usize = 8;
/// Sequences of a site collection that are read at once, and those that are skipped at once while rows of a list follow
/// each other.
const SPAN: i64 = 10_000;
const RUN: i64 = 50_000;
/// Limit on the rows that are counted for one event.
const MAX_ROWS: usize = 250;

/// Actions that activity shows: changes of contents. Opening and locking something is left out, and so are changes of
/// permissions and links.
const TOLD: [&str; 18] = [
    "document.check-in",
    "document.create",
    "document.reject",
    "document.replace",
    "document.submit",
    "document.withdraw",
    "folder.create",
    "item.columns",
    "item.copy",
    "item.move",
    "item.rename",
    "item.restore",
    "library.create",
    "list.create",
    "row.change",
    "row.create",
    "version.publish",
    "version.restore",
];

/// An event of an item, as the caller sees the item now.
#[derive(Clone, Debug)]
pub struct ItemEvent {
    /// The item, with its current name; the list if several rows changed.
    pub item: Item,
    /// Time at which it happened.
    pub at: Timestamp,
    /// The actor; [`Id::NONE`] for a person who uses a share link.
    pub actor: Id,
    /// The action, such as `document.replace`.
    pub action: String,
    /// Number of items, which is more than 1 only for rows of a list that one person changed in succession.
    pub items: usize,
    /// True if further rows were not counted.
    pub are_more: bool,
}

impl Session {
    /// Returns the latest events of documents that the caller may open, newest first, at most `limit`. Reads are not
    /// reported. Work on drafts is reported only to callers who may see drafts; an event that made a version visible to
    /// all is reported to everyone. The work is bounded: when time is up, returns the events found so far. Events in a
    /// content database that is away or cannot be read are missing without notice; [`Session::home`] names such
    /// databases.
    #[boxed]
    pub async fn recent_events(&self, limit: usize) -> Result<Vec<ItemEvent>> {
        self.latest(None, limit).await
    }

    async fn latest(&self, actor: Option<Id>, limit: usize) -> Result<Vec<ItemEvent>> {
        self.repository.inner.activity.note();
        let registry = self.registry().await?;
        let mut all = Vec::new();
        for content in &registry.databases {
            let teller = Teller::new(CallerView::of(self, &registry, content), String::new(), limit);
            let look = move |reader: &mut Reader<'_>| teller.documents(reader, actor);
            match content.database.read_long(look).await {
                Ok(mut part) => all.append(&mut part),
                Err(error) => drop(content.name_if_database_error(error)?),
            }
        }
        all.sort_by_key(|happening| std::cmp::Reverse(happening.at));
        all.truncate(limit);
        Ok(all)
    }

    /// Returns the latest changes of documents by one person, as [`Session::recent_events`] does. Of each content
    /// database, the last 1,000 events are looked at.
    #[boxed]
    pub async fn recent_events_by(&self, person: Id, limit: usize) -> Result<Vec<ItemEvent>> {
        let _permit = self.permit_to_walk().await?;
        self.latest(Some(person), limit).await
    }

    /// Returns the latest changes of what is below an item, newest first, at most `limit`, with the restrictions of
    /// [`Session::recent_events`]. Rows of a list that one person changed in succession are one event. Events of sites
    /// themselves are missing, and so are those from before events knew their libraries.
    ///
    /// # Errors
    /// Those of [`Session::item`]; `Forbidden` without the right to view the item; `Conflict` for a document or row;
    /// `Exhausted` while the caller has too many such requests and listings in progress.
    #[boxed]
    pub async fn recent_events_below(&self, target: &Target, limit: usize) -> Result<Vec<ItemEvent>> {
        let _permit = self.permit_to_walk().await?;
        self.repository.inner.activity.note();
        let session = self.clone();
        let look = move |reader: &mut Reader<'_>, viewed: &Viewed| {
            let node = viewed.node();
            if !node.kind.is_container() {
                let what = node.kind.as_str();
                let reason =
                    format!("\"{}\" is a {what}: sites, libraries, lists and folders have activity", node.name);
                return Err(Error::conflict(reason).with_code(Code::WrongKind));
            }
            let view = CallerView::of(&session, &viewed.registry, &viewed.content);
            let teller = Teller::new(view, path_below(viewed), limit);
            match libraries_of(reader, viewed)? {
                Some(libraries) => teller.in_libraries(reader, &libraries),
                None => teller.in_collection(reader, node.collection_id),
            }
        };
        Ok(self.view_long(target, look).await?.1)
    }
}

/// Tells events to a caller.
struct Teller {
    view: CallerView,
    /// Beginning of the paths of all items.
    below: String,
    limit: usize,
    /// Libraries that were read, each with true if it keeps drafts.
    drafts: HashMap<Id, bool>,
    /// Item, actor and action of each event, which is told once however often it happened.
    told: HashSet<(Id, Id, String)>,
    found: Vec<ItemEvent>,
    /// The last event, if it is one of rows, and the rows.
    run: Option<Run>,
    rows: HashSet<Id>,
}

/// Changes of rows of a list by one person in succession.
#[derive(Clone, Copy)]
struct Run {
    list: Id,
    /// The actor as events name it.
    actor_id: Id,
    /// The earliest event so far.
    sequence: i64,
}

impl Teller {
    fn new(view: CallerView, below: String, limit: usize) -> Self {
        Self {
            view,
            below,
            limit,
            drafts: HashMap::new(),
            told: HashSet::new(),
            found: Vec::new(),
            run: None,
            rows: HashSet::new(),
        }
    }

    /// Returns events of documents of the whole database; of one actor, only changes.
    fn documents(mut self, reader: &mut Reader<'_>, actor: Option<Id>) -> Result<Vec<ItemEvent>> {
        let (end, mut before) = (Instant::now() + TIME, i64::MAX);
        for _ in 0..STEPS {
            let mut read = event::newest(reader, before, BATCH)?;
            let is_last = read.len() < BATCH;
            before = read.last().map_or(before, |event| event.sequence);
            read.retain(|event| !OTHER_ACTIONS.iter().any(|prefix| event.action.starts_with(prefix)));
            if let Some(actor) = actor {
                read.retain(|event| actor == events::actor(event) && TOLD.contains(&event.action.as_str()));
            }
            while !read.is_empty() {
                let part = read.drain(..read.len().min(SHOWN)).filter(|event| !self.told.contains(&key_of(event)));
                let part: Vec<EventRow> = part.collect();
                let nodes = nodes_of(reader, &part)?;
                for event in part {
                    if let Some(node) = nodes.get(&event.node_id).filter(|node| node.kind == NodeKind::Document) {
                        self.tell(reader, event, node)?;
                    }
                    if self.found.len() == self.limit {
                        return Ok(self.found);
                    }
                }
            }
            if is_last || Instant::now() > end {
                break;
            }
        }
        Ok(self.found)
    }

    /// Returns events of these libraries and lists.
    fn in_libraries(mut self, reader: &mut Reader<'_>, libraries: &[Id]) -> Result<Vec<ItemEvent>> {
        let end = Instant::now() + TIME;
        let batch = (PART / libraries.len().max(1)).max(MIN_READ);
        let mut events = Merged::new(libraries, i64::MAX, batch);
        for number in 1.. {
            let mut part = Vec::with_capacity(PART);
            while part.len() < PART {
                let read = |libraries: &[_], most| event::of_libraries(reader, libraries, most);
                match events.next(read, |event: &EventRow| event.sequence)? {
                    Some(event) => part.push(event),
                    None => break,
                }
            }
            let is_last = part.len() < PART;
            if self.tell_part(reader, part, |_, _| true)? {
                return Ok(self.found);
            }
            let run = self.run.filter(|_| self.found.last().is_some_and(|last| last.are_more));
            if let (Some(run), false) = (run, is_last) {
                let since = run.sequence.saturating_sub(RUN);
                let other = event::before_run(reader, run.list, since..run.sequence, run.actor_id)?;
                // Events of others that the caller may not know of can lie between: what was read stays behind.
                let below = other.map_or(since, |sequence| sequence + 1);
                events.skip(run.list, below, |event: &EventRow| event.sequence);
            }
            if is_last || (number >= FIRST_PARTS && Instant::now() > end) {
                self.leave_off(is_last);
                break;
            }
        }
        self.found.truncate(self.limit);
        Ok(self.found)
    }

    /// Returns events of all libraries and lists of a site collection. Those of an item that was moved to another
    /// library since then are left out: the caller may not know where it was.
    fn in_collection(mut self, reader: &mut Reader<'_>, collection: Id) -> Result<Vec<ItemEvent>> {
        let end = Instant::now() + TIME;
        let mut before = event::last(reader)?.saturating_add(1);
        let mut is_last = before <= 1;
        for number in 1.. {
            let since = before.saturating_sub(SPAN).max(0);
            let read = event::of_all_libraries(reader, collection, since..before, PART)?;
            before = if read.len() < PART { since } else { read.last().map_or(since, |(_, event)| event.sequence) };
            is_last |= before == 0;
            let libraries: HashMap<i64, Id> = read.iter().map(|(library, event)| (event.sequence, *library)).collect();
            let events = read.into_iter().map(|(_, event)| event).collect();
            let stayed = |event: &EventRow, node: &NodeRow| libraries.get(&event.sequence) == Some(&node.library_id);
            if self.tell_part(reader, events, stayed)? {
                return Ok(self.found);
            }
            if is_last || (number >= FIRST_PARTS && Instant::now() > end) {
                break;
            }
        }
        self.leave_off(is_last);
        self.found.truncate(self.limit);
        Ok(self.found)
    }

    /// Adds events of contents. Returns whether there are enough.
    fn tell_part(
        &mut self,
        reader: &mut Reader<'_>,
        mut part: Vec<EventRow>,
        is_told: impl Fn(&EventRow, &NodeRow) -> bool,
    ) -> Result<bool> {
        part.retain(|event| TOLD.contains(&event.action.as_str()));
        let nodes = nodes_of(reader, &part)?;
        for event in part {
            if let Some(node) = nodes.get(&event.node_id).filter(|node| is_told(&event, node)) {
                self.tell(reader, event, node)?;
            }
            // The last one may go on with further rows until another one begins.
            if self.found.len() > self.limit {
                self.found.truncate(self.limit);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Marks rows that may go on where nothing was read any more.
    fn leave_off(&mut self, is_last: bool) {
        if let (false, Some(_), Some(last)) = (is_last, self.run, self.found.last_mut()) {
            last.are_more = true;
        }
    }

    /// Adds an event, unless the caller may not know of it, or it was told before.
    fn tell(&mut self, reader: &mut Reader<'_>, event: EventRow, node: &NodeRow) -> Result<()> {
        let actor = events::actor(&event);
        let run = self
            .run
            .filter(|run| node.kind == NodeKind::Row && run.list == node.parent_id && run.actor_id == event.actor_id);
        if let (Some(run), Some(last)) = (run, self.found.last())
            && last.are_more
        {
            self.run = Some(Run { sequence: event.sequence, ..run });
            return Ok(());
        }
        let key = key_of(&event);
        if self.told.contains(&key) {
            return Ok(());
        }
        let item = self.view.show(reader, node)?.filter(|item| item.path.starts_with(&self.below));
        let Some(item) = item else {
            self.told.insert(key);
            return Ok(());
        };
        // A hidden event must not suppress an earlier visible one with the same key, so the key is not inserted.
        if node.kind == NodeKind::Document && !self.is_visible(reader, &event, node, &item)? {
            return Ok(());
        }
        self.told.insert(key);
        if let (Some(run), Some(last)) = (run, self.found.last_mut()) {
            self.run = Some(Run { sequence: event.sequence, ..run });
            if self.rows.insert(node.id) {
                last.items += 1;
                last.are_more = last.items == MAX_ROWS;
                if last.items == 2
                    && let Some(list) = self.view.list_of(reader, node)?
                {
                    last.item = list;
                }
            }
            if last.action != event.action {
                last.action = "row.change".to_owned();
            }
            return Ok(());
        }
        let run = Run { list: node.parent_id, actor_id: event.actor_id, sequence: event.sequence };
        self.run = Some(run).filter(|_| node.kind == NodeKind::Row);
        self.rows = HashSet::from([node.id]);
        self.found.push(ItemEvent { item, at: event.at, actor, action: event.action, items: 1, are_more: false });
        Ok(())
    }

    fn is_visible(&mut self, reader: &mut Reader<'_>, event: &EventRow, node: &NodeRow, item: &Item) -> Result<bool> {
        let sees_drafts = item.rights.has(Right::Edit)
            || item.rights.has(Right::Publish)
            || item.created_by == self.view.finder.principal.id;
        let drafts = match self.drafts.get(&node.library_id) {
            Some(drafts) => *drafts,
            None => *self.drafts.entry(node.library_id).or_insert(has_drafts(reader, node)?),
        };
        Ok(sees_drafts || is_visible_without_drafts(event, node, drafts))
    }
}

/// Returns what is told once, however often it happened.
fn key_of(event: &EventRow) -> (Id, Id, String) {
    (event.node_id, events::actor(event), event.action.clone())
}

/// Returns the items of events that are still there.
fn nodes_of(reader: &mut Reader<'_>, part: &[EventRow]) -> Result<HashMap<Id, NodeRow>> {
    let mut ids: Vec<Id> = part.iter().map(|event| event.node_id).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    Ok(node::find_many(reader, &ids)?.into_iter().map(|node| (node.id, node)).collect())
}

//! Following documents, and recent events of documents that the caller may open.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::content::{event, followed, node};
use database::{Reader, Transaction};
use model::{Code, Error, Id, NodeKind, Result, Right, Timestamp};

use crate::content::events::{self, has_drafts, is_visible_without_drafts};
use crate::items::item::Item;
use crate::session::guard::{Checked, Guard};
use crate::{Session, Target};

use super::caller_view::CallerView;

/// Maximum number of documents that one user follows.
const MAX_FOLLOWED: i64 = 1_000;
/// Time after which no further events are examined.
const TIME: Duration = Duration::from_millis(20);
/// Events read by one statement; `STEPS` is the maximum number of such statements.
const BATCH: usize = 100;
const STEPS: usize = 10;

/// An event of an item, as the caller sees the item now.
#[derive(Clone, Debug)]
pub struct ItemEvent {
    /// The item, with its current name.
    pub item: Item,
    /// Time at which it happened.
    pub at: Timestamp,
    /// The actor; [`Id::NONE`] for a person who uses a share link.
    pub actor: Id,
    /// The action, such as `document.replace`.
    pub action: String,
}

impl Session {
    /// Follows or unfollows a document.
    #[boxed]
    pub async fn set_followed(&self, target: &Target, follow: bool) -> Result<()> {
        let located = self.locate(target).await?.to(Right::View)?;
        let guard = self.guard([&located])?;
        located.require_kind(NodeKind::Document)?;
        let id = located.node().id;
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            if !follow {
                return followed::remove(transaction, guard.caller(), id);
            }
            if followed::has(transaction, guard.caller(), id)? {
                return Ok(());
            }
            if followed::count(transaction, guard.caller())? >= MAX_FOLLOWED {
                return Err(Error::exhausted(format!(
                    "you already follow {MAX_FOLLOWED} documents: stop following one of them first"
                ))
                .with_code(Code::TooMany));
            }
            // The row refers to the document, so the document must still exist.
            guard.lock_row(transaction, id)?;
            followed::put(transaction, guard.caller(), id, Timestamp::now())
        };
        guard.write(write).await
    }

    /// Returns whether the caller follows a document.
    #[boxed]
    pub async fn follows(&self, target: &Target) -> Result<bool> {
        let caller = self.principal.id;
        Ok(self.view(target, move |reader, item| followed::has(reader, caller, item.node().id)).await?.1)
    }

    /// Returns the latest events of documents that the caller may open, newest first, at most `limit`. Reads are not
    /// reported. Work on drafts is reported only to callers who may see drafts; an event that made a version visible to
    /// all is reported to everyone. The work is bounded: when time is up, returns the events found so far. Events in a
    /// content database that is away or cannot be read are missing without notice; [`Session::home`] names such
    /// databases.
    #[boxed]
    pub async fn recent_events(&self, limit: usize) -> Result<Vec<ItemEvent>> {
        self.repository.inner.activity.note();
        let registry = self.registry().await?;
        let mut all = Vec::new();
        for content in &registry.databases {
            let mut eyes = CallerView::of(self, &registry, content);
            let look = move |reader: &mut Reader<'_>| newest(reader, &mut eyes, limit);
            match content.database.read_long(look).await {
                Ok(mut part) => all.append(&mut part),
                Err(error) => drop(content.name_if_database_error(error)?),
            }
        }
        all.sort_by_key(|happening| std::cmp::Reverse(happening.at));
        all.truncate(limit);
        Ok(all)
    }
}

fn newest(reader: &mut Reader<'_>, eyes: &mut CallerView, limit: usize) -> Result<Vec<ItemEvent>> {
    let end = Instant::now() + TIME;
    let (mut found, mut before) = (Vec::new(), i64::MAX);
    // One entry for each document, actor and action, however often it happened.
    let mut told = HashSet::new();
    let mut libraries = HashMap::new();
    for _ in 0..STEPS {
        let rows = event::newest(reader, before, BATCH)?;
        let exhausted = rows.len() < BATCH;
        for row in rows {
            before = row.sequence;
            let (id, actor) = (row.node_id, events::actor(&row));
            let key = (id, actor, row.action.clone());
            if told.contains(&key) {
                continue;
            }
            let Some(node) = node::find(reader, id)?.filter(|node| node.kind == NodeKind::Document) else {
                told.insert(key);
                continue;
            };
            let Some(item) = eyes.show(reader, &node)? else {
                told.insert(key);
                continue;
            };
            let sees_drafts = item.rights.has(Right::Edit)
                || item.rights.has(Right::Publish)
                || item.created_by == eyes.finder.principal.id;
            let drafts = match libraries.get(&node.library_id) {
                Some(drafts) => *drafts,
                None => *libraries.entry(node.library_id).or_insert(has_drafts(reader, &node)?),
            };
            // A hidden event must not suppress an earlier visible one with the same key, so the key is not inserted.
            if !sees_drafts && !is_visible_without_drafts(&row, &node, drafts) {
                continue;
            }
            told.insert(key);
            found.push(ItemEvent { item, at: row.at, actor, action: row.action });
            if found.len() == limit {
                return Ok(found);
            }
        }
        if exhausted || Instant::now() > end {
            break;
        }
    }
    Ok(found)
}

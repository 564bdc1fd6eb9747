//! Lists of shared items, for those who got them and for those who shared them: items with links, and items with grants
//! that the place above does not have.

use std::collections::{HashMap, HashSet};

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::{node, scope, share_link};
use model::{Id, Principal, Result, Timestamp};

use crate::items::item::Item;
use crate::{Session, UnavailableDatabases};

use super::caller_view::CallerView;

/// Grants and links that are read of each content database, the newest.
const MAX_READ: usize = 500;

/// An item that another user shared with the caller, or with one of the caller's groups.
#[derive(Clone, Debug)]
pub struct SharedWithMe {
    /// The item.
    pub item: Item,
    /// Time of the newest grant.
    pub at: Timestamp,
    /// User who made it.
    pub by: Id,
}

/// An item that the caller shared with others.
#[derive(Clone, Debug)]
pub struct SharedByMe {
    /// The item.
    pub item: Item,
    /// Time of the newest grant or link.
    pub at: Timestamp,
    /// Users and groups that got a role from the caller.
    pub with: Vec<Id>,
    /// Number of links of the caller that have not expired.
    pub links: usize,
}

/// Items that were shared.
#[derive(Clone, Debug)]
pub struct SharedItems<T> {
    /// The items.
    pub items: Vec<T>,
    /// Content databases whose items are missing here.
    pub missing: UnavailableDatabases,
}

impl Session {
    /// Returns items that others shared with the caller and that the caller may open, newest first, at most `limit`.
    /// Leaves out items that are shared with everyone.
    #[boxed]
    pub async fn shared_with_me(&self, limit: usize) -> Result<SharedItems<SharedWithMe>> {
        let (me, now) = (self.principal.id, Timestamp::now());
        let mut ids: Vec<Id> = self.principal.ids().filter(|id| *id != Principal::EVERYONE).collect();
        ids.sort_unstable();
        self.gather_shared(
            limit,
            |shared: &SharedWithMe| shared.at,
            move |reader, view| {
                let mut found: Vec<SharedWithMe> = Vec::new();
                let mut seen = HashSet::new();
                for granted in scope::shared_with(reader, &ids, me, now, MAX_READ)? {
                    if found.len() == limit {
                        break;
                    }
                    if !seen.insert(granted.node_id) {
                        continue;
                    }
                    let Some(row) = node::find(reader, granted.node_id)? else { continue };
                    if let Some(item) = view.show(reader, &row)? {
                        found.push(SharedWithMe { item, at: granted.at, by: granted.principal_id });
                    }
                }
                Ok(found)
            },
        )
        .await
    }

    /// Returns items that the caller shared with others or with everyone, newest first, at most `limit`.
    #[boxed]
    pub async fn shared_by_me(&self, limit: usize) -> Result<SharedItems<SharedByMe>> {
        let (me, now) = (self.principal.id, Timestamp::now());
        self.gather_shared(
            limit,
            |shared: &SharedByMe| shared.at,
            move |reader, view| {
                let mut found: HashMap<Id, (Timestamp, Vec<Id>, usize)> = HashMap::new();
                for granted in scope::shared_by(reader, me, now, MAX_READ)? {
                    let (at, with, _) = found.entry(granted.node_id).or_insert((granted.at, Vec::new(), 0));
                    *at = (*at).max(granted.at);
                    if !with.contains(&granted.principal_id) {
                        with.push(granted.principal_id);
                    }
                }
                for (node, made) in share_link::made_by(reader, me, now, MAX_READ)? {
                    let (at, _, links) = found.entry(node).or_insert((made, Vec::new(), 0));
                    *at = (*at).max(made);
                    *links += 1;
                }
                let mut newest: Vec<_> = found.into_iter().collect();
                newest.sort_by_key(|(node, (at, ..))| std::cmp::Reverse((*at, *node)));
                let mut shared = Vec::new();
                for (id, (at, with, links)) in newest {
                    if shared.len() == limit {
                        break;
                    }
                    let Some(row) = node::find(reader, id)? else { continue };
                    if let Some(item) = view.show(reader, &row)? {
                        shared.push(SharedByMe { item, at, with, links });
                    }
                }
                Ok(shared)
            },
        )
        .await
    }

    /// Collects what each content database has, newest first.
    async fn gather_shared<T: Send + 'static>(
        &self,
        limit: usize,
        at: impl Fn(&T) -> Timestamp + Send,
        read: impl Fn(&mut Reader<'_>, &mut CallerView) -> Result<Vec<T>> + Clone + Send + 'static,
    ) -> Result<SharedItems<T>> {
        let _permit = self.permit_to_walk().await?;
        self.repository.inner.activity.note();
        let registry = self.registry().await?;
        let (mut all, mut missing) = (Vec::new(), self.missing(registry.away()));
        for content in &registry.databases {
            let mut view = CallerView::of(self, &registry, content);
            let read = read.clone();
            let look = move |reader: &mut Reader<'_>| read(reader, &mut view);
            match content.database.read_long(look).await {
                Ok(mut part) => all.append(&mut part),
                Err(error) => missing.add(content.name_if_database_error(error)?),
            }
        }
        all.sort_by_key(|shared| std::cmp::Reverse(at(shared)));
        all.truncate(limit);
        Ok(SharedItems { items: all, missing })
    }
}

//! Reading the audit log of the farm: accounts, groups, roles, sign-ins, storage and jobs, but not content.
//!
//! The operations themselves decide what is recorded. This module must not write.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::configuration::event::{self, EventFilter};
use model::{Id, MAX_PAGE, Result, Timestamp, fold};

use crate::items::page::Page;
use crate::{FarmEvent, Job, Session};

/// Number of events that one call examines, whether they match or not.
const LOOKED_AT: i64 = 50_000;

/// Tolerated difference between the clocks of a farm's servers when events are searched by time.
const CLOCKS_APART: Duration = Duration::from_secs(3_600);

/// Limit on the audit events shown with a job.
const OF_JOB: usize = 50;

/// All actions that the audit log of the farm can contain.
pub const FARM_ACTIONS: [&str; 53] = [
    "account.change",
    "account.create",
    "account.delete",
    "account.password",
    "account.password-link",
    "account.profile",
    "backup.end",
    "backup.fail",
    "backup.forget",
    "backup.remove",
    "backup.start",
    "blob.accept-loss",
    "blob.repair",
    "clock.accept",
    "database.compact",
    "database.create",
    "database.rebuild_indexes",
    "database.restore",
    "farm-template.delete",
    "farm-template.rename",
    "farm-template.save",
    "group.change",
    "group.create",
    "group.delete",
    "group.member-add",
    "group.member-remove",
    "health.limit",
    "job.abort",
    "job.pause",
    "job.resume",
    "job.start",
    "passwords.import",
    "passwords.remove",
    "role.change",
    "role.create",
    "role.delete",
    "search.settings",
    "session.end",
    "sign-in.failure",
    "sign-in.proof",
    "sign-in.success",
    "sign-out",
    "storage.policy",
    "store.add",
    "store.change",
    "store.make_anew",
    "store.remove",
    "store.state",
    "store.take_over",
    "token.create",
    "token.edit",
    "token.limit",
    "token.revoke",
];

/// Filter for the events of the farm's audit log.
#[derive(Clone, Debug, Default)]
pub struct FarmFilter {
    /// Only events of this account.
    pub actor: Option<Id>,
    /// Only events with this action, one of [`FARM_ACTIONS`].
    pub action: Option<String>,
    /// Only events whose subject or details contain this text, ignoring case. Combined with `about`, an event matches
    /// when either applies.
    pub text: Option<String>,
    /// Only events about this user or group.
    pub about: Option<Id>,
    /// Only events from this time on.
    pub from: Option<Timestamp>,
    /// Only events before this time.
    pub until: Option<Timestamp>,
}

/// The part of a filter that the database does not evaluate.
#[derive(Default)]
pub(crate) struct ResidualFilter {
    text: String,
    subjects: Vec<String>,
}

impl ResidualFilter {
    fn is_open(&self) -> bool {
        self.text.is_empty() && self.subjects.is_empty()
    }

    fn matches(&self, event: &FarmEvent) -> bool {
        let contains = |text: &str| !self.text.is_empty() && fold(text).contains(&self.text);
        self.is_open() || self.subjects.contains(&event.subject) || contains(&event.subject) || contains(&event.detail)
    }
}

impl FarmFilter {
    pub(crate) fn parts(self) -> (EventFilter, ResidualFilter) {
        let wanted = EventFilter {
            actor: self.actor.unwrap_or(Id::NONE),
            action: self.action.unwrap_or_default(),
            subject: String::new(),
            from: self.from,
            until: self.until,
        };
        let subjects = self.about.map_or(vec![], |id| vec![format!("account {id}"), format!("group {id}")]);
        (wanted, ResidualFilter { text: fold(self.text.unwrap_or_default().trim()), subjects })
    }
}

impl Session {
    /// Returns the audit log of the farm before the position `before`, newest first.
    ///
    /// One call examines a bounded number of events. If few of them match, a page may be short or empty and still have
    /// a `next`. Only a page without `next` is the last one.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn farm_events(
        &self,
        filter: FarmFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Page<FarmEvent, i64>> {
        self.require_farm_administrator("read the audit log of the farm")?;
        let limit = limit.clamp(1, MAX_PAGE);
        let (wanted, sieve) = filter.parts();
        let look = move |reader: &mut Reader| search_page(reader, &wanted, &sieve, before, limit, LOOKED_AT);
        self.repository.inner.configuration.read(look).await
    }

    /// Returns the events of starting, pausing, resuming and ending a job, newest first and at most 50. In a busy farm,
    /// events long before the job's end may be missing, because the number of examined events is bounded.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn job_events(&self, job: &Job) -> Result<Vec<FarmEvent>> {
        self.require_farm_administrator("read the audit log of the farm")?;
        let wanted = EventFilter {
            actor: Id::NONE,
            action: String::new(),
            subject: format!("{} {}", job.work.kind(), job.id),
            from: Some(job.created_at.before(CLOCKS_APART)),
            until: job.finished_at.map(|at| at.after(CLOCKS_APART)),
        };
        let look = move |reader: &mut Reader| {
            search_page(reader, &wanted, &ResidualFilter::default(), None, OF_JOB, LOOKED_AT)
        };
        Ok(self.repository.inner.configuration.read(look).await?.items)
    }
}

/// Returns one page of matching events, out of the newest `looked_at` events before a position.
pub(crate) fn search_page(
    reader: &mut Reader,
    wanted: &EventFilter,
    sieve: &ResidualFilter,
    before: Option<i64>,
    limit: usize,
    looked_at: i64,
) -> Result<Page<FarmEvent, i64>> {
    let newest = match wanted.until {
        Some(until) => event::place_of(reader, until.after(CLOCKS_APART))?,
        None => event::last(reader)?.saturating_add(1),
    };
    let oldest = match wanted.from {
        Some(from) => event::place_of(reader, from.before(CLOCKS_APART))?,
        None => 1,
    };
    let end = before.map_or(newest, |before| before.min(newest));
    let start = end.saturating_sub(looked_at).max(oldest);
    let mut items = Vec::new();
    let (mut range, piece) = (start..end, if sieve.is_open() { limit + 1 } else { MAX_PAGE });
    loop {
        let rows = event::list(reader, wanted, &range, piece)?;
        let is_last = rows.len() < piece;
        range.end = rows.last().map_or(start, |row| row.sequence);
        items.extend(rows.into_iter().filter(|row| sieve.matches(row)));
        if is_last || items.len() > limit {
            break;
        }
    }
    let next = match items.len() > limit {
        true => Some(items[limit - 1].sequence),
        false => Some(start).filter(|start| *start > oldest),
    };
    items.truncate(limit);
    Ok(Page { items, next })
}

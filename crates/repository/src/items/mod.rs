//! Items of any kind: viewing, listing, creating folders, renaming, moving, copying, deleting.

mod address_prefixes;
pub(crate) mod attachments;
pub(crate) mod caller_view;
pub(crate) mod condition;
pub(crate) mod containers;
pub(crate) mod copy;
pub(crate) mod copy_items;
mod create;
mod details;
mod filter;
mod follow;
mod happenings;
mod home;
pub(crate) mod item;
mod list;
mod measuring;
mod merged;
pub(crate) mod moving;
mod order;
pub(crate) mod page;
pub(crate) mod page_cursor;
mod page_values;
mod recent;
pub(crate) mod remove;
mod renaming;
mod save_sequence;
mod selective;
mod shared;
mod slices;
mod totals;
mod transfer;
mod transfer_plan;
pub(crate) mod tree;
mod usage;
pub(crate) mod view;
mod walk;

pub use attachments::MAX_ATTACHMENTS;
pub use condition::{named_condition, stored_condition};
pub use details::{DetailOptions, Details, Space};
pub use filter::{Filter, ValueTest};
pub use happenings::ItemEvent;
pub use home::{Home, KnownPlace, KnownSite};
pub use list::Listed;
pub use order::{ListRequest, Sort, SortKey};
pub use page::Page;
pub use shared::{SharedByMe, SharedItems, SharedWithMe};
pub use transfer_plan::{Transfer, Transferred};
pub use usage::{Usage, UsageReport};

use std::collections::HashSet;

use async_recursion::async_recursion as boxed;
use model::{Code, Error, Id};

use crate::{Session, Target};

/// Outcome of a bulk operation for one item.
#[derive(Debug)]
pub struct BulkOutcome {
    /// The item.
    pub id: Id,
    /// Reason for the failure; `None` on success.
    pub error: Option<Error>,
}

/// Maximum number of items in one bulk operation.
pub(crate) const MAX_BULK: usize = 1_000;

impl Session {
    /// Deletes many items one by one, each once. A failure does not stop the others.
    #[boxed]
    pub async fn delete_many(&self, ids: &[Id]) -> model::Result<Vec<BulkOutcome>> {
        let mut outcomes = Vec::with_capacity(ids.len());
        for id in chosen(ids)? {
            outcomes.push(BulkOutcome { id, error: self.delete(&id.into()).await.err() });
        }
        Ok(outcomes)
    }

    /// Moves many items into one container, one by one, each once.
    #[boxed]
    pub async fn move_many(&self, ids: &[Id], to: &Target) -> model::Result<Vec<BulkOutcome>> {
        let mut outcomes = Vec::with_capacity(ids.len());
        for id in chosen(ids)? {
            outcomes.push(BulkOutcome { id, error: self.move_to(&id.into(), to, None).await.err() });
        }
        Ok(outcomes)
    }

    /// Copies many items into one container, one by one, each once. A name that is taken there gets a number.
    #[boxed]
    pub async fn copy_many(&self, ids: &[Id], to: &Target) -> model::Result<Vec<BulkOutcome>> {
        let mut outcomes = Vec::with_capacity(ids.len());
        for id in chosen(ids)? {
            outcomes.push(BulkOutcome { id, error: self.copy_to(&id.into(), to, None).await.err() });
        }
        Ok(outcomes)
    }
}

/// Returns each of the chosen items once, in their order.
///
/// # Errors
/// `Invalid` with code `too_many`.
fn chosen(ids: &[Id]) -> model::Result<Vec<Id>> {
    if ids.len() > MAX_BULK {
        return Err(Error::invalid(format!("at most {MAX_BULK} items can be chosen at once")).with_code(Code::TooMany));
    }
    let mut seen = HashSet::new();
    Ok(ids.iter().copied().filter(|id| seen.insert(*id)).collect())
}

//! The page of BLOBs awaiting deletion.

use askama::Template;
use model::{PendingReason, Timestamp};
use repository::{BackupHold, PendingReclaim};

use crate::frame::fault::PageResult;
use crate::frame::navigation;
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::unavailable;

#[derive(Template)]
#[template(path = "pending-deletions.html")]
struct ReclaimPage<'a> {
    page: &'a Page,
    /// Names of unavailable content databases, or empty.
    away: String,
    rows: Vec<ReclaimRow>,
    holds: Vec<BackupHold>,
    blobs: u64,
    bytes: u64,
}

struct ReclaimRow {
    reason: &'static str,
    hint: &'static str,
    /// True if the next collection will delete the oldest of these BLOBs.
    soon: bool,
    pending: PendingReclaim,
}

/// Shows the list.
pub async fn show(mut visit: Visit) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/reclaim")?;
    let pending = visit.session.pending_reclaim().await?;
    let holds = visit.session.backup_holds().await?;
    let away = unavailable::named(&visit.page, &visit.session.databases_away().await?);
    let page = &visit.page;
    let (blobs, bytes) = (pending.iter().map(|row| row.blobs).sum(), pending.iter().map(|row| row.bytes).sum());
    let now = Timestamp::now();
    let row = |pending: PendingReclaim| {
        let (reason, hint) = match pending.reason {
            PendingReason::Unreferenced => (page.s("reclaim.unreferenced"), page.s("reclaim.unreferenced-hint")),
            PendingReason::Moved => (page.s("reclaim.moved"), page.s("reclaim.moved-hint")),
            PendingReason::Orphan => (page.s("reclaim.orphan"), page.s("reclaim.orphan-hint")),
            PendingReason::Deleted => (page.s("reclaim.deleted"), page.s("reclaim.deleted-hint")),
        };
        ReclaimRow { reason, hint, soon: pending.due <= now, pending }
    };
    let rows = pending.into_iter().map(row).collect();
    Ok(html(&ReclaimPage { page, away, rows, holds, blobs, bytes }))
}

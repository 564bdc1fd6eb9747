//! The backups that the farm has on record.

use askama::Template;
use axum::extract::Query;
use model::{BackupState, Timestamp};
use repository::{Backup, BackupCheck};
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::navigation;
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;

/// Backups per page.
const PAGE: usize = 50;

/// Query parameters: the beginning of a page.
#[derive(Default, Deserialize)]
pub struct Before {
    /// Identifier of the last backup of the previous page.
    #[serde(default)]
    before: String,
}

/// A backup as it is shown.
pub struct BackupLine {
    /// The backup.
    pub backup: Backup,
    /// Text of its state.
    pub state: &'static str,
    /// CSS class of the state.
    pub tone: &'static str,
    /// Bytes that a restore brings back.
    pub bytes: u64,
    /// Bytes that the backup added to its destination.
    pub added: u64,
}

#[derive(Template)]
#[template(path = "backups.html")]
struct BackupsPage<'a> {
    page: &'a Page,
    lines: Vec<BackupLine>,
    next: Option<String>,
    /// Time of the newest backup that is kept and has the documents.
    newest: Option<Timestamp>,
    /// Time of a newer one that is kept and has the databases only.
    newest_databases: Option<Timestamp>,
    /// The latest drill.
    drilled: Option<BackupCheck>,
}

/// Returns a backup as it is shown.
pub fn line(page: &Page, backup: Backup) -> BackupLine {
    let (state, tone) = match backup.state {
        BackupState::Running if !backup.is_alive(Timestamp::now()) => (page.s("backup.interrupted"), "bad"),
        BackupState::Running => (page.s("backup.running"), "accent"),
        BackupState::Kept if backup.needs_stores => (page.s("backup.kept-databases"), ""),
        BackupState::Kept => (page.s("backup.kept"), ""),
        BackupState::Failed => (page.s("backup.failed"), "bad"),
        BackupState::Removed => (page.s("backup.removed"), ""),
    };
    let (bytes, added) = (model::unsigned(backup.bytes), model::unsigned(backup.new_bytes));
    BackupLine { backup, state, tone, bytes, added }
}

/// Shows the page.
pub async fn show(mut visit: Visit, Query(from): Query<Before>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/backups")?;
    let before = if from.before.is_empty() { None } else { Some(from.before.parse()?) };
    let mut backups = visit.session.backups(before, PAGE + 1).await?;
    let more = backups.len() > PAGE;
    backups.truncate(PAGE);
    let next = backups.last().filter(|_| more).map(|last| last.id.to_string());
    let kept = visit.session.newest_backups().await?;
    let newest_databases = kept.databases.filter(|at| kept.whole.is_none_or(|whole| whole < *at));
    let page = &visit.page;
    let lines = backups.into_iter().map(|backup| line(page, backup)).collect();
    Ok(html(&BackupsPage { page, lines, next, newest: kept.whole, newest_databases, drilled: kept.drill }))
}

//! `strongroom blobs collect`: removes unreferenced BLOBs.

use clap::Args;
use model::Result;
use repository::{CollectWork, Session, Work};

use super::run_job;
use crate::commands::size::{parse_size, whole};
use crate::commands::verdict::CommandResult;

#[derive(Args)]
pub struct Collect {
    /// Only report what would be done
    #[arg(long)]
    dry_run: bool,
    /// Days to keep a BLOB after its last document was permanently deleted [default: 30]
    #[arg(long, value_name = "DAYS", value_parser = whole::<u32>)]
    window: Option<u32>,
    /// Hours before a BLOB that no database knows is quarantined, at least 1 [default: 24]
    #[arg(long, value_name = "HOURS", value_parser = whole::<u32>)]
    orphan_window: Option<u32>,
    /// Days that such BLOBs stay in quarantine [default: 7]
    #[arg(long, value_name = "DAYS", value_parser = whole::<u32>)]
    quarantine: Option<u32>,
    /// Delete unreferenced BLOBs at once, without window and quarantine; documents in recycle bins keep their BLOBs
    #[arg(long, conflicts_with_all = ["window", "quarantine"])]
    immediate: bool,
    /// Maximum percentage of all BLOBs to delete; the job stops before deleting anything if it would delete a larger
    /// share and more than 50 BLOBs [default: 20]
    #[arg(long, value_name = "PERCENT", value_parser = whole::<u8>)]
    share: Option<u8>,
    /// Seconds after which the job pauses, at least 1; a resumed job continues where it stopped
    #[arg(long, value_name = "SECONDS", value_parser = whole::<u64>)]
    time_limit: Option<u64>,
    /// Limit on deletion in bytes per second, such as 100M
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    rate: Option<u64>,
    /// Let a server of the farm run the job in the background
    #[arg(long)]
    background: bool,
}

impl Collect {
    pub async fn run(self, session: &Session, as_json: bool) -> Result<CommandResult> {
        let usual = CollectWork::default();
        let now = self.immediate.then_some(0);
        let collect = CollectWork {
            window_days: now.or(self.window).unwrap_or(usual.window_days),
            orphan_hours: self.orphan_window.unwrap_or(if self.immediate { 1 } else { usual.orphan_hours }),
            quarantine_days: now.or(self.quarantine).unwrap_or(usual.quarantine_days),
            dry_run: self.dry_run,
            share: self.share.unwrap_or(usual.share),
            time_limit: self.time_limit,
            rate: self.rate,
        };
        run_job::run(session, Work::Collect(collect), self.background, as_json).await
    }
}

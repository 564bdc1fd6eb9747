//! `strongroom blobs collect`: removes BLOBs that nothing refers to.

use clap::Args;
use model::Result;
use repository::{CollectWork, Session, Work};

use super::work;
use crate::commands::size::parse_size;
use crate::commands::verdict::Shown;

#[derive(Args)]
pub struct Collect {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Days that BLOBs are kept after the last document that had them is gone for good [default: 30]
    #[arg(long, value_name = "DAYS")]
    window: Option<u32>,
    /// Hours after which BLOBs that no database knows are put into quarantine, at least 1 [default: 24]
    #[arg(long, value_name = "HOURS")]
    orphan_window: Option<u32>,
    /// Days that they stay there [default: 7]
    #[arg(long, value_name = "DAYS")]
    quarantine: Option<u32>,
    /// No window and no quarantine: delete at once what no document has. What lies in recycle bins is kept
    #[arg(long, conflicts_with_all = ["window", "quarantine"])]
    immediate: bool,
    /// Percent of all BLOBs that may be deleted; more, and more than 50, stops the collection before it deletes anything [default: 20]
    #[arg(long, value_name = "PERCENT")]
    share: Option<u8>,
    /// Seconds after which the job pauses, at least 1; resuming it goes on where it was
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<u64>,
    /// Bytes a second that may be deleted, such as 100M
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    rate: Option<u64>,
    /// Leave the work to a server of the farm
    #[arg(long)]
    background: bool,
}

impl Collect {
    pub async fn run(self, session: &Session, as_json: bool) -> Result<Shown> {
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
        work::run(session, Work::Collect(collect), self.background, as_json).await
    }
}

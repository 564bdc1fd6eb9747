//! `strongroom blobs migrate`: moves BLOBs from store to store.

use clap::Args;
use model::{Id, NodePath, Result};
use repository::{MigrateWork, Session, Target, Work};

use super::run_job;
use crate::commands::size::{parse_size, whole};
use crate::commands::verdict::CommandResult;

#[derive(Args)]
pub struct Migrate {
    /// Only BLOBs that this content database refers to
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
    /// Target store
    #[arg(long, value_name = "STORE")]
    to: String,
    /// Only BLOBs in this store [default: every store but the target]
    #[arg(long, value_name = "STORE")]
    from: Option<String>,
    /// Only documents of this library or site collection
    #[arg(long, value_name = "SITE[/LIBRARY]")]
    within: Option<String>,
    /// Only BLOBs of at least this size, such as 64k [default: for BLOBs in a content database, the minimum size of its
    /// policy]
    #[arg(long, visible_alias = "minimum-size", value_name = "SIZE", value_parser = parse_size)]
    min_size: Option<u64>,
    /// Only BLOBs of at most this size
    #[arg(long, visible_alias = "maximum-size", value_name = "SIZE", value_parser = parse_size)]
    max_size: Option<u64>,
    /// Only BLOBs stored at least this many days ago
    #[arg(long, value_name = "DAYS", value_parser = whole::<u32>)]
    older_than: Option<u32>,
    /// Only BLOBs not read for this many days
    #[arg(long, value_name = "DAYS", value_parser = whole::<u32>)]
    not_read_for: Option<u32>,
    /// Limit in bytes per second, such as 20M [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    rate: Option<u64>,
    /// Stop after this many BLOBs
    #[arg(long, value_name = "NUMBER", value_parser = whole::<u64>)]
    limit: Option<u64>,
    /// Let a server of the farm run the job in the background
    #[arg(long)]
    background: bool,
}

impl Migrate {
    pub async fn run(self, session: &Session, as_json: bool) -> Result<CommandResult> {
        let within = match &self.within {
            Some(path) => Some(session.item(&Target::Path(NodePath::parse(path.trim_matches('/'))?)).await?.id),
            None => None,
        };
        let migrate = MigrateWork {
            database: self.database,
            from: self.from,
            to: Some(self.to),
            minimum_size: self.min_size,
            maximum_size: self.max_size,
            older_than_days: self.older_than,
            unread_days: self.not_read_for,
            library: within.map(Id::get),
            rate: self.rate,
            limit: self.limit,
            not_from: Vec::new(),
        };
        run_job::run(session, Work::Migrate(migrate), self.background, as_json).await
    }
}

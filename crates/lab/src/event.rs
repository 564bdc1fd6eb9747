//! Events of a run, for observers while it is in progress.

use std::time::Duration;

use crate::measure::Window;

/// An event of a run in progress.
#[derive(Clone, Debug)]
pub enum Event {
    /// The corpus is being loaded: documents sent, and the total.
    Loading(u64, u64),
    /// The search index follows the corpus: number of documents and changes that it lacks.
    Indexing(u64),
    /// A full crawl is measured: documents read so far, and the total as far as it is known.
    Crawling(u64, u64),
    /// The load begins, with its duration.
    Begins(Duration),
    /// A second is complete.
    Second(Box<Window>),
    /// An agent is lost, with the reason.
    AgentLost(String),
    /// Something that the run created on a target could not be removed, with the reason.
    NotRemoved(String),
    /// Something that the plan wants monitored is unavailable, with the reason.
    MonitorUnavailable(String),
    /// The load is over; operations in flight may still end.
    Ending,
}

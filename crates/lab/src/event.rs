//! Events of a run, for whoever follows it while it goes on.

use std::time::Duration;

use crate::measure::Window;

/// An event of a run that goes on.
#[derive(Clone, Debug)]
pub enum Event {
    /// The corpus is being loaded: documents sent, of how many.
    Loading(u64, u64),
    /// The load begins; it lasts so long.
    Begins(Duration),
    /// A second is over.
    Second(Box<Window>),
    /// An agent is lost, and why.
    Lost(String),
    /// Something that the run made on a target is still there, and why.
    Left(String),
    /// Something that the plan wants watched is not there, and why.
    Unwatched(String),
    /// The load is over; operations that are on their way still end.
    Ending,
}

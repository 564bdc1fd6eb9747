//! Measurements during a run: counted by each thread, and merged from threads and machines without loss.

mod collector;
mod flush;
mod parts;
mod recorder;

#[cfg(test)]
pub use collector::WindowOperation;
pub use collector::{Collector, Totals, Window};
pub use flush::{Distribution, Flush};
pub use parts::{PartFigures, WindowPart};
pub use recorder::Recorder;

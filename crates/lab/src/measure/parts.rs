//! Figures of each server or agent, where several should be equal, in addition to the overall figures.

use serde::{Deserialize, Serialize};

use super::flush::{Flush, FlushPart};

/// Figures of one server or agent in one second.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct WindowPart {
    /// Operations that succeeded.
    pub done: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Median latency in milliseconds.
    pub p50: f64,
}

/// Figures of parts by index; `None` for a part without measurements.
#[derive(Clone, Debug, Default)]
pub struct PartFigures(pub Vec<Option<FlushPart>>);

impl PartFigures {
    /// Adds measurements to a part.
    pub fn add(&mut self, place: usize, part: &FlushPart) {
        if self.0.len() <= place {
            self.0.resize(place + 1, None);
        }
        let known = self.0[place].get_or_insert_default();
        known.done += part.done;
        known.failed += part.failed;
        known.latency.merge(&part.latency);
    }

    /// Returns the figures of each part that a window keeps.
    pub fn to_window_parts(&self) -> Vec<Option<WindowPart>> {
        let keep =
            |part: &FlushPart| WindowPart { done: part.done, failed: part.failed, p50: part.latency.percentile(50.0) };
        self.0.iter().map(|part| part.as_ref().map(keep)).collect()
    }
}

/// Sums all operations of a flush.
pub fn sum_operations(flush: &Flush) -> FlushPart {
    let mut whole = FlushPart::default();
    for measured in &flush.operations {
        whole.done += measured.done;
        whole.failed += measured.failed;
        whole.latency.merge(&measured.latency);
    }
    whole
}

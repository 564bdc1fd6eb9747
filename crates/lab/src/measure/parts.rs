//! Figures of servers or agents that should be equal, beside those of all together.

use serde::{Deserialize, Serialize};

use super::flush::{Flush, FlushPart};

/// A part of the load in one second: that of a server or of an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct WindowPart {
    /// Operations that succeeded.
    pub done: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Median latency in milliseconds.
    pub p50: f64,
}

/// Parts by their place; one that nothing came from has none.
#[derive(Clone, Debug, Default)]
pub struct PartFigures(pub Vec<Option<FlushPart>>);

impl PartFigures {
    /// Takes what was measured of a part.
    pub fn add(&mut self, place: usize, part: &FlushPart) {
        if self.0.len() <= place {
            self.0.resize(place + 1, None);
        }
        let known = self.0[place].get_or_insert_default();
        known.done += part.done;
        known.failed += part.failed;
        known.latency.merge(&part.latency);
    }

    /// What a report keeps of each.
    pub fn window(&self) -> Vec<Option<WindowPart>> {
        let keep =
            |part: &FlushPart| WindowPart { done: part.done, failed: part.failed, p50: part.latency.percentile(50.0) };
        self.0.iter().map(|part| part.as_ref().map(keep)).collect()
    }
}

/// All operations of a flush together.
pub fn whole(flush: &Flush) -> FlushPart {
    let mut whole = FlushPart::default();
    for measured in &flush.operations {
        whole.done += measured.done;
        whole.failed += measured.failed;
        whole.latency.merge(&measured.latency);
    }
    whole
}

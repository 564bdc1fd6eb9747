//! Work that nobody clicked for, or that takes long: importing and exporting whole trees, and the hourly clean-up.
//!
//! This room knows files of the machine and what a [`repository::Session`] offers. It knows no SQL, no terminal and no
//! wire format: callers watch a [`Progress`] and hear of each [`Fault`].

mod clean_up;
mod export;
mod import;
mod posix;
mod progress;

pub use clean_up::{RECYCLE_DAYS, clean_up_hourly};
pub use export::{ExportOptions, ExportSummary, export};
pub use import::{ImportOptions, ImportSummary, Mapping, import};
pub use progress::{Fault, Progress, Reason};

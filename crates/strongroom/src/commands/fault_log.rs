//! Log of items that import and export skipped: the first faults for display, all faults in a report file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use maintenance::{Fault, Reason};
use model::{Error, Result};
use serde_json::{Value, json};

use super::output::table;

/// Maximum number of faults shown one by one. The report file has all faults.
const SHOWN: usize = 20;

/// Collects faults: all in the report file, the first ones in memory.
#[derive(Clone)]
pub struct FaultLog {
    inner: Arc<Mutex<Log>>,
}

struct Log {
    first: Vec<Fault>,
    report: Option<(PathBuf, BufWriter<File>)>,
    failure: Option<std::io::Error>,
}

impl FaultLog {
    /// Starts a log. The report is a new file with one JSON object per line; an existing file is overwritten.
    pub fn begin(report: Option<&Path>) -> Result<Self> {
        let report = match report {
            Some(path) => {
                let file = File::create(path).map_err(|error| unwritable(path, error))?;
                Some((path.to_owned(), BufWriter::new(file)))
            }
            None => None,
        };
        Ok(Self { inner: Arc::new(Mutex::new(Log { first: Vec::new(), report, failure: None })) })
    }

    /// Returns the callback that records each fault.
    pub fn listener(&self) -> impl FnMut(&Fault) + Send + 'static {
        let inner = self.inner.clone();
        move |fault| {
            let mut log = inner.lock().unwrap_or_else(PoisonError::into_inner);
            if log.first.len() < SHOWN {
                log.first.push(fault.clone());
            }
            if let Some((_, file)) = &mut log.report
                && let Err(error) = writeln!(file, "{}", line(fault))
            {
                log.failure.get_or_insert(error);
            }
        }
    }

    /// Ends the log. Returns the first faults, and a text with them and a table of all faults by reason.
    pub fn finish(self, counts: &BTreeMap<Reason, u64>) -> Result<(Value, String)> {
        let mut log = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let failure = log.failure.take();
        let mut named = String::new();
        if let Some((path, file)) = &mut log.report {
            failure.map_or_else(|| file.flush(), Err).map_err(|error| unwritable(path, error))?;
            named = format!("All of them are in {}.\n", path.display());
        }
        if counts.is_empty() {
            return Ok((json!([]), String::new()));
        }
        let mut text = String::from("\nSkipped:\n");
        for fault in &log.first {
            text.push_str(&format!("  {}: {}\n", fault.path, fault.message));
        }
        let total: u64 = counts.values().sum();
        let more = total.saturating_sub(log.first.len() as u64);
        if more > 0 {
            text.push_str(&format!("  and {more} more\n"));
        }
        if log.report.is_none() && more > 0 {
            named = "Use --report FILE to write all of them to a file.\n".to_owned();
        }
        let rows: Vec<_> = counts.iter().map(|(reason, n)| [n.to_string(), reason.meaning().to_owned()]).collect();
        text.push_str(&format!("\n{}{named}", table(["Items", "Why"], &rows)));
        Ok((log.first.iter().map(line).collect(), text))
    }
}

fn line(fault: &Fault) -> Value {
    json!({ "path": fault.path, "reason": fault.reason.as_str(), "message": fault.message })
}

fn unwritable(path: &Path, error: std::io::Error) -> Error {
    Error::unavailable(format!("the report {} cannot be written: {error}", path.display())).with_source(error)
}

//! Log of items that import and export skipped: the first faults and an example of every reason for display, all faults
//! in a report file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use maintenance::{Fault, Reason};
use model::{Error, Result, counted, grouped};
use serde_json::{Value, json};

use super::output::table;

/// Maximum number of faults shown one by one. If there are more, an example of each reason is shown instead, so that
/// common reasons do not hide rare ones. The report file has all faults.
const SHOWN: usize = 20;

/// Collects faults: all in the report file, the first ones and one of each reason in memory.
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
            if log.first.len() < SHOWN || log.first.iter().all(|known| known.reason != fault.reason) {
                log.first.push(fault.clone());
            }
            if let Some((_, file)) = &mut log.report
                && let Err(error) = writeln!(file, "{}", line(fault))
            {
                log.failure.get_or_insert(error);
            }
        }
    }

    /// Ends the log. Returns the faults in memory, and a text with a table of all faults by reason. The text lists all
    /// faults if they are few, otherwise an example of each reason.
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
        let total: u64 = counts.values().sum();
        let mut text = format!("\nSkipped {}:\n", counted(total, "item"));
        if total <= log.first.len() as u64 {
            for fault in &log.first {
                text.push_str(&format!("  {}: {}\n", fault.path, fault.message));
            }
            let rows: Vec<_> = counts.iter().map(|(reason, n)| [grouped(*n), reason.meaning().to_owned()]).collect();
            text.push_str(&format!("\n{}", table(["ITEMS", "WHY"], &rows)));
        } else {
            let example = |reason: &Reason| {
                let fault = log.first.iter().find(|fault| fault.reason == *reason);
                fault.map_or_else(String::new, |fault| format!("{}: {}", fault.path, fault.message))
            };
            let row = |(reason, n): (&Reason, &u64)| [grouped(*n), reason.meaning().to_owned(), example(reason)];
            let rows: Vec<_> = counts.iter().map(row).collect();
            text.push_str(&table(["ITEMS", "WHY", "EXAMPLE"], &rows));
            if log.report.is_none() {
                named = "Use --report FILE to write all of them to a file.\n".to_owned();
            }
        }
        text.push_str(&named);
        Ok((log.first.iter().map(line).collect(), text))
    }
}

fn line(fault: &Fault) -> Value {
    json!({ "path": fault.path, "reason": fault.reason.as_str(), "message": fault.message })
}

fn unwritable(path: &Path, error: std::io::Error) -> Error {
    Error::unavailable(format!("the report {} cannot be written: {error}", path.display())).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text for a number of links followed by one file that cannot be read.
    fn text(links: u64) -> String {
        let log = FaultLog::begin(None).unwrap();
        let mut listener = log.listener();
        let fault = |path: String, reason, message: &str| Fault { path, reason, message: message.to_owned() };
        (0..links).for_each(|n| listener(&fault(format!("link {n}"), Reason::Link, "a link")));
        listener(&fault("rare".to_owned(), Reason::Unreadable, "permission denied"));
        log.finish(&BTreeMap::from([(Reason::Link, links), (Reason::Unreadable, 1)])).unwrap().1
    }

    #[test]
    fn common_reasons_do_not_hide_rare_ones() {
        let few = text(3);
        for words in ["Skipped 4 items:", "  link 0: a link\n", "  link 2: a link\n", "  rare: permission denied\n"] {
            assert!(few.contains(words), "{words}: {few}");
        }
        let many = text(1_200);
        for words in ["Skipped 1,201 items:", "  link 0: a link\n", "  rare: permission denied\n", "--report FILE"] {
            assert!(many.contains(words), "{words}: {many}");
        }
        assert!(!many.contains("link 1:"), "{many}");
    }
}

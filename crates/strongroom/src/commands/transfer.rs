//! What import and export share on the command line: the progress bar, the report of what was not taken, sizes for
//! people.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use maintenance::{Fault, Progress, Reason};
use model::{Error, Result};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::output::table;

/// Faults that are shown one by one; all are in the report.
const SHOWN: usize = 20;

/// Whether progress is shown: only people on a terminal look at it.
pub fn shows_progress(json: bool) -> bool {
    !json && std::io::stderr().is_terminal()
}

/// A bar that follows a task's counters until it is dropped.
pub struct Bar {
    bar: ProgressBar,
    follower: JoinHandle<()>,
}

impl Bar {
    /// Shows the progress of a task with files and bytes; nothing when `shown` is not set.
    pub fn of_task(progress: &Arc<Progress>, shown: bool) -> Option<Self> {
        if !shown {
            return None;
        }
        let bar = new_bar();
        let (follower, progress) = (bar.clone(), progress.clone());
        let started = Instant::now();
        let follower = tokio::spawn(async move {
            let mut tick = tokio::time::interval(Duration::from_millis(200));
            loop {
                tick.tick().await;
                let ((files, bytes), (all_files, all_bytes)) = (progress.done(), progress.total());
                let mut text = format!("{} of {} files", HumanCount(files), HumanCount(all_files.max(files)));
                text.push_str(&pace(bytes, all_bytes, started.elapsed(), progress.is_total_known()));
                follower.set_length(all_bytes.max(1));
                follower.set_position(bytes.min(all_bytes));
                follower.set_message(text);
            }
        });
        Some(Self { bar, follower })
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.follower.abort();
        self.bar.finish_and_clear();
    }
}

/// A bar without a follower, for tasks that tell their bytes themselves.
pub fn new_bar() -> ProgressBar {
    let bar = ProgressBar::new(1);
    // The template is a constant without unknown parts.
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3}%  {msg}") {
        bar.set_style(style);
    }
    bar
}

/// Bytes, rate and time left as a person reads them.
pub fn pace(bytes: u64, all: u64, elapsed: Duration, known: bool) -> String {
    let rate = bytes as f64 / elapsed.as_secs_f64().max(0.001);
    let mut text = format!(", {} of {}, {}/s", size(bytes), size(all.max(bytes)), size(rate as u64));
    if known && rate > 0.0 {
        let left = Duration::from_secs_f64((all.saturating_sub(bytes) as f64 / rate).min(1e9));
        text.push_str(&format!(", {} left", HumanDuration(left)));
    }
    text
}

/// A number of bytes for people.
pub fn size(bytes: u64) -> String {
    BinaryBytes(bytes).to_string()
}

/// Reads a size such as `64k`, `1.5 GiB` or `1048576`: powers of 1,024.
pub fn parse_size(text: &str) -> std::result::Result<u64, String> {
    let wrong = || format!("\"{text}\" is no size: write it as 65536, 64k, 10M, 2G or 1T");
    let lower = text.trim().to_lowercase();
    let number = lower.trim_end_matches(|c: char| !c.is_ascii_digit() && c != '.');
    let power = match lower[number.len()..].trim() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        _ => return Err(wrong()),
    };
    let value: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = value * 1024_f64.powi(power);
    if bytes.is_finite() && (0.0..=i64::MAX as f64).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

/// Collects faults: all of them in the report file, the first ones in memory.
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
    /// Begins a log; the report is a new file with a JSON object on each line.
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

    /// What hears of each fault.
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

    /// Ends the log: the first faults, and a table of all by reason.
    pub fn end(self, counts: &BTreeMap<Reason, u64>) -> Result<(Value, String)> {
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
        let mut text = String::from("\nNot taken:\n");
        for fault in &log.first {
            text.push_str(&format!("  {}: {}\n", fault.path, fault.message));
        }
        let total: u64 = counts.values().sum();
        let more = total.saturating_sub(log.first.len() as u64);
        if more > 0 {
            text.push_str(&format!("  and {more} more\n"));
        }
        if log.report.is_none() && more > 0 {
            named = "Use --report FILE to have all of them written to a file.\n".to_owned();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [("0", 0), ("65536", 65536), ("64k", 65536), ("1.5 GiB", 1_610_612_736), ("2MB", 2 << 20)]
        {
            assert_eq!(parse_size(text).unwrap(), bytes, "{text}");
        }
        for bad in ["", "k", "-1", "1x", "1e400", "9999999999999T", "1..2"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}

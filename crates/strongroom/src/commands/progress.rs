//! Progress bars, for people on a terminal. Knows no command.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use maintenance::Progress;
use tokio::task::JoinHandle;

use super::size::size;

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

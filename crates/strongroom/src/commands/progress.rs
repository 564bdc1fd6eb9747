//! Progress bars for people at a terminal. Independent of any particular command.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use maintenance::Progress;
use model::grouped;
use tokio::task::JoinHandle;

use super::size::size;

/// Returns whether to show progress: only if standard error is a terminal and JSON was not requested.
pub fn shows_progress(json: bool) -> bool {
    !json && std::io::stderr().is_terminal()
}

/// A progress bar that follows a task's counters until it is dropped.
pub struct Bar {
    bar: ProgressBar,
    follower: JoinHandle<()>,
}

impl Bar {
    /// Shows a task's progress in files and bytes. Returns `None` if `shown` is false.
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
                let mut text = format!("{} of {} files", grouped(files), grouped(all_files.max(files)));
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

/// Creates a bar that follows no counters, for tasks that report their bytes themselves.
pub fn new_bar() -> ProgressBar {
    let bar = ProgressBar::new(1);
    // The template is a constant without unknown placeholders.
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3}%  {msg}") {
        bar.set_style(style);
    }
    bar
}

/// Formats bytes, rate and remaining time for people. The remaining time is left out unless the total is `known`.
pub fn pace(bytes: u64, all: u64, elapsed: Duration, known: bool) -> String {
    let rate = bytes as f64 / elapsed.as_secs_f64().max(0.001);
    let mut text = format!(", {} of {}, {}/s", size(bytes), size(all.max(bytes)), size(rate as u64));
    if known && rate > 0.0 {
        let left = Duration::from_secs_f64((all.saturating_sub(bytes) as f64 / rate).min(1e9));
        text.push_str(&format!(", {} left", HumanDuration(left)));
    }
    text
}

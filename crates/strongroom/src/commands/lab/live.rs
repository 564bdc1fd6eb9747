//! Live progress of a run in the terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lab::report::{milliseconds, number, plain};
use lab::{Event, Window};

use crate::commands::progress::shows_progress;

/// A progress line for a run. Without a terminal no line is shown; important events are printed in any case.
pub struct Live {
    bar: Option<ProgressBar>,
}

impl Live {
    /// Creates the progress line, hidden if `json` is set or standard error is not a terminal.
    pub fn new(json: bool) -> Self {
        let bar = shows_progress(json).then(|| ProgressBar::new(1));
        if let Some(bar) = &bar
            // The template is a constant without unknown placeholders.
            && let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3}%  {msg}")
        {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// Processes an event of the run.
    pub fn take(&mut self, event: Event) {
        if let Event::AgentLost(why) | Event::NotRemoved(why) | Event::MonitorUnavailable(why) = &event {
            match &self.bar {
                Some(bar) => bar.println(plain(why)),
                None => eprintln!("{}", plain(why)),
            }
        }
        let Some(bar) = &self.bar else { return };
        match event {
            Event::Loading(sent, all) => {
                bar.set_length(all);
                bar.set_position(sent);
                bar.set_message(format!("loading the corpus: {sent} of {all} documents"));
            }
            Event::Indexing(left) => {
                bar.set_message(format!("waiting for the search index: {left} changes left"));
            }
            Event::Crawling(read, all) => {
                bar.set_length(all.max(1));
                bar.set_position(read);
                bar.set_message(format!("a full crawl: {read} of {all} documents"));
            }
            Event::Begins(lasts) => {
                bar.set_length(lasts.as_secs().max(1));
                bar.set_position(0);
                bar.set_message("the load is starting");
                bar.enable_steady_tick(Duration::from_millis(250));
            }
            Event::Second(window) => {
                bar.set_position(window.second + 1);
                bar.set_message(line(&window));
            }
            Event::Ending => bar.set_message("waiting for the last responses"),
            Event::AgentLost(_) | Event::NotRemoved(_) | Event::MonitorUnavailable(_) => {}
        }
    }

    /// Removes the progress line.
    pub fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn line(window: &Window) -> String {
    let counted = if window.counted { "" } else { ", not counted yet" };
    format!(
        "{} s: {} responses/s, {} failed, p50 {}, p99 {}, load {}{counted}",
        window.second + 1,
        window.done,
        window.failed,
        milliseconds(window.p50),
        milliseconds(window.p99),
        number(window.level),
    )
}

//! One run, from the plan to the result: target, corpus, load, monitors, result.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::LocalBoxFuture;
use tokio::sync::mpsc;

use crate::agent;
use crate::corpus::{Corpus, Loaded, SearchableTexts};
use crate::crawl::{crawl, wait_for_index};
use crate::diagnosis;
use crate::engine::{self, Mix, Setup};
use crate::error::{Error, Result};
use crate::evaluation::{Measurements, evaluate};
use crate::event::Event;
use crate::loading::load;
use crate::measure::{Collector, Flush, Window};
use crate::monitor::Series;
use crate::options::RunOptions;
use crate::people::People;
use crate::random::random_word;
use crate::result::{CorpusResult, CrawlResult, RunResult};
use crate::stop::Stop;
use crate::watch::Monitors;
use crate::wire::{Target, TargetKind};

/// Limit on the bytes of a plan.
const MAX_PLAN: u64 = 1 << 20;

/// Runs a plan.
///
/// # Errors
/// If the target must not be put under load or cannot be reached, the corpus or the accounts cannot be created, a
/// monitor cannot be started, no agent does its part, or the run is interrupted before the load. Faults under load are
/// not errors: they are part of the result.
pub fn run<'a>(
    plan_text: &'a str,
    wishes: &'a RunOptions,
    tell: impl FnMut(Event) + 'a,
) -> LocalBoxFuture<'a, Result<RunResult>> {
    run_plan(plan_text, wishes, Box::new(tell))
}

fn run_plan<'a>(
    plan_text: &'a str,
    wishes: &'a RunOptions,
    mut tell: Box<dyn FnMut(Event) + 'a>,
) -> LocalBoxFuture<'a, Result<RunResult>> {
    Box::pin(async move {
        let plan = Arc::new(wishes.changes.apply(plan_text)?);
        let given = (wishes.target.as_deref(), &wishes.twins[..]);
        let stop = &wishes.stop;
        let targets = Target::all(&plan.target, given.0, given.1, wishes.login.clone(), wishes.confirmed);
        let (target, twins) = stop.unless_requested(targets).await?;
        let mix = stop.unless_requested(Mix::new(&plan, &target)).await?;
        let target_version = stop.unless_requested(async { Ok(engine::version(&target).await) }).await?;
        let corpus = Arc::new(Corpus::new(plan.corpus.clone()));
        let loaded = stop.unless_requested(load_corpus(&target, &corpus, &mut *tell)).await?;
        for twin in &twins {
            // Twins in the same farm already have it.
            stop.unless_requested(load_corpus(twin, &corpus, &mut *tell)).await?;
        }
        let mut searchable = if loaded.documents > 0 { SearchableTexts::All } else { SearchableTexts::Heads };
        if target.kind == TargetKind::Strongroom && (plan.searches_texts() || plan.crawl) {
            for server in std::iter::once(&target).chain(&twins) {
                if !wait_for_index(server, stop, &mut *tell).await? {
                    searchable = SearchableTexts::None;
                }
            }
        }
        if plan.replaces_documents() {
            searchable = SearchableTexts::None;
        }
        let documents = corpus.count();
        let described = CorpusResult { documents, bytes: corpus.bytes(), loaded };
        let run = random_word();
        let servers = std::iter::once(&target).chain(&twins).cloned().collect();
        let people = People::create(&plan, servers, &run, stop).await?;
        // Started last, so that its seconds coincide with those of the load.
        let watching = Monitors::start(&plan, &target, &wishes.agents, &wishes.agent_token, wishes.confirmed);
        let watch = match watching.await {
            Ok((watch, unwatched)) => {
                unwatched.into_iter().for_each(|why| tell(Event::MonitorUnavailable(why)));
                watch
            }
            Err(error) => {
                people.remove(stop).await.into_iter().for_each(|why| tell(Event::NotRemoved(why)));
                return Err(error);
            }
        };
        let setup = Setup {
            plan: plan.clone(),
            target: target.clone(),
            twins,
            corpus,
            run,
            people: people.logins.clone(),
            searchable,
            generator_index: (0, 1),
        };
        let started_at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let generators = u32::try_from(wishes.agents.len().max(1)).unwrap_or(1);
        let threads = generators * u32::try_from(plan.load.threads).unwrap_or(1);
        let collector = Collector::new(mix.parts.len(), plan.load.course(), threads);
        let (to, from) = mpsc::unbounded_channel();
        tell(Event::Begins(plan.load.course().lasts()));
        let measured = if wishes.agents.is_empty() {
            match engine::start(&setup, &mix, &to) {
                Ok(running) => {
                    drop(to);
                    let end = || running.stop();
                    Ok(collect(collector, from, plan.load.course().lasts(), &mut *tell, stop, end).await)
                }
                Err(error) => Err(error),
            }
        } else {
            agent::run_on_agents(&setup, plan_text, wishes, collector, &mut *tell).await
        };
        people.remove(stop).await.into_iter().for_each(|why| tell(Event::NotRemoved(why)));
        let (windows, totals) = measured?;
        let monitors = final_series(watch, &windows, stop).await;
        let crawl = if plan.crawl { Some(measure_crawl(&target, stop, &mut *tell).await) } else { None };
        let label = wishes.label.clone().unwrap_or_else(|| plan.name.clone());
        let parts = Measurements {
            plan_text,
            setup: &setup,
            agents: &wishes.agents,
            mix: &mix,
            started_at,
            corpus: described,
            windows,
            totals,
            monitors,
            crawl,
            threads,
            label,
            target_version,
            stopped_deliberately: stop.is_finished(),
        };
        Ok(evaluate(parts))
    })
}

/// Measures a full crawl, unless the target has none or the user interrupted the run.
async fn measure_crawl(target: &Arc<Target>, stop: &Stop, tell: &mut dyn FnMut(Event)) -> CrawlResult {
    if target.kind != TargetKind::Strongroom {
        return CrawlResult::failed("the target does not offer it: needs REST of Strongroom");
    }
    if stop.is_requested() || stop.is_finished() {
        return CrawlResult::failed("the run ended early");
    }
    crawl(target, stop, tell).await
}

/// Collects the measurements of the threads until they have ended.
async fn collect(
    mut collector: Collector,
    mut from: mpsc::UnboundedReceiver<Flush>,
    lasts: Duration,
    tell: &mut dyn FnMut(Event),
    stop: &Stop,
    end: impl Fn(),
) -> (Vec<Window>, crate::measure::Totals) {
    let mut interrupted = false;
    loop {
        let flush = tokio::select! {
            flush = from.recv() => flush,
            () = stop.first_request(), if !interrupted => {
                interrupted = true;
                end();
                tell(Event::Ending);
                continue;
            }
        };
        let Some(flush) = flush else { return collector.end() };
        for window in collector.take(None, flush) {
            let last = window.second + 1 >= lasts.as_secs();
            tell(Event::Second(Box::new(window)));
            if last {
                tell(Event::Ending);
            }
        }
    }
}

/// Returns the series of the monitors. Memory that grew all the time is monitored a little longer: memory that a server
/// releases when it is idle is not a leak.
async fn final_series(watch: Monitors, windows: &[Window], stop: &Stop) -> Vec<Series> {
    let begun = Instant::now();
    while diagnosis::may_grow(&watch.series(), windows)
        && begun.elapsed() < diagnosis::WATCH_TIME
        && !stop.is_requested()
    {
        // sleep: readings come once a second
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    watch.series()
}

async fn load_corpus(target: &Arc<Target>, corpus: &Arc<Corpus>, tell: &mut dyn FnMut(Event)) -> Result<Loaded> {
    let sent = Arc::new(AtomicU64::new(0));
    let mut loading = std::pin::pin!(load(target.clone(), corpus.clone(), sent.clone()));
    loop {
        match tokio::time::timeout(Duration::from_millis(250), &mut loading).await {
            Ok(loaded) => return loaded,
            Err(_) => tell(Event::Loading(sent.load(std::sync::atomic::Ordering::Relaxed), corpus.count())),
        }
    }
}

/// Reads a plan from a file, or a shipped plan by its name.
///
/// # Errors
/// If there is neither, or the file exceeds the limit.
pub fn read_plan(name: &str) -> Result<String> {
    let path = std::path::Path::new(name);
    if path.extension().is_none() && !path.exists() {
        return crate::plan::shipped(name).map(str::to_owned);
    }
    let wrong = |why: &dyn std::fmt::Display| Error::new(format!("the plan {name} cannot be read: {why}"));
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MAX_PLAN + 1).read_to_end(&mut bytes));
    if read.map_err(|error| wrong(&error))? as u64 > MAX_PLAN {
        return Err(wrong(&"it is larger than 1 MB"));
    }
    String::from_utf8(bytes).map_err(|error| wrong(&error))
}

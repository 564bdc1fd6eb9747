//! A Prometheus endpoint, read once a second: gauges as they are, counters as rates.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{EVERY, Reading};
use crate::engine::on_own_thread;
use crate::error::{Error, Result};
use crate::plan::{Plan, TargetPlan};
use crate::wire::{Ask, Client, Target};

/// Longest time of one look.
const PATIENCE: Duration = Duration::from_secs(5);

/// An endpoint.
pub struct Endpoint {
    target: Arc<Target>,
    path: String,
    figures: Vec<String>,
}

impl Endpoint {
    /// An endpoint on a host that the plan names, or on the target.
    pub async fn new(plan: &Plan, target: &Target, url: &str, figures: Vec<String>) -> Result<Self> {
        let url = if url.starts_with('/') { format!("{}{url}", target.url) } else { url.to_owned() };
        let begins = url.find("://").map_or(0, |at| at + 3);
        let slash = url[begins..].find('/').map_or(url.len(), |at| at + begins);
        let (address, path) = url.split_at(slash);
        let mut hosts = plan.target.hosts.clone();
        hosts.extend(plan.target.url.clone());
        hosts.push(target.url.clone());
        let asked = TargetPlan { hosts, ..TargetPlan::default() };
        // Reading figures is no load: nobody has to confirm it.
        let target = Target::new(&asked, Some(address), None, true).await;
        let target = target.map_err(|error| Error::new(format!("the monitor {url}: {error}")))?;
        Ok(Self {
            target: Arc::new(target),
            path: if path.is_empty() { "/metrics".to_owned() } else { path.to_owned() },
            figures,
        })
    }

    /// Looks once a second.
    pub async fn watch(self, keep: impl Fn(Vec<Reading>) + Send + 'static) {
        // A connection stays on its thread; the thread ends when nobody asks any more.
        let (to, mut from) = tokio::sync::mpsc::channel::<Vec<Reading>>(4);
        let looking = on_own_thread(move || async move {
            let mut client = Client::new(self.target.clone());
            let mut before: HashMap<String, f64> = HashMap::new();
            let mut clock = tokio::time::interval(EVERY);
            let mut looked = Instant::now();
            loop {
                clock.tick().await;
                let answer = tokio::time::timeout(PATIENCE, client.send(Ask::get(self.path.as_str()))).await;
                let Ok(Ok(answer)) = answer else {
                    client.hang_up();
                    if to.is_closed() {
                        return;
                    }
                    continue;
                };
                let seconds = looked.elapsed().as_secs_f64().max(0.001);
                looked = Instant::now();
                let readings = readings(&answer.text(), &self.figures, &mut before, seconds);
                if to.send(readings).await.is_err() {
                    return;
                }
            }
        });
        let taking = async {
            while let Some(readings) = from.recv().await {
                keep(readings);
            }
        };
        let _ = tokio::join!(looking, taking);
    }
}

/// Two counters that say more together.
struct Pair {
    /// How their names end.
    ends: (&'static str, &'static str),
    /// What their steps since the last look make.
    together: fn(f64, f64) -> f64,
    /// What that is called.
    called: &'static str,
}

const PAIRS: &[Pair] = &[
    Pair {
        ends: ("_hits_total", "_misses_total"),
        together: |hits, misses| hits / (hits + misses) * 100.0,
        called: "found, %",
    },
    Pair { ends: ("_sum", "_count"), together: |sum, count| sum / count, called: "mean" },
];

/// Figures of the text format: gauges as they are, counters as rates, histograms and summaries as the mean since the last
/// look, counters of hits and misses also as the share of hits.
fn readings(text: &str, wanted: &[String], before: &mut HashMap<String, f64>, seconds: f64) -> Vec<Reading> {
    let mut kinds: HashMap<&str, &str> = HashMap::new();
    let mut found = Vec::new();
    let mut steps: Vec<(&str, &str, f64)> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            kinds.extend(rest.split_once(' '));
            continue;
        }
        if line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.rsplit_once(' ') else { continue };
        let (plain, labels) = name.split_at(name.find('{').unwrap_or(name.len()));
        let base = plain.strip_suffix("_sum").or_else(|| plain.strip_suffix("_count")).unwrap_or(plain);
        let kind = kinds.get(plain).or_else(|| kinds.get(base)).copied();
        if !wanted.is_empty() && !wanted.iter().any(|begin| plain.starts_with(begin.as_str())) {
            continue;
        }
        let Some(value) = value.parse::<f64>().ok().filter(|value| value.is_finite()) else { continue };
        match kind {
            Some("summary" | "histogram") if base == plain => {}
            Some("counter" | "summary" | "histogram") => {
                if let Some(last) = before.insert(name.to_owned(), value).filter(|last| *last <= value) {
                    steps.push((plain, labels, value - last));
                    if kind == Some("counter") {
                        found.push((format!("{name}, each second"), (value - last) / seconds));
                    }
                }
            }
            Some(_) => found.push((name.to_owned(), value)),
            None => {}
        }
    }
    for Pair { ends: (one, other), together, called } in PAIRS {
        for (plain, labels, step) in &steps {
            let Some(base) = plain.strip_suffix(one) else { continue };
            let partner = steps.iter().find(|(name, of, _)| of == labels && name.strip_suffix(other) == Some(base));
            let value = partner.map(|(_, _, beside)| together(*step, *beside)).filter(|value| value.is_finite());
            found.extend(value.map(|value| (format!("{base}{labels}: {called}"), value)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_rates_and_gauges_stay() {
        let mut before = HashMap::new();
        let text = |done: u32| {
            format!(
                "# TYPE done counter\ndone{{a=\"b\"}} {done}\n# TYPE open gauge\nopen 5\n# TYPE other gauge\nother 1\n"
            )
        };
        let wanted = ["done".to_owned(), "open".to_owned()];
        assert_eq!(readings(&text(10), &wanted, &mut before, 1.0), [("open".to_owned(), 5.0)]);
        let second = readings(&text(30), &wanted, &mut before, 2.0);
        assert_eq!(second[0], ("done{a=\"b\"}, each second".to_owned(), 10.0));
    }

    #[test]
    fn counters_that_belong_together_are_told_together() {
        let mut before = HashMap::new();
        let text = |hits: u32, misses: u32, sum: f64, count: u32| {
            format!(
                "# TYPE cache_hits_total counter\ncache_hits_total{{of=\"a\"}} {hits}\ncache_hits_total{{of=\"b\"}} 5\n\
                 # TYPE cache_misses_total counter\ncache_misses_total{{of=\"a\"}} {misses}\n\
                 # TYPE lock_seconds summary\nlock_seconds{{quantile=\"0.5\"}} 7\nlock_seconds_sum {sum}\nlock_seconds_count {count}\n\
                 # TYPE wait histogram\nwait_bucket{{le=\"1\"}} 3\nwait_sum 1\nwait_count 3\n"
            )
        };
        assert_eq!(readings(&text(10, 10, 1.0, 3), &[], &mut before, 1.0), []);
        let second = readings(&text(40, 20, 2.0, 7), &[], &mut before, 1.0);
        let told: HashMap<&str, f64> = second.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(told["cache{of=\"a\"}: found, %"], 75.0);
        assert_eq!(told["lock_seconds: mean"], 0.25);
        // Nothing was waited for since the last look, and one half of a pair says nothing.
        assert_eq!(told.len(), 5, "{told:?}");
    }
}

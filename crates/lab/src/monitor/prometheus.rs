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

/// Figures of the text format; counters become rates.
fn readings(text: &str, wanted: &[String], before: &mut HashMap<String, f64>, seconds: f64) -> Vec<Reading> {
    let mut counters: HashMap<&str, bool> = HashMap::new();
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            if let Some((name, kind)) = rest.split_once(' ') {
                counters.insert(name, kind == "counter");
            }
            continue;
        }
        if line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.rsplit_once(' ') else { continue };
        let plain = name.split('{').next().unwrap_or(name);
        let Some(counter) = counters.get(plain) else { continue };
        if !wanted.is_empty() && !wanted.iter().any(|begin| plain.starts_with(begin.as_str())) {
            continue;
        }
        let Some(value) = value.parse::<f64>().ok().filter(|value| value.is_finite()) else { continue };
        if !counter {
            found.push((name.to_owned(), value));
        } else if let Some(last) = before.insert(name.to_owned(), value).filter(|last| *last <= value) {
            found.push((format!("{name}, each second"), (value - last) / seconds));
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
}

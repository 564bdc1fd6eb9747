//! A Prometheus endpoint, read once a second: gauges unchanged, counters as rates.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::series::{EVERY, MAX_NAME, MAX_SERIES, Reading};
use crate::error::{Error, Result};
use crate::thread::on_own_thread;
use crate::wire::{Client, Fault, FaultKind, ReadResponse, RequestBuilder, Target, TargetPlan};

/// Timeout for one reading.
const READING_TIMEOUT: Duration = Duration::from_secs(5);
/// Limit on the bytes of an answer.
const MAX_ANSWER: usize = 4 << 20;
/// Limit on the figures taken from a response. It is twice the limit on series, because some series are computed from
/// two figures.
const MAX_FIGURES: usize = 2 * MAX_SERIES;
/// Limit on the names listed as examples if no figure matches.
const MAX_EXAMPLES: usize = 5;

/// A Prometheus endpoint.
pub struct Endpoint {
    target: Arc<Target>,
    path: String,
    figures: Vec<String>,
}

impl Endpoint {
    /// Creates an endpoint on a host that the plan names, or on the target.
    pub async fn new(plan: &TargetPlan, target: &Target, url: &str, figures: Vec<String>) -> Result<Self> {
        let url = if url.starts_with('/') { format!("{}{url}", target.url) } else { url.to_owned() };
        let begins = url.find("://").map_or(0, |at| at + 3);
        let slash = url[begins..].find('/').map_or(url.len(), |at| at + begins);
        let (address, path) = url.split_at(slash);
        let mut hosts = plan.hosts.clone();
        hosts.extend(plan.url.clone());
        hosts.push(target.url.clone());
        let asked = TargetPlan { hosts, ..TargetPlan::default() };
        // Reading figures is no load, so no confirmation is required.
        let target = Target::new(&asked, Some(address), None, true).await;
        let target = target.map_err(|error| Error::new(format!("the monitor {url}: {error}")))?;
        Ok(Self {
            target: Arc::new(target),
            path: if path.is_empty() { "/metrics".to_owned() } else { path.to_owned() },
            figures,
        })
    }

    /// Takes one reading, so that an unusable endpoint is reported before the load.
    ///
    /// # Errors
    /// The reason why nothing can be read.
    pub async fn look(&self) -> Result<()> {
        let (target, path) = (self.target.clone(), self.path.clone());
        let answer = on_own_thread(move || async move { ask(&mut Client::new(target), &path).await }).await?;
        let why = match answer {
            Ok(answer) => lacks(&answer.text(), &self.figures),
            Err(fault) => Some(fault.message),
        };
        let place = format!("{}{}", self.target.url, self.path);
        why.map_or(Ok(()), |why| Err(Error::new(format!("the monitor {place} has no figures: {why}"))))
    }

    /// Takes a reading once a second.
    pub async fn watch(self, keep: impl Fn(Vec<Reading>) + Send + 'static) {
        // A connection stays on its thread. The thread ends when the receiver is dropped.
        let (to, mut from) = tokio::sync::mpsc::channel::<Vec<Reading>>(4);
        let looking = on_own_thread(move || async move {
            let mut client = Client::new(self.target.clone());
            let mut before: HashMap<String, f64> = HashMap::new();
            let mut clock = tokio::time::interval(EVERY);
            let mut looked = Instant::now();
            loop {
                clock.tick().await;
                let Ok(answer) = ask(&mut client, &self.path).await else {
                    client.disconnect();
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

async fn ask(client: &mut Client, path: &str) -> Result<ReadResponse, Fault> {
    let late = |_| Fault::new(FaultKind::Timeout, format!("it does not answer within {} s", READING_TIMEOUT.as_secs()));
    let answer = tokio::time::timeout(READING_TIMEOUT, client.send(RequestBuilder::get(path)))
        .await
        .map_err(late)??
        .expect(&[200])?;
    if answer.body.len() > MAX_ANSWER {
        return Err(Fault::content(format!("its response is larger than {} MB", MAX_ANSWER >> 20)));
    }
    Ok(answer)
}

/// Returns the reason why a response has no wanted figure; `None` if it has one.
fn lacks(text: &str, wanted: &[String]) -> Option<String> {
    if figures(text, wanted).next().is_some() {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for figure in figures(text, &[]) {
        if names.len() < MAX_EXAMPLES && !names.contains(&figure.plain) {
            names.push(figure.plain);
        }
    }
    Some(if names.is_empty() {
        "its response has no metrics with types (# TYPE)".to_owned()
    } else {
        format!("no name begins with {}; it has {}, for example", wanted.join(" or "), names.join(", "))
    })
}

/// One sample line of the text format.
struct EndpointFigure<'a> {
    /// Name with labels.
    name: &'a str,
    /// Name without labels.
    plain: &'a str,
    labels: &'a str,
    kind: &'a str,
    value: f64,
}

/// Returns the figures whose names begin with one of the wanted prefixes; all figures if no prefix is given.
fn figures<'a>(text: &'a str, wanted: &'a [String]) -> impl Iterator<Item = EndpointFigure<'a>> {
    let mut kinds: HashMap<&str, &str> = HashMap::new();
    text.lines().filter_map(move |line| {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            kinds.extend(rest.split_once(' '));
            return None;
        }
        let (name, value) = sample(line).filter(|(name, _)| name.len() <= MAX_NAME)?;
        let (plain, labels) = name.split_at(name.find('{').unwrap_or(name.len()));
        let base = plain.strip_suffix("_sum").or_else(|| plain.strip_suffix("_count")).unwrap_or(plain);
        let kind = kinds.get(plain).or_else(|| kinds.get(base)).copied()?;
        // Quantiles and buckets cover the whole time since the endpoint's start.
        let since_ever = matches!(kind, "summary" | "histogram") && base == plain;
        let fits = wanted.is_empty() || wanted.iter().any(|begin| plain.starts_with(begin.as_str()));
        let value = value.parse().ok()?;
        (fits && !since_ever).then_some(EndpointFigure { name, plain, labels, kind, value })
    })
}

/// Splits a sample line into the name with its labels and the value. A timestamp may follow, and values of labels may
/// contain spaces.
fn sample(line: &str) -> Option<(&str, &str)> {
    let (mut in_labels, mut in_quotes, mut is_escaped) = (false, false, false);
    for (at, letter) in line.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if in_quotes => is_escaped = true,
            '"' if in_labels => in_quotes = !in_quotes,
            '{' if !in_quotes => in_labels = true,
            '}' if !in_quotes => in_labels = false,
            ' ' | '\t' if !in_labels => return Some((&line[..at], line[at..].split_whitespace().next()?)),
            _ => {}
        }
    }
    None
}

/// Two counters that are combined into one figure.
struct CounterPair {
    /// Suffixes of their names.
    ends: (&'static str, &'static str),
    /// Combines their increments since the previous reading.
    together: fn(f64, f64) -> f64,
    /// Label of the combined figure.
    called: &'static str,
}

const PAIRS: &[CounterPair] = &[
    CounterPair {
        ends: ("_hits_total", "_misses_total"),
        together: |hits, misses| hits / (hits + misses) * 100.0,
        called: "found, %",
    },
    CounterPair { ends: ("_sum", "_count"), together: |sum, count| sum / count, called: "mean" },
];

/// Computes readings from the text format: gauges unchanged, counters as rates, histograms and summaries as the mean
/// since the previous reading, and counters of hits and misses also as the share of hits.
fn readings(text: &str, wanted: &[String], before: &mut HashMap<String, f64>, seconds: f64) -> Vec<Reading> {
    let mut found = Vec::new();
    let mut steps: Vec<(&str, &str, f64)> = Vec::new();
    let mut now = HashMap::new();
    for EndpointFigure { name, plain, labels, kind, value } in figures(text, wanted).take(MAX_FIGURES) {
        if !value.is_finite() {
            continue;
        }
        if !matches!(kind, "counter" | "summary" | "histogram") {
            found.push((name.to_owned(), value));
            continue;
        }
        now.insert(name.to_owned(), value);
        if let Some(last) = before.get(name).filter(|last| **last <= value) {
            steps.push((plain, labels, value - last));
            if kind == "counter" {
                found.push((format!("{name}, each second"), (value - last) / seconds));
            }
        }
    }
    // Counters that are no longer present are forgotten, so that ever-changing names do not accumulate.
    *before = now;
    for CounterPair { ends: (one, other), together, called } in PAIRS {
        for (plain, labels, step) in &steps {
            let Some(base) = plain.strip_suffix(one) else { continue };
            let partner = steps.iter().find(|(name, of, _)| of == labels && name.strip_suffix(other) == Some(base));
            let value = partner.map(|(_, _, beside)| together(*step, *beside)).filter(|value| value.is_finite());
            found.extend(value.map(|value| (format!("{base}{labels}: {called}"), value)));
        }
    }
    found
}

#[cfg(fuzzing)]
pub mod fuzzing {
    //! Entry points of fuzz targets for the monitors.

    use std::collections::HashMap;

    /// Computes readings from successive responses of an endpoint, which are separated by zero bytes.
    pub fn figures(input: &[u8]) {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let mut before = HashMap::new();
        for look in text.split('\0').take(4) {
            let readings = super::readings(look, &[], &mut before, 1.0);
            assert!(readings.iter().all(|(_, value)| value.is_finite()), "{readings:?}");
            let _ = super::lacks(look, &["x".to_owned()]);
        }
    }
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
    fn a_timestamp_is_no_value() {
        let text = "# TYPE open gauge\nopen 5 1700000000000\nopen{of=\"a } \\\" b\"} 7.5 1700000000000\n\
                    open{of=\"c d\"} 9\n";
        let found = readings(text, &[], &mut HashMap::new(), 1.0);
        let values: Vec<(&str, f64)> = found.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(values, [("open", 5.0), ("open{of=\"a } \\\" b\"}", 7.5), ("open{of=\"c d\"}", 9.0)]);
    }

    #[test]
    fn names_that_are_always_new_do_not_add_up() {
        let mut before = HashMap::new();
        for look in 0..20 {
            let counter = |number| format!("# TYPE new_{look}_{number} counter\nnew_{look}_{number} 1\n");
            let long = format!("# TYPE {0} gauge\n{0} 1\n", "long".repeat(MAX_NAME));
            let text = long + &(0..5_000).map(counter).collect::<String>();
            assert_eq!(readings(&text, &[], &mut before, 1.0), []);
            assert_eq!(before.len(), MAX_FIGURES);
        }
    }

    #[test]
    fn counters_that_belong_together_are_told_together() {
        let mut before = HashMap::new();
        let text = |hits: u32, misses: u32, sum: f64, count: u32| {
            format!(
                "# TYPE cache_hits_total counter\ncache_hits_total{{of=\"a\"}} {hits}\ncache_hits_total{{of=\"b\"}} 5\n\
                 # TYPE cache_misses_total counter\ncache_misses_total{{of=\"a\"}} {misses}\n\
                 # TYPE lock_seconds summary\nlock_seconds{{quantile=\"0.5\"}} 7\nlock_seconds_sum \
                 {sum}\nlock_seconds_count {count}\n\
                 # TYPE wait histogram\nwait_bucket{{le=\"1\"}} 3\nwait_sum 1\nwait_count 3\n"
            )
        };
        assert_eq!(readings(&text(10, 10, 1.0, 3), &[], &mut before, 1.0), []);
        let second = readings(&text(40, 20, 2.0, 7), &[], &mut before, 1.0);
        let told: HashMap<&str, f64> = second.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(told["cache{of=\"a\"}: found, %"], 75.0);
        assert_eq!(told["lock_seconds: mean"], 0.25);
        // No lock or wait was timed since the previous reading, and half of a pair gives no figure.
        assert_eq!(told.len(), 5, "{told:?}");
    }
}

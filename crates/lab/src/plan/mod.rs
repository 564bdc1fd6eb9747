//! Plans: the load and its target, as a human-readable TOML file. Parses and validates plans; sends nothing.

mod load;
mod message;
mod shipped;
mod threshold;

use serde::Deserialize;

use crate::corpus::CorpusPlan;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::operations::{self, Share};
use crate::wire::TargetPlan;

use message::{cut, explain, unknown};

pub use load::{Load, LoadCurve, Model, Step};
pub use shipped::{SHIPPED, shipped};
pub use threshold::{Figure, Threshold, Verdict};

/// Limit on the virtual users of a plan: each has its own connection.
const MAX_USERS: u32 = 60_000;
/// Limit on the operations per second of a plan.
const MAX_RATE: f64 = 1_000_000.0;

/// Limit on the shares of a mix. More would be unreadable, and each is measured every second.
const MAX_PARTS: usize = 200;
/// Limit on the characters of a name or label: both appear in tables, and labels also in file names.
const MAX_NAME: usize = 100;

/// A complete plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name, for reports.
    pub name: String,
    /// Purpose of the plan, for people.
    #[serde(default)]
    pub description: String,
    /// Target of the load.
    #[serde(default)]
    pub target: TargetPlan,
    /// Corpus on the target before the load.
    pub corpus: CorpusPlan,
    /// Amount and timing of the load.
    pub load: Load,
    /// Operations of the users.
    pub mix: Vec<Share>,
    /// Conditions on the result. If one of them does not hold, the run ends with exit status 1.
    #[serde(default)]
    pub thresholds: Vec<String>,
    /// True if a full crawl of the search index is measured after the load.
    #[serde(default)]
    pub crawl: bool,
    /// Objects that are monitored during the run.
    #[serde(default)]
    pub monitors: Vec<Monitor>,
}

impl Plan {
    /// Parses and validates a plan.
    ///
    /// # Errors
    /// The problem and its position; for an unknown key, the most similar known one.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: &str| Error::new(cut(why));
        let plan: Self = toml::from_str(text).map_err(|error| wrong(&explain(&error)))?;
        plan.check().map_err(|error| wrong(&error.to_string()))?;
        Ok(plan)
    }

    /// Parses the thresholds.
    ///
    /// # Errors
    /// If a threshold is invalid.
    pub fn thresholds(&self) -> Result<Vec<Threshold>> {
        self.thresholds.iter().map(|text| Threshold::parse(text).map_err(Error::new)).collect()
    }

    /// Validates the plan.
    ///
    /// # Errors
    /// The first problem found.
    pub fn check(&self) -> Result<()> {
        check_name("name of the plan", &self.name)?;
        self.corpus.check()?;
        self.check_load()?;
        self.monitors.iter().try_for_each(Monitor::check)?;
        if self.mix.is_empty() {
            return Err(Error::new("the plan does nothing: give it a [[mix]] with an operation and a weight"));
        }
        if self.searches_texts() && self.corpus.kinds.text == 0.0 {
            return Err(Error::new("\"search-query\" needs texts, which the corpus does not have: see its kinds"));
        }
        if self.mix.len() > MAX_PARTS {
            return Err(Error::new(format!("the mix has {} parts: at most {MAX_PARTS} are supported", self.mix.len())));
        }
        for share in &self.mix {
            if operations::find(&share.operation).is_none() && operations::missing_feature(&share.operation).is_none() {
                let names = operations::names();
                return Err(Error::new(unknown("operation", &share.operation, &names)));
            }
            check_name(&format!("label of \"{}\"", share.operation), &share.label())?;
            if !(share.weight > 0.0 && share.weight.is_finite()) {
                return Err(Error::new(format!("the weight of \"{}\" is not a number above 0", share.operation)));
            }
            if let Some(size) = share.size.filter(|size| !self.corpus.files.iter().any(|class| class.size == *size)) {
                return Err(Error::new(format!(
                    "\"{}\" needs documents of {size}, which the corpus does not have: add them to [[corpus.files]]",
                    share.operation
                )));
            }
        }
        if !self.mix.iter().map(|share| share.weight).sum::<f64>().is_finite() {
            return Err(Error::new("the weights of the mix are too large: only their proportions count"));
        }
        let labels: Vec<String> = self.mix.iter().map(Share::label).collect();
        if let Some(twice) = labels.iter().enumerate().find(|(at, label)| labels[..*at].contains(label)) {
            return Err(Error::new(format!("\"{}\" is in the mix twice: give one of them a label", twice.1)));
        }
        for threshold in self.thresholds()? {
            if let Some(operation) = threshold.operation.filter(|operation| !labels.contains(operation)) {
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                return Err(Error::new(unknown("label in the mix", &operation, &labels)));
            }
        }
        Ok(())
    }

    /// Returns whether users search for words of texts.
    pub fn searches_texts(&self) -> bool {
        self.mix.iter().any(|share| share.operation == "search-query")
    }

    /// Returns whether users replace documents of the corpus.
    pub fn replaces_documents(&self) -> bool {
        self.mix.iter().any(|share| share.operation == "replace")
    }

    fn check_load(&self) -> Result<()> {
        let load = &self.load;
        load.check_seconds()?;
        let course = load.course();
        if load.model == Model::Open && load.rate.is_none() && load.steps.is_empty() {
            return Err(Error::new("an open load needs a rate (operations per second) or steps"));
        }
        if load.users == 0 || load.users > MAX_USERS {
            return Err(Error::new(format!("users is {}: it must be 1 to {MAX_USERS}", load.users)));
        }
        if course.steps().is_empty() {
            return Err(Error::new("the load has no duration that is counted"));
        }
        if load.steps.iter().any(|step| !step.level.is_finite() || step.level < 0.0) {
            return Err(Error::new("the level of a step is not a number of 0 or more"));
        }
        let most = if load.model == Model::Open { MAX_RATE } else { f64::from(MAX_USERS) };
        if !course.peak().is_finite() || course.peak() <= 0.0 || course.peak() > most {
            return Err(Error::new(format!("the load is {}: it must be above 0 and at most {most}", course.peak())));
        }
        if load.timeout.0.is_zero() || load.pace.is_some_and(|pace| pace.0.is_zero()) {
            return Err(Error::new("timeout and pace must be above 0"));
        }
        if !(1..=64).contains(&load.threads) {
            return Err(Error::new(format!("threads is {}: it must be 1 to 64", load.threads)));
        }
        Ok(())
    }
}

/// Refuses a name that is unsuitable for tables, terminals and file names.
///
/// # Errors
/// If the name is empty, too long, or contains control characters.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    let length = name.chars().count();
    if name.trim().is_empty() {
        return Err(Error::new(format!("the {what} is empty")));
    }
    if length > MAX_NAME {
        return Err(Error::new(format!("the {what} has {length} characters: it must have at most {MAX_NAME}")));
    }
    if name.contains(char::is_control) {
        return Err(Error::new(format!("the {what} has control characters, such as a line break: leave them out")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

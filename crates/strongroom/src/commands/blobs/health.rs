//! `strongroom blobs health`: the findings of the health rules, and their limits.

use std::time::Duration;

use clap::Args;
use database::CheckExtent;
use model::{Error, Result, readable_size};
use repository::{Sandbox, Session};
use serde_json::{Value, json};

use crate::commands::output::table;
use crate::commands::size::parse_size;
use crate::commands::verdict::{CommandResult, Verdict};

/// Time spent checking each database before the rules run. This process does not know of damage that a server has
/// found.
const QUICK_CHECK_TIME: Duration = Duration::from_secs(3);

/// Arguments of `strongroom blobs health`.
#[derive(Args)]
pub struct Health {
    /// Show the limits of the rules instead of the findings
    #[arg(long)]
    limits: bool,
    /// Change a limit, such as database_bytes=400G or backup_hours=24; an empty value restores the default; may be
    /// repeated
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    changed: Vec<String>,
}

impl Health {
    /// Runs the health rules, or changes and shows their limits.
    pub async fn run(self, session: &Session) -> Result<CommandResult> {
        for text in &self.changed {
            let wrong =
                || Error::invalid(format!("\"{text}\" is not of the form NAME=VALUE, such as database_bytes=400G"));
            let (name, value) = text.split_once('=').ok_or_else(wrong)?;
            let value = if value.is_empty() { None } else { Some(parse_size(value).map_err(Error::invalid)?) };
            session.set_health_limit(name, value).await?;
        }
        match self.limits || !self.changed.is_empty() {
            true => limits(session).await,
            false => findings(session).await,
        }
    }
}

async fn limits(session: &Session) -> Result<CommandResult> {
    let limits = session.health_limits().await?;
    let rows: Vec<_> = limits
        .iter()
        .map(|(limit, value)| {
            let [value, usual] = [*value, limit.usual].map(|value| match limit.name.ends_with("_bytes") {
                true => readable_size(value),
                false => value.to_string(),
            });
            [limit.name.to_owned(), value, usual, limit.meaning.to_owned()]
        })
        .collect();
    let text = table(["LIMIT", "VALUE", "DEFAULT", "MEANING"], &rows);
    let value = limits
        .iter()
        .map(|(limit, value)| json!({ "name": limit.name, "value": value, "usual": limit.usual, "of": limit.meaning }))
        .collect();
    Ok((value, text, true.into()))
}

async fn findings(session: &Session) -> Result<CommandResult> {
    session.repository().open_documents_in(Sandbox::of_this_program());
    let partly = quick_check(session).await?;
    let findings = session.health().await?;
    let mut text = String::new();
    for finding in &findings {
        text.push_str(&format!("{}: {}: {}\n", finding.severity.as_str(), finding.subject, finding.message));
    }
    if !partly.is_empty() {
        text.push_str(&format!(
            "{} databases were checked for only {} s, not completely: {}. Run `strongroom blobs check` to check them \
             completely.\n",
            if findings.is_empty() { "No rule found anything, but these" } else { "These" },
            QUICK_CHECK_TIME.as_secs(),
            partly.join(", ")
        ));
    }
    let verdict = match (findings.is_empty(), partly.is_empty()) {
        (true, true) => {
            text.push_str("All is well.\n");
            Verdict::Good
        }
        (true, false) => Verdict::Incomplete,
        (false, _) => Verdict::Bad,
    };
    let found: Value = findings
        .iter()
        .map(|finding| {
            json!({
                "rule": finding.rule,
                "severity": finding.severity.as_str(),
                "subject": finding.subject.to_string(),
                "message": finding.message,
            })
        })
        .collect();
    Ok((json!({ "findings": found, "partly": partly }), text, verdict))
}

/// Checks all databases for at most [`QUICK_CHECK_TIME`] each, and returns the names of those not checked completely.
///
/// # Errors
/// Fails if the configuration database is damaged. Damage to other databases is reported among the findings.
async fn quick_check(session: &Session) -> Result<Vec<String>> {
    let storage = session.storage().await?;
    let mut partly = Vec::new();
    if let CheckExtent::Partly = storage.configuration().check_integrity(Some(QUICK_CHECK_TIME)).await? {
        partly.push("configuration".to_owned());
    }
    for content in storage.databases()? {
        // The database remembers damage that the check finds, and the rules report it.
        if let Ok(CheckExtent::Partly) = content.database.check_integrity(Some(QUICK_CHECK_TIME)).await {
            partly.push(content.name);
        }
    }
    Ok(partly)
}

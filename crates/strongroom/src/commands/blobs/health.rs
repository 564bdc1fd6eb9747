//! `strongroom blobs health`: what the rules find, and their limits.

use clap::Args;
use model::{Error, Result};
use repository::{Sandbox, Session};
use serde_json::json;

use super::Shown;
use crate::commands::output::table;
use crate::commands::transfer::parse_size;

/// What to look at.
#[derive(Args)]
pub struct Health {
    /// Show the limits of the rules instead
    #[arg(long)]
    limits: bool,
    /// Change a limit, such as database_bytes=400G or backup_hours=24; without a value the usual one comes back. May be given again
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    changed: Vec<String>,
}

impl Health {
    /// Asks the rules, or changes and shows their limits.
    pub async fn run(self, session: &Session) -> Result<Shown> {
        for text in &self.changed {
            let wrong = || Error::invalid(format!("\"{text}\" is no NAME=VALUE, such as database_bytes=400G"));
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

async fn limits(session: &Session) -> Result<Shown> {
    let limits = session.health_limits().await?;
    let rows: Vec<_> = limits
        .iter()
        .map(|(limit, value)| {
            [limit.name.to_owned(), value.to_string(), limit.usual.to_string(), limit.meaning.to_owned()]
        })
        .collect();
    let text = table(["LIMIT", "VALUE", "USUAL", "OF"], &rows);
    let value = limits
        .iter()
        .map(|(limit, value)| json!({ "name": limit.name, "value": value, "usual": limit.usual, "of": limit.meaning }))
        .collect();
    Ok((value, text, true.into()))
}

async fn findings(session: &Session) -> Result<Shown> {
    session.repository().open_documents_in(Sandbox::of_this_program());
    let findings = session.health().await?;
    let mut text = String::new();
    for finding in &findings {
        text.push_str(&format!("{}: {}: {}\n", finding.severity.as_str(), finding.subject, finding.message));
    }
    if findings.is_empty() {
        text.push_str("All is well.\n");
    }
    let value = findings
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
    Ok((value, text, findings.is_empty().into()))
}

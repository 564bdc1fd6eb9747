//! `strongroom blobs stores`: the farm's BLOB stores.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use model::{Error, Result, StoreKind, StoreState};
use repository::{MigrateWork, NewStore, Session, Work};
use serde_json::{Value, json};

use super::run_job;
use crate::commands::output::{line_from_stdin, table};
use crate::commands::size::parse_size;
use crate::commands::verdict::{CommandResult, Verdict};

/// Help text on the settings of stores.
const SETTINGS: &str = "\
Settings of the kinds s3, azure and gcs; a directory has compression only:
  endpoint                address of the service [default: the provider's own]
  region                  region that requests are signed for (s3) [default: us-east-1]
  path_style              true: the bucket is in the path; false: it is in the host name [default: true]
  allow_http              true or false: accept an http:// address [default: on the same machine only]
  ca_certificates         text of a PEM file with additional certificate authorities to trust
  server_side_encryption  aes256 or kms:KEY, requested from the service
  compression             zstd level from 1 to 19, for BLOBs that it makes smaller
  cache_bytes             bytes of the cache on the server's disk; 0 for none [default: 1 GiB]
  retention_days          1 to 36500: days for which the service keeps objects
Secrets: key_id, secret, session_token (s3); for all kinds: encryption_keys, of 64 hexadecimal digits each, newest
first, separated by commas";

#[derive(Subcommand)]
pub enum Action {
    /// List all stores
    List,
    /// Add a store
    #[command(after_help = SETTINGS)]
    Add(Add),
    /// Change settings or credentials of a store while it is in use
    #[command(after_help = SETTINGS)]
    Set {
        /// Name of the store
        name: String,
        #[command(flatten)]
        settings: Settings,
    },
    /// Write, read, list and delete a probe, and report the time of each step
    Test {
        /// Name of the store
        name: String,
    },
    /// Create an empty store in the place of one that was permanently lost, such as by a failed disk
    MakeAnew {
        /// Name of the store
        name: String,
    },
    /// Encrypt new BLOBs with a new key; existing BLOBs stay readable with the old keys
    RotateKey {
        /// Name of the store
        name: String,
    },
    /// Allow new BLOBs in a store, if a policy names it
    Activate {
        /// Name of the store
        name: String,
    },
    /// Take back a store that a restored copy of this farm has taken over; the copy can no longer write to it
    TakeOver {
        /// Name of the store
        name: String,
    },
    /// Refuse new BLOBs in a store; existing BLOBs stay readable
    ReadOnly {
        /// Name of the store
        name: String,
    },
    /// Refuse new BLOBs in a store and move its BLOBs to another store
    Drain {
        /// Name of the store
        name: String,
        /// Target store [default: the active store of each content database]
        #[arg(long, value_name = "STORE")]
        to: Option<String>,
        /// Limit in bytes per second, such as 20M [default: no limit]
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        rate: Option<u64>,
        /// Let a server of the farm move the BLOBs in the background
        #[arg(long)]
        background: bool,
    },
    /// Remove a store that no document needs from the farm; its bytes are not deleted
    Remove {
        /// Name of the store
        name: String,
        /// Remove the store even if it holds unreferenced BLOBs
        #[arg(long)]
        force: bool,
    },
}

#[derive(Args)]
pub struct Add {
    /// Name, as shown in lists
    name: String,
    /// Provider: directory, s3, azure or gcs
    #[arg(long)]
    kind: String,
    /// Location: a directory (relative to the data directory), or a bucket with an optional prefix (bucket/prefix)
    #[arg(long, visible_alias = "path", visible_alias = "bucket", value_name = "LOCATION")]
    location: String,
    /// Encrypt BLOBs before storing them, with a key that the farm generates and keeps
    #[arg(long)]
    encrypt: bool,
    #[command(flatten)]
    settings: Settings,
}

/// Settings and credentials of a store's provider.
#[derive(Args)]
pub struct Settings {
    /// Provider setting, such as endpoint=https://minio.example:9000; an empty value removes it; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    settings: Vec<(String, String)>,
    /// Credential or key, such as key_id=... or secret=...; the value - reads it from standard input; may be repeated
    #[arg(long = "secret", value_name = "NAME=VALUE", value_parser = pair)]
    secrets: Vec<(String, String)>,
}

fn pair(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("\"{text}\" is not of the form NAME=VALUE")),
    }
}

impl Settings {
    fn maps(self) -> Result<(BTreeMap<String, String>, BTreeMap<String, String>)> {
        let mut secrets = BTreeMap::new();
        for (name, value) in self.secrets {
            let value = if value == "-" { line_from_stdin()? } else { value };
            secrets.insert(name, value);
        }
        Ok((self.settings.into_iter().collect(), secrets))
    }
}

/// Runs an action on the farm's stores.
pub async fn run(session: &Session, action: Action, as_json: bool) -> Result<CommandResult> {
    match action {
        Action::List => list(session).await,
        Action::Add(Add { name, kind, location, encrypt, settings }) => {
            let (settings, secrets) = settings.maps()?;
            session.add_store(NewStore { name: name.clone(), kind, location, settings, secrets, encrypt }).await?;
            done(&name, "active", format!("The store \"{name}\" was added. Policies can now send new BLOBs to it.\n"))
        }
        Action::Set { name, settings } => {
            let (settings, secrets) = settings.maps()?;
            if settings.is_empty() && secrets.is_empty() {
                return Err(Error::invalid(format!(
                    "nothing to change was given: add --set NAME=VALUE or --secret NAME=VALUE; \
                     `strongroom blobs stores set --help` lists the settings that \"{name}\" can have"
                )));
            }
            session.change_store(&name, &settings, &secrets).await?;
            done(&name, "changed", format!("The settings of the store \"{name}\" were changed.\n"))
        }
        Action::Test { name } => {
            let report = session.test_store(&name).await?;
            let steps = report
                .steps
                .iter()
                .map(|step| json!({ "what": step.what, "micros": step.time.as_micros() as u64, "bytes": step.bytes }));
            let failure = report.failure.as_ref().map(|(what, error)| json!({ "what": what, "error": error.report() }));
            let value = json!({ "store": name, "steps": steps.collect::<Value>(), "failure": failure });
            Ok((value, report.to_string(), report.is_good().into()))
        }
        Action::RotateKey { name } => {
            session.rotate_store_key(&name).await?;
            done(&name, "key rotated", format!("New BLOBs in \"{name}\" are encrypted with a new key.\n"))
        }
        Action::MakeAnew { name } => {
            session.recreate_store(&name).await?;
            done(
                &name,
                "made anew",
                format!(
                    "The store \"{name}\" exists again and is empty: bring back its former content with \
                     `strongroom blobs check` and `strongroom blobs repair --from-backup`.\n"
                ),
            )
        }
        Action::TakeOver { name } => {
            session.take_store_over(&name).await?;
            done(
                &name,
                "taken over",
                format!(
                    "The store \"{name}\" belongs to this farm again. `strongroom blobs check` shows what it lacks.\n"
                ),
            )
        }
        Action::Activate { name } => {
            session.set_store_state(&name, StoreState::Active).await?;
            done(&name, "active", format!("The store \"{name}\" takes new BLOBs that a policy sends to it.\n"))
        }
        Action::ReadOnly { name } => {
            session.set_store_state(&name, StoreState::ReadOnly).await?;
            done(&name, "read-only", format!("The store \"{name}\" takes no new BLOBs.\n"))
        }
        Action::Drain { name, to, rate, background } => {
            session.set_store_state(&name, StoreState::Draining).await?;
            let work = Work::Migrate(MigrateWork { from: Some(name), to, rate, ..MigrateWork::default() });
            run_job::run(session, work, background, as_json).await
        }
        Action::Remove { name, force } => {
            session.remove_store(&name, force).await?;
            done(&name, "removed", format!("The store \"{name}\" was removed from the farm.\n"))
        }
    }
}

fn done(name: &str, state: &str, text: String) -> Result<CommandResult> {
    Ok((json!({ "store": name, "state": state }), text, Verdict::Good))
}

async fn list(session: &Session) -> Result<CommandResult> {
    let storage = session.storage().await?;
    let mut rows = Vec::new();
    let mut values = Vec::new();
    for (row, store) in storage.stores() {
        let answers = row.kind == StoreKind::Database || store.is_some();
        let shown = if answers { row.state.to_string() } else { format!("{}, does not answer", row.state) };
        rows.push([row.name.clone(), row.kind.to_string(), shown, row.location.clone()]);
        values.push(json!({
            "name": row.name,
            "kind": row.kind.as_str(),
            "state": row.state.as_str(),
            "location": row.location,
            "answers": answers,
        }));
    }
    Ok((Value::Array(values), table(["STORE", "KIND", "STATE", "LOCATION"], &rows), Verdict::Good))
}

//! `strongroom site`: site collections, their quotas and libraries, and the content databases that hold them.

use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, Subcommand};
use model::{Error, LibrarySettings, Result, SitePath, Versioning, grouped};
use repository::{DatabaseStatus, Session, SiteCollection, SiteUsage, Target};
use serde_json::{Value, json};

use super::output::{show, table, time};
use super::size::{parse_size, size};
use super::{farm, site_template};
use crate::configuration::CommonArguments;

/// Arguments of `strongroom site`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List all site collections
    List,
    /// Create a site collection
    Create {
        /// Address, such as sites/sales
        address: String,
        /// Title [default: the last part of the address]
        #[arg(long)]
        title: Option<String>,
        /// Content database for the site collection [default: the first one]
        #[arg(long, value_name = "NAME")]
        database: Option<String>,
        /// User who gets full control [default: the farm's administrator]
        #[arg(long, value_name = "LOGIN")]
        owner: Option<String>,
    },
    /// Show a site collection
    Show {
        /// Address; / for the root site collection
        address: String,
    },
    /// Set or remove the quota of a site collection
    Quota {
        /// Address; / for the root site collection
        address: String,
        /// Maximum total size of all versions, such as 500G, or none
        #[arg(value_parser = parse_quota)]
        size: Quota,
    },
    /// Create a library in a site
    AddLibrary {
        /// Path of the site and name of the library
        #[arg(value_name = "SITE/LIBRARY")]
        path: String,
        /// Versioning of documents
        #[arg(long, value_parser = ["none", "major", "major-minor"], default_value = "major")]
        versioning: String,
    },
    /// Make sites and lists from templates, and templates of them
    Template {
        #[command(subcommand)]
        action: site_template::Action,
    },
    /// Manage content databases
    Database {
        #[command(subcommand)]
        action: DatabaseAction,
    },
}

#[derive(Subcommand)]
enum DatabaseAction {
    /// List all content databases
    List,
    /// Create a content database and add it to the farm
    Add {
        /// Name, as shown in lists
        name: String,
        /// Location [default: SQLite in the data directory]
        #[arg(long, value_name = "PATH|postgres://...")]
        location: Option<String>,
    },
    /// Rebuild the indexes of a content database, table by table, while the farm is in use
    RebuildIndexes {
        /// Name of the content database
        name: String,
    },
    /// Rewrite a content database without free space and return the space to the disk; meanwhile the database cannot be
    /// changed, and on PostgreSQL not read either
    Compact {
        /// Name of the content database
        name: String,
    },
}

/// A quota in bytes, or no limit.
#[derive(Clone, Copy, Debug)]
struct Quota(Option<u64>);

fn parse_quota(text: &str) -> std::result::Result<Quota, String> {
    if text == "none" { Ok(Quota(None)) } else { parse_size(text).map(|bytes| Quota(Some(bytes))) }
}

/// Runs `strongroom site`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let (repository, session) = farm::open(&arguments.common).await?;
    let outcome = act(&session, arguments.action).await;
    repository.close().await;
    let (value, text) = outcome?;
    show(arguments.common.json, &value, &text);
    Ok(ExitCode::SUCCESS)
}

async fn act(session: &Session, action: Action) -> Result<(Value, String)> {
    match action {
        Action::List => {
            let sites = session.site_collections().await?;
            Ok((sites.iter().map(site_json).collect(), site_table(&sites)))
        }
        Action::Create { address, title, database, owner } => {
            let path = SitePath::parse(&address)?;
            let name = path.path().names().last().ok_or_else(|| {
                Error::invalid("the root site collection always exists: give an address such as sites/sales")
            })?;
            let title = title.unwrap_or_else(|| name.as_str().to_owned());
            let owner = match owner {
                Some(login) => Some(session.account_by_login(&login).await?.id),
                None => None,
            };
            let id = session.create_site_collection(&path, &title, database.as_deref(), owner).await?;
            let site = session.site_collection(id).await?;
            Ok((
                site_json(&site),
                format!(
                    "The site collection \"/{}\" was created in the content database \"{}\".\n",
                    site.path,
                    usage(&site).database
                ),
            ))
        }
        Action::Show { address } => {
            let site = find(session, &address).await?;
            Ok((site_json(&site), site_table(std::slice::from_ref(&site))))
        }
        Action::Quota { address, size: Quota(bytes) } => {
            let site = find(session, &address).await?;
            session.set_quota(site.id, bytes).await?;
            let site = session.site_collection(site.id).await?;
            let quota = bytes.map_or_else(|| "no quota".to_owned(), |bytes| format!("a quota of {}", size(bytes)));
            Ok((
                site_json(&site),
                format!(
                    "The site collection \"/{}\" has {quota} and uses {}.\n",
                    site.path,
                    size(usage(&site).used_bytes)
                ),
            ))
        }
        Action::AddLibrary { path, versioning } => add_library(session, &path, &versioning).await,
        Action::Template { action } => site_template::act(session, action).await,
        Action::Database { action: DatabaseAction::List } => databases(session).await,
        Action::Database { action: DatabaseAction::Add { name, location } } => {
            session.create_content_database(&name, location.as_deref()).await?;
            let text = format!(
                "The content database \"{name}\" was added. `strongroom site create ADDRESS --database {name}` creates \
                 sites in it.\n"
            );
            Ok((json!({ "name": name }), text))
        }
        Action::Database { action: DatabaseAction::RebuildIndexes { name } } => {
            let started = Instant::now();
            session.storage().await?.rebuild_indexes(&name).await?;
            let seconds = started.elapsed().as_secs_f64();
            let text = format!("The indexes of the content database \"{name}\" were rebuilt in {seconds:.1} s.\n");
            Ok((json!({ "name": name, "seconds": seconds }), text))
        }
        Action::Database { action: DatabaseAction::Compact { name } } => {
            let started = Instant::now();
            let freed = session.storage().await?.compact(&name).await?;
            let seconds = started.elapsed().as_secs_f64();
            let text = format!(
                "The content database \"{name}\" was rewritten in {seconds:.1} s, which returned {} to the disk.\n",
                size(freed)
            );
            Ok((json!({ "name": name, "seconds": seconds, "freed_bytes": freed }), text))
        }
    }
}

async fn find(session: &Session, address: &str) -> Result<SiteCollection> {
    let folded = SitePath::parse(address)?.folded();
    let sites = session.site_collections().await?;
    let is_it = |site: &SiteCollection| SitePath::parse(&site.path).is_ok_and(|path| path.folded() == folded);
    sites.into_iter().find(is_it).ok_or_else(|| {
        Error::not_found(format!("there is no site collection at \"{address}\": see `strongroom site list`"))
    })
}

async fn add_library(session: &Session, path: &str, versioning: &str) -> Result<(Value, String)> {
    let path = model::NodePath::parse(path)?;
    let (site, name) = path.split_last().ok_or_else(|| Error::invalid("name the library as SITE/LIBRARY"))?;
    let settings = LibrarySettings { versioning: Versioning::parse(versioning)?, ..LibrarySettings::default() };
    let library = session.create_library(&Target::Path(site), name, settings).await?;
    let value = json!({ "id": library.id.to_string(), "path": library.path, "versioning": versioning });
    Ok((value, format!("The library \"{}\" was created.\n", library.path)))
}

async fn databases(session: &Session) -> Result<(Value, String)> {
    let databases = session.database_status().await?;
    let bytes = |row: &DatabaseStatus| match (&row.trouble, row.bytes) {
        (Some(why), None) => why.clone(),
        (Some(why), Some(bytes)) => format!("{}; {why}", size(bytes)),
        (None, bytes) => bytes.map_or_else(|| "–".to_owned(), size),
    };
    let rows: Vec<_> = databases.iter().map(|row| [row.name.clone(), row.engine.to_owned(), bytes(row)]).collect();
    let value = databases
        .iter()
        .map(|row| json!({ "name": row.name, "engine": row.engine, "bytes": row.bytes, "trouble": row.trouble }));
    Ok((value.collect(), table(["NAME", "ENGINE", "SIZE"], &rows)))
}

/// Usage of a site collection. It is always known, since commands run as a farm administrator.
fn usage(site: &SiteCollection) -> SiteUsage {
    site.usage.clone().unwrap_or_default()
}

fn site_json(site: &SiteCollection) -> Value {
    let usage = site.usage.as_ref();
    json!({
        "id": site.id.to_string(),
        "address": site.path,
        "title": site.title,
        "database": usage.map(|usage| usage.database.clone()),
        "documents": usage.map(|usage| usage.documents),
        "used_bytes": usage.map(|usage| usage.used_bytes),
        "quota_bytes": usage.and_then(|usage| usage.quota_bytes),
        "audit_reads": site.audit_reads,
        "created_at": site.created_at.map(time),
        "trouble": site.trouble,
    })
}

fn site_table(sites: &[SiteCollection]) -> String {
    let row = |site: &SiteCollection| {
        if let Some(trouble) = &site.trouble {
            let unknown = || "–".to_owned();
            return [format!("/{}", site.path), site.title.clone(), trouble.clone(), unknown(), unknown(), unknown()];
        }
        let usage = usage(site);
        [
            format!("/{}", site.path),
            site.title.clone(),
            usage.database.clone(),
            grouped(usage.documents),
            size(usage.used_bytes),
            usage.quota_bytes.map_or_else(|| "none".to_owned(), size),
        ]
    };
    let rows: Vec<_> = sites.iter().map(row).collect();
    table(["ADDRESS", "TITLE", "DATABASE", "DOCUMENTS", "USED", "QUOTA"], &rows)
}

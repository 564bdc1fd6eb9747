//! The farm overview: servers, site collections, content databases, stores. Also the creation of site collections and
//! their quotas.

use askama::Template;
use axum::extract::{Path, State};
use model::{Error, Id, Result, SitePath};
use repository::{DatabaseStatus, HealthFinding, HealthSubject, Server, Severity, SiteCollection, StoreStatus};

use super::backups::{self, BackupLine};
use super::figures::Charts;
use super::storage::words;
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, navigation, refuse};
use crate::wording::people;
use http_core::server::state::AppState;

#[derive(Template)]
#[template(path = "farm.html")]
struct FarmPage<'a> {
    page: &'a Page,
    sites: Vec<SiteRow>,
    databases: Vec<DatabaseStatus>,
    /// Each store with the name of its kind.
    stores: Vec<(String, StoreStatus)>,
    health: Vec<Finding>,
    figures: Charts,
    servers: Vec<Server>,
    /// The newest backups.
    lines: Vec<BackupLine>,
    version: &'static str,
}

/// Number of backups on the overview.
const NEWEST_BACKUPS: usize = 3;

struct Finding {
    title: &'static str,
    /// CSS class of the note.
    tone: &'static str,
    subject: String,
    message: String,
}

impl Finding {
    /// Converts a finding to the user's language.
    fn of(page: &Page, found: HealthFinding) -> Self {
        let (saying, values) = &found.message_key;
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        Self {
            title: page.language.find(&format!("health.{}", found.rule)).unwrap_or(found.rule),
            tone: if found.severity == Severity::Critical { "bad" } else { "warn" },
            subject: match &found.subject {
                HealthSubject::Farm => page.s("health-subject.farm").to_owned(),
                HealthSubject::Database(name) => page.f1("health-subject.database", name),
                HealthSubject::Store(name) => page.f1("health-subject.store", name),
                HealthSubject::Job(kind, id) => page.f2("health-subject.job", kind, id),
            },
            message: page.language.fill(&format!("health-text.{saying}"), &values),
        }
    }
}

struct SiteRow {
    href: String,
    site: SiteCollection,
    percent: Option<u64>,
}

/// Shows the overview.
pub async fn show(State(state): State<AppState>, mut visit: Visit) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm")?;
    let (databases, stores) = visit.session.storage_status().await?;
    let servers = visit.session.servers().await?;
    let sites = visit.session.site_collections().await?.into_iter().map(|site| SiteRow {
        href: address::browse(&site.path),
        percent: site.usage.as_ref().and_then(|usage| {
            let quota = usage.quota_bytes.filter(|quota| *quota > 0)?;
            Some((usage.used_bytes / (quota / 100).max(1)).min(100))
        }),
        site,
    });
    let sites = sites.collect();
    let page = &visit.page;
    let stores = stores.into_iter().map(|store| (words::kind(page, store.kind), store)).collect();
    let health = visit.session.health().await?.into_iter().map(|found| Finding::of(page, found)).collect();
    let lines = visit.session.backups(None, NEWEST_BACKUPS).await?;
    let lines = lines.into_iter().map(|backup| backups::line(page, backup)).collect();
    let figures = Charts::first(page, state.figures());
    let version = env!("CARGO_PKG_VERSION");
    Ok(html(&FarmPage { page, sites, databases, stores, health, figures, servers, lines, version }))
}

async fn site_form<'a>(visit: &'a Visit, fields: Option<&Fields>) -> Result<Form<'a>> {
    let page = &visit.page;
    let databases = visit.session.database_status().await?;
    let choices = databases.iter().enumerate().map(|(i, database)| Choice::new(&database.name, &database.name, i == 0));
    let typed = |name: &str| fields.map(|fields| fields.trimmed(name)).unwrap_or_default();
    let mut owner = Field::of("owner", page.s("farm.owner"), Input::Person(people::suggestions(&visit.session).await?));
    owner.value = typed("owner");
    Ok(Form {
        page,
        title: page.s("farm.new-site").into(),
        icon: icon("site"),
        action: "/farm/sites/new".into(),
        fields: vec![
            Field::line("title", page.s("farm.title"), typed("title")).required(),
            Field::line("path", page.s("farm.address"), typed("path")).required().hint(page.s("farm.address-hint")),
            Field::of("database", page.s("farm.database"), Input::Select(choices.collect())),
            owner.hint(page.s("farm.owner-hint")),
        ],
        submit: page.s("action.create").into(),
        danger: false,
        back: "/farm".into(),
        fault: String::new(),
    })
}

/// Shows the form for a new site collection.
pub async fn ask_site(mut visit: Visit) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm")?;
    Ok(html(&site_form(&visit, None).await?))
}

/// Creates a site collection.
pub async fn make_site(sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    match create(&visit, &fields).await {
        Ok(path) => Ok(done(&address::browse(&path), &Flash::new("toast.created", fields.trimmed("title")))),
        Err(error) => {
            navigation::fill_farm_side_bar(&mut visit.page, "/farm")?;
            refuse::show_form_again(site_form(&visit, Some(&fields)).await?, error)
        }
    }
}

async fn create(visit: &Visit, fields: &Fields) -> Result<String> {
    let path = SitePath::parse(&fields.trimmed("path"))?;
    let owner = match fields.trimmed("owner").as_str() {
        "" => None,
        text => Some(visit.session.find_principal(text).await?),
    };
    let database = fields.trimmed("database");
    visit.session.create_site_collection(&path, &fields.trimmed("title"), Some(&database), owner).await?;
    Ok(path.to_string())
}

fn quota_form<'a>(page: &'a Page, site: &SiteCollection, text: &str) -> Form<'a> {
    Form {
        page,
        title: page.f1("farm.quota-of", &site.title),
        icon: icon("database"),
        action: format!("/farm/sites/{}/quota", site.id),
        fields: vec![Field::line("quota", page.s("farm.quota"), text).hint(page.s("farm.quota-hint"))],
        submit: page.s("action.save").into(),
        danger: false,
        back: "/farm".into(),
        fault: String::new(),
    }
}

/// Shows the form for a quota.
pub async fn ask_quota(mut visit: Visit, Path(id): Path<String>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm")?;
    let site = visit.session.site_collection(id.parse()?).await?;
    let text = site
        .usage
        .as_ref()
        .and_then(|usage| usage.quota_bytes)
        .map(|bytes| (bytes / (1 << 20)).to_string())
        .unwrap_or_default();
    Ok(html(&quota_form(&visit.page, &site, &text)))
}

/// Sets or removes a quota.
pub async fn set_quota(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    navigation::fill_farm_side_bar(&mut visit.page, "/farm")?;
    let id: Id = id.parse()?;
    let text = fields.trimmed("quota");
    let set = match mebibytes(&text) {
        Ok(bytes) => visit.session.set_quota(id, bytes).await,
        Err(error) => Err(error),
    };
    match set {
        Ok(()) => Ok(done("/farm", &Flash::new("toast.saved", visit.page.s("farm.quota")))),
        Err(error) => {
            let site = visit.session.site_collection(id).await?;
            refuse::show_form_again(quota_form(&visit.page, &site, &text), error)
        }
    }
}

fn mebibytes(text: &str) -> Result<Option<u64>> {
    if text.is_empty() {
        return Ok(None);
    }
    let bytes = text.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << 20)).filter(|n| i64::try_from(*n).is_ok());
    bytes.map(Some).ok_or_else(|| Error::invalid("a quota must be a whole number of MiB, or empty for none"))
}

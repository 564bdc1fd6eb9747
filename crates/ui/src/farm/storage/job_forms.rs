//! The forms for starting jobs.

use axum::extract::Path;
use model::{Error, JobKind, Result};
use repository::{CheckWork, CollectWork, CrawlWork, MigrateWork, Work};

use super::jobs::HERE;
use super::stores;
use super::words::{parse_number, parse_size, some};
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Field, Form, Input};
use crate::frame::format::{Icon, icon};
use crate::frame::page::html;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{navigation, refuse};

/// Earlier input of the form, if any.
struct Typed<'a>(Option<&'a Fields>);

impl Typed<'_> {
    fn text(&self, name: &str) -> String {
        self.0.map(|fields| fields.trimmed(name)).unwrap_or_default()
    }

    fn or(&self, name: &str, usual: impl ToString) -> String {
        self.0.map_or_else(|| usual.to_string(), |fields| fields.trimmed(name))
    }
}

async fn form<'a>(visit: &'a Visit, kind: JobKind, fields: Option<&Fields>) -> Result<Form<'a>> {
    let (page, typed) = (&visit.page, Typed(fields));
    let (title, picture, submit, mut all): (_, Icon, _, _) = match kind {
        JobKind::Migrate => {
            (page.s("job.new-migrate"), icon("move"), page.s("job.start"), migrate_fields(visit, &typed).await?)
        }
        JobKind::Collect => {
            (page.s("job.new-collect"), icon("trash"), page.s("job.start"), collect_fields(visit, &typed))
        }
        JobKind::Check => {
            (page.s("job.new-check"), icon("check"), page.s("job.start"), check_fields(visit, &typed).await?)
        }
        JobKind::Crawl => {
            (page.s("job.new-crawl"), icon("replace"), page.s("job.start"), crawl_fields(visit, &typed).await?)
        }
    };
    all.push(Field::line("rate", page.s("job.rate"), typed.text("rate")).hint(page.s("job.rate-hint")));
    Ok(Form {
        page,
        title: title.into(),
        icon: picture,
        action: format!("{HERE}/new/{kind}"),
        fields: all,
        submit: submit.into(),
        danger: false,
        back: HERE.into(),
        fault: String::new(),
    })
}

async fn all_stores(visit: &Visit, none: &str, chosen: &str) -> Result<Vec<Choice>> {
    let stores = visit.session.stores().await?;
    let mut choices = vec![Choice::new("", none, chosen.is_empty())];
    choices.extend(stores.iter().map(|store| Choice::new(&store.name, &store.name, store.name == chosen)));
    Ok(choices)
}

async fn all_databases(visit: &Visit, chosen: &str) -> Result<Vec<Choice>> {
    let databases = visit.session.open_databases().await?;
    let mut choices = vec![Choice::new("", visit.page.s("job.all-databases"), chosen.is_empty())];
    choices.extend(databases.iter().map(|name| Choice::new(name, name, *name == chosen)));
    Ok(choices)
}

async fn migrate_fields(visit: &Visit, typed: &Typed<'_>) -> Result<Vec<Field>> {
    let page = &visit.page;
    let of = all_databases(visit, &typed.text("database")).await?;
    let to = some(typed.text("to"));
    let mut targets = vec![Choice::new("", page.s("job.active-store"), to.is_none())];
    targets.extend(stores::active(&visit.session, to.as_deref(), "").await?);
    let from = all_stores(visit, page.s("job.any-store"), &typed.text("from")).await?;
    Ok(vec![
        Field::of("from", page.s("job.from"), Input::Select(from)),
        Field::of("to", page.s("job.to"), Input::Select(targets)),
        Field::of("database", page.s("farm.database"), Input::Select(of)),
        Field::line("minimum", page.s("job.minimum"), typed.text("minimum")).hint(page.s("job.minimum-hint")),
        Field::line("older", page.s("job.older"), typed.text("older")).hint(page.s("job.days-hint")),
        Field::line("unread", page.s("job.unread"), typed.text("unread")).hint(page.s("job.days-hint")),
    ])
}

fn collect_fields(visit: &Visit, typed: &Typed<'_>) -> Vec<Field> {
    let (page, usual) = (&visit.page, CollectWork::default());
    let dry = typed.or("mode", "dry") == "dry";
    let modes = vec![
        Choice::new("dry", page.s("job.dry"), dry).hint(page.s("job.dry-hint")),
        Choice::new("delete", page.s("job.for-good"), !dry).hint(page.s("job.for-good-hint")),
    ];
    vec![
        Field::of("mode", page.s("job.mode"), Input::Radio(modes)),
        Field::line("window", page.s("job.window"), typed.or("window", usual.window_days))
            .required()
            .hint(page.s("job.window-hint")),
        Field::line("quarantine", page.s("job.quarantine"), typed.or("quarantine", usual.quarantine_days))
            .required()
            .hint(page.s("job.quarantine-hint")),
        Field::line("share", page.s("job.share"), typed.or("share", usual.share))
            .required()
            .hint(page.s("job.share-hint")),
    ]
}

async fn check_fields(visit: &Visit, typed: &Typed<'_>) -> Result<Vec<Field>> {
    let page = &visit.page;
    let stores = all_stores(visit, page.s("job.all-stores"), &typed.text("store")).await?;
    Ok(vec![Field::paragraph(page.s("job.check-text")), Field::of("store", page.s("job.store"), Input::Select(stores))])
}

async fn crawl_fields(visit: &Visit, typed: &Typed<'_>) -> Result<Vec<Field>> {
    let page = &visit.page;
    let databases = all_databases(visit, &typed.text("database")).await?;
    Ok(vec![
        Field::paragraph(page.s("job.crawl-text")),
        Field::of("database", page.s("farm.database"), Input::Select(databases)),
    ])
}

fn read(kind: JobKind, fields: &Fields) -> Result<Work> {
    let rate = parse_size(&fields.text("rate"))?.filter(|rate| *rate > 0);
    let named = |name: &str| some(fields.trimmed(name));
    Ok(match kind {
        JobKind::Migrate => Work::Migrate(MigrateWork {
            database: named("database"),
            from: named("from"),
            to: named("to"),
            minimum_size: parse_size(&fields.text("minimum"))?,
            older_than_days: parse_number(&fields.text("older"))?,
            unread_days: parse_number(&fields.text("unread"))?,
            rate,
            ..MigrateWork::default()
        }),
        JobKind::Collect => {
            let usual = CollectWork::default();
            Work::Collect(CollectWork {
                window_days: parse_number(&fields.text("window"))?.unwrap_or(usual.window_days),
                quarantine_days: parse_number(&fields.text("quarantine"))?.unwrap_or(usual.quarantine_days),
                share: parse_number(&fields.text("share"))?.unwrap_or(usual.share),
                // Any value other than an explicit `delete` is a dry run.
                dry_run: fields.text("mode") != "delete",
                rate,
                ..usual
            })
        }
        JobKind::Check => Work::Check(CheckWork { store: named("store"), rate }),
        JobKind::Crawl => Work::Crawl(CrawlWork { database: named("database"), rate }),
    })
}

fn kind_of(word: &str) -> Result<JobKind> {
    JobKind::parse(word).map_err(|_| Error::not_found("there is no such kind of job"))
}

/// The form.
pub async fn ask(mut visit: Visit, Path(kind): Path<String>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    Ok(html(&form(&visit, kind_of(&kind)?, None).await?))
}

/// Starts the job.
pub async fn start(Path(kind): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let kind = kind_of(&kind)?;
    let started = match read(kind, &fields) {
        Ok(work) => visit.session.start_job(work).await,
        Err(error) => Err(error),
    };
    match started {
        Ok(job) => Ok(done(&format!("{HERE}/{}", job.id), &Flash::new("toast.job-started", ""))),
        Err(error) => refuse::show_form_again(form(&visit, kind, Some(&fields)).await?, error),
    }
}

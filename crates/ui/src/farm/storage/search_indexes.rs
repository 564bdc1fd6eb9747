//! The page of the search indexes: their state, the documents whose text cannot be read, and the settings.

use askama::Template;
use axum::extract::Query;
use model::{Error, Id, Result};
use repository::{Job, ProgramStatus, SearchFault, SearchSettings, SearchState, SearchStatus};
use serde::Deserialize;

use super::jobs::{JobRow, sentence};
use super::words::parse_number;
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, navigation, refuse};
use crate::wording::{names, unavailable};

/// URL of the page.
const HERE: &str = "/farm/search";
/// Documents per page.
const PAGE: usize = 50;

/// Query parameters: the start of the page.
#[derive(Default, Deserialize)]
pub struct Before {
    /// Last document and version of the previous page, with a full stop between them.
    before: Option<String>,
}

struct IndexRow {
    status: SearchStatus,
    state: String,
    tone: &'static str,
    percent: Option<u64>,
    unreadable: u64,
}

struct FaultRow {
    fault: SearchFault,
    href: Option<String>,
    reason: String,
}

/// A program that reads documents.
struct ProgramRow {
    name: &'static str,
    formats: String,
    state: String,
    tone: &'static str,
}

#[derive(Template)]
#[template(path = "search-indexes.html")]
struct IndexesPage<'a> {
    page: &'a Page,
    /// Names of unavailable content databases, or empty.
    away: String,
    indexes: Vec<IndexRow>,
    /// Full crawls that have not ended, and the latest one that has.
    crawls: Vec<JobRow>,
    live: bool,
    /// Sentences about the settings.
    schedule: String,
    encrypted: String,
    programs: Vec<ProgramRow>,
    faults: Vec<FaultRow>,
    next: Option<String>,
}

impl IndexRow {
    fn of(page: &Page, status: SearchStatus) -> Self {
        let (state, tone) = match status.state() {
            SearchState::Unavailable => (page.s("search-index.unavailable").to_owned(), "bad"),
            SearchState::Building => (page.s("search-index.building").to_owned(), "accent"),
            SearchState::Behind => (page.n("search-index.behind", status.events_behind), "warn"),
            SearchState::Current => (page.s("search-index.current").to_owned(), ""),
        };
        let percent = status.building.and_then(|(read, all)| (read * 100).checked_div(all));
        Self { state, tone, percent, unreadable: status.unreadable(), status }
    }
}

/// Shows the page.
pub async fn list(mut visit: Visit, Query(from): Query<Before>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let before = from.before.as_deref().map(position).transpose()?;
    let status = visit.session.search_status().await?;
    let mut faults = visit.session.search_faults(before, PAGE + 1).await?;
    let last = faults.get(PAGE - 1).map(|fault| format!("{}.{}", fault.document, fault.version));
    let next = last.filter(|_| faults.len() > PAGE);
    faults.truncate(PAGE);
    let crawls = crawls(&visit).await?;
    let people: Vec<Id> = crawls.iter().map(|job| job.created_by).collect();
    let names = visit.session.principal_names(&people).await?;
    let away = unavailable::named(&visit.page, &visit.session.databases_away().await?);
    let settings = visit.session.search_settings().await?;
    let stores = visit.session.encrypting_stores().await?;
    let programs = visit.session.search_programs().await?;
    let page = &visit.page;
    let is_alive = crawls.iter().any(|job| job.status.is_alive());
    let is_working = status.iter().any(|index| index.state() != SearchState::Current);
    Ok(html(&IndexesPage {
        page,
        away,
        indexes: status.into_iter().map(|status| IndexRow::of(page, status)).collect(),
        crawls: crawls.iter().map(|job| JobRow::of(page, job, names::name_of(&names, job.created_by))).collect(),
        live: is_alive || is_working,
        schedule: match settings.full_crawl_days {
            Some(days) => page.n("search-index.every", u64::from(days)),
            None => page.s("search-index.never").to_owned(),
        },
        encrypted: match (stores.is_empty(), settings.index_encrypted_texts) {
            (true, _) => String::new(),
            (false, true) => page.f1("search-index.encrypted-all", stores.join(", ")),
            (false, false) => page.f1("search-index.encrypted-names", stores.join(", ")),
        },
        programs: programs.into_iter().map(|program| program_row(page, program, &settings)).collect(),
        faults: faults.into_iter().map(|fault| fault_row(page, fault)).collect(),
        next,
    }))
}

fn position(word: &str) -> Result<(Id, Id)> {
    let (document, version) = word.split_once('.').ok_or_else(|| Error::invalid("the page does not exist"))?;
    Ok((document.parse()?, version.parse()?))
}

async fn crawls(visit: &Visit) -> Result<Vec<Job>> {
    let jobs = visit.session.full_crawls().await?;
    let mut has_ended_one = false;
    let is_shown = |job: &Job| {
        let is_latest = !job.status.has_ended() || !has_ended_one;
        has_ended_one |= job.status.has_ended();
        is_latest
    };
    Ok(jobs.into_iter().filter(is_shown).collect())
}

fn fault_row(page: &Page, fault: SearchFault) -> FaultRow {
    let translated = page.language.find(&format!("search-fault.{}", fault.code));
    let reason = translated.map_or_else(|| refuse::typographic(&sentence(&fault.reason)), ToOwned::to_owned);
    FaultRow { href: fault.path.as_deref().map(address::browse), reason, fault }
}

fn program_row(page: &Page, program: ProgramStatus, settings: &SearchSettings) -> ProgramRow {
    let ProgramStatus { name, is_found, formats, languages } = program;
    let (state, tone) = match (is_found, languages.is_empty()) {
        (false, _) => (page.s("search-index.program-missing").to_owned(), "warn"),
        (true, false) if !settings.recognizes_text => (page.s("search-index.program-off").to_owned(), ""),
        (true, false) => (page.f1("search-index.program-languages", languages.join(", ")), ""),
        (true, true) => (page.s("search-index.program-found").to_owned(), ""),
    };
    let formats = formats.into_iter().map(|format| match format {
        "scanned PDF" => page.s("search-index.scanned-pdf"),
        format => format,
    });
    ProgramRow { name, formats: formats.collect::<Vec<_>>().join(", "), state, tone }
}

fn form<'a>(visit: &'a Visit, fields: Option<&Fields>, settings: &SearchSettings) -> Form<'a> {
    let page = &visit.page;
    let typed = |name: &str, usual: String| fields.map_or(usual, |fields| fields.trimmed(name));
    let days = settings.full_crawl_days.map(|days| days.to_string()).unwrap_or_default();
    let usual = if settings.index_encrypted_texts { "all" } else { "names" };
    let reads_all = typed("encrypted", usual.to_owned()) == "all";
    let choices = vec![
        Choice::new("names", page.s("search-index.names"), !reads_all).hint(page.s("search-index.names-hint")),
        Choice::new("all", page.s("search-index.all"), reads_all).hint(page.s("search-index.all-hint")),
    ];
    let usual = if settings.recognizes_text { "yes" } else { "no" };
    let recognises = typed("recognition", usual.to_owned()) == "yes";
    let recognition = vec![
        Choice::new("no", page.s("search-index.recognition-no"), !recognises),
        Choice::new("yes", page.s("search-index.recognition-yes"), recognises)
            .hint(page.s("search-index.recognition-hint")),
    ];
    let languages = typed("languages", settings.recognition_languages.join("+"));
    Form {
        page,
        title: page.s("search-index.settings").into(),
        icon: icon("sliders"),
        action: format!("{HERE}/settings"),
        fields: vec![
            Field::line("days", page.s("search-index.days"), typed("days", days))
                .hint(page.s("search-index.days-hint")),
            Field::of("encrypted", page.s("search-index.encrypted"), Input::Radio(choices)),
            Field::of("recognition", page.s("search-index.recognition"), Input::Radio(recognition)),
            Field::line("languages", page.s("search-index.languages"), languages)
                .hint(page.s("search-index.languages-hint")),
        ],
        submit: page.s("action.save").into(),
        danger: false,
        back: HERE.into(),
        fault: String::new(),
    }
}

/// Shows the form of the settings.
pub async fn ask(mut visit: Visit) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let settings = visit.session.search_settings().await?;
    Ok(html(&form(&visit, None, &settings)))
}

/// Saves the settings.
pub async fn save(sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let saved = match parse_number(&fields.text("days")) {
        Ok(full_crawl_days) => {
            let languages = fields.trimmed("languages");
            let settings = SearchSettings {
                full_crawl_days,
                index_encrypted_texts: fields.text("encrypted") == "all",
                recognizes_text: fields.text("recognition") == "yes",
                recognition_languages: languages.split('+').map(|name| name.trim().to_owned()).collect(),
            };
            visit.session.set_search_settings(settings).await
        }
        Err(error) => Err(error),
    };
    match saved {
        Ok(()) => Ok(done(HERE, &Flash::new("toast.search-settings", ""))),
        Err(error) => refuse::show_form_again(form(&visit, Some(&fields), &SearchSettings::default()), error),
    }
}

//! `strongroom crawl`: the search indexes, the documents whose text cannot be read, and full crawls.

use clap::{Args, Subcommand};
use std::process::ExitCode;

use http_edge::Converter;
use maintenance::jobs;
use model::{Error, Id, JobStatus, Result, grouped};
use repository::{
    CrawlWork, Job, JobRequest, ProgramStatus, Sandbox, SearchFault, SearchState, SearchStatus, Session, Work,
};
use serde_json::{Value, json};

use super::blobs::{job_json, outcome_with_fault_hint, watcher};
use super::farm;
use super::output::{show, table, time};
use super::size::{parse_size, size};
use super::verdict::{CommandResult, Verdict};
use crate::configuration::{CommonArguments, Settings};

/// Documents read per page, and the limit on those that are shown.
const PAGE: usize = 1_000;
const MAX_LISTED: usize = 10_000;

/// Arguments of `strongroom crawl`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show the state of the search indexes
    Status,
    /// List the documents whose text cannot be read
    Faults,
    /// Read all documents again and rebuild the search indexes while searches go on; needs a running server
    Full {
        /// Only the documents of this content database
        #[arg(long, value_name = "DATABASE")]
        database: Option<String>,
        /// Limit in bytes of documents per second, such as 20M [default: no limit]
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        rate: Option<u64>,
        /// Let a server of the farm run the crawl in the background
        #[arg(long)]
        background: bool,
    },
    /// Pause the running full crawl; it can be resumed
    Pause,
    /// Resume the full crawl that was paused
    Resume,
    /// End the full crawl permanently; the index in use stays
    Stop,
    /// Show or change how often a full crawl starts, and which texts are indexed
    Settings {
        /// Days between two full crawls; 0 turns them off
        #[arg(long, value_name = "DAYS")]
        full_every: Option<u32>,
        /// Index texts from stores that encrypt. The directory `search` of the data directory then holds them
        /// unencrypted, so it should be on an encrypted disk. A change starts a full crawl
        #[arg(long, value_name = "YES|NO", value_parser = parse_yes_or_no)]
        encrypted_texts: Option<bool>,
        /// Recognise text in pictures and scanned pages with tesseract, where it is installed (OCR). Turning it on
        /// starts a full crawl
        #[arg(long, value_name = "YES|NO", value_parser = parse_yes_or_no)]
        ocr: Option<bool>,
        /// Languages of such text, such as deu+eng; those that are installed are used
        #[arg(long, value_name = "LANGUAGES")]
        ocr_languages: Option<String>,
    },
}

fn parse_yes_or_no(text: &str) -> std::result::Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("write yes or no".to_owned()),
    }
}

/// Runs `strongroom crawl`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let converter = Converter::find(Settings::read(&arguments.common)?.converter.as_deref())?;
    let (repository, session) = farm::open(&arguments.common).await?;
    repository.open_documents_with(farm::programs(&repository, Sandbox::of_this_program(), converter));
    let outcome = act(&session, arguments.action, arguments.common.json).await;
    repository.close().await;
    let (value, text, verdict) = outcome?;
    show(arguments.common.json, &value, &text);
    Ok(verdict.into())
}

async fn act(session: &Session, action: Action, as_json: bool) -> Result<CommandResult> {
    match action {
        Action::Status => status(session).await,
        Action::Faults => faults(session).await,
        Action::Full { database, rate, background } => {
            let job = session.start_job(Work::Crawl(CrawlWork { database, rate })).await?;
            if background {
                return Ok(asked(&job, "waits for a server of the farm"));
            }
            if !as_json {
                eprintln!("A server of the farm runs job {}. Ctrl+C does not stop it.", job.id);
            }
            let watch = watcher(as_json);
            let job = jobs::follow(session, job.id, &watch.0).await?;
            drop(watch);
            outcome_with_fault_hint(session, &job).await
        }
        Action::Pause => request(session, JobRequest::Pause, "pauses").await,
        Action::Resume => request(session, JobRequest::Resume, "waits for a server of the farm").await,
        Action::Stop => request(session, JobRequest::Abort, "ends").await,
        Action::Settings { full_every, encrypted_texts, ocr, ocr_languages } => {
            settings(session, Changes { full_every, encrypted_texts, ocr, ocr_languages }).await
        }
    }
}

/// Sends a request to the latest full crawl that it concerns.
async fn request(session: &Session, request: JobRequest, what: &str) -> Result<CommandResult> {
    let concerns = |job: &&Job| match request {
        JobRequest::Pause => job.status.is_alive(),
        JobRequest::Resume => job.status == JobStatus::Paused,
        JobRequest::Abort => !job.status.has_ended(),
    };
    let crawls = session.full_crawls().await?;
    let crawl = crawls.iter().find(concerns).ok_or_else(|| {
        let state = if request == JobRequest::Resume { "paused" } else { "running" };
        Error::not_found(format!("no full crawl is {state}: `strongroom crawl full` starts one"))
    })?;
    Ok(asked(&session.ask_job(crawl.id, request).await?, what))
}

fn asked(job: &Job, what: &str) -> CommandResult {
    let text = format!("Job {} {what}: `strongroom jobs show {}` shows its progress.\n", job.id, job.id);
    (job_json(job), text, Verdict::Good)
}

async fn status(session: &Session) -> Result<CommandResult> {
    let indexes = session.search_status().await?;
    let rows: Vec<_> = indexes
        .iter()
        .map(|index| {
            let state = match (index.state(), index.building) {
                (SearchState::Building, Some((read, all))) => {
                    format!("building: {} of {} documents", grouped(read), grouped(all))
                }
                (SearchState::Behind, _) => format!("behind: {} events", grouped(index.events_behind)),
                (state, _) => state.as_str().to_owned(),
            };
            [
                index.database.clone(),
                state,
                grouped(index.entries),
                grouped(index.unreadable()),
                grouped(index.waiting + index.awaiting_recognition),
                index.comparison.map_or_else(|| "-".to_owned(), |comparison| grouped(comparison.repaired)),
                size(index.size),
            ]
        })
        .collect();
    let mut text = table(["DATABASE", "STATE", "ENTRIES", "UNREADABLE", "WAITING", "REPAIRED", "SIZE"], &rows);
    if let Some(server) = indexes.iter().find_map(|index| index.server.as_ref()) {
        text.push_str(&format!("\nThe indexes are on the search server {server}.\n"));
    }
    let settings = session.search_settings().await?;
    let stores = session.encrypting_stores().await?;
    if !stores.is_empty() {
        let found = match settings.index_encrypted_texts {
            true => "are in the index, unencrypted",
            false => "are not indexed; such documents are found by name only",
        };
        text.push_str(&format!("\nTexts from stores that encrypt ({}) {found}.\n", stores.join(", ")));
    }
    let programs = session.search_programs().await?;
    text.push('\n');
    for program in &programs {
        text.push_str(&program_line(program, settings.recognizes_text));
    }
    if indexes.iter().any(|index| index.unreadable() > 0) {
        text.push_str("\n`strongroom crawl faults` names the documents whose text cannot be read.\n");
    }
    let value = json!({
        "indexes": indexes.iter().map(status_json).collect::<Value>(),
        "encrypting_stores": stores,
        "index_encrypted_texts": settings.index_encrypted_texts,
        "full_crawl_days": settings.full_crawl_days,
        "recognizes_text": settings.recognizes_text,
        "programs": programs.iter().map(program_json).collect::<Value>(),
    });
    let is_bad = indexes.iter().any(|index| index.state() == SearchState::Unavailable);
    Ok((value, text, if is_bad { Verdict::Bad } else { Verdict::Good }))
}

fn status_json(index: &SearchStatus) -> Value {
    json!({
        "database": index.database,
        "server": index.server,
        "state": index.state().as_str(),
        "entries": index.entries,
        "documents_read": index.building.map(|(read, _)| read),
        "documents": index.building.map(|(_, all)| all),
        "unreadable": index.unreadable(),
        "unreadable_by_code": index.faults,
        "waiting": index.waiting,
        "awaiting_recognition": index.awaiting_recognition,
        "events_behind": index.events_behind,
        "behind_since": index.behind_since.map(time),
        "size": index.size,
        "comparison": index.comparison.map(|comparison| {
            json!({ "at": time(comparison.at), "documents": comparison.documents, "repaired": comparison.repaired })
        }),
    })
}

/// Describes a program that reads documents in one line.
fn program_line(program: &ProgramStatus, recognizes_text: bool) -> String {
    let (name, formats) = (program.name, program.formats.join(", "));
    let recognises = !program.languages.is_empty();
    match program.is_found {
        false => format!("{name} is not installed or not allowed; it would read {formats}.\n"),
        true if recognises && !recognizes_text => {
            format!("{name} is installed; `strongroom crawl settings --ocr yes` has it read {formats}.\n")
        }
        true if recognises => format!("{name} reads {formats} ({}).\n", program.languages.join("+")),
        true => format!("{name} reads {formats}.\n"),
    }
}

fn program_json(program: &ProgramStatus) -> Value {
    json!({
        "name": program.name,
        "is_found": program.is_found,
        "formats": program.formats,
        "languages": program.languages,
    })
}

async fn faults(session: &Session) -> Result<CommandResult> {
    let mut all: Vec<SearchFault> = Vec::new();
    let mut is_complete = false;
    while !is_complete && all.len() < MAX_LISTED {
        let before: Option<(Id, Id)> = all.last().map(|fault| (fault.document, fault.version));
        let mut page = session.search_faults(before, PAGE).await?;
        is_complete = page.len() < PAGE;
        all.append(&mut page);
    }
    let rows: Vec<_> = all
        .iter()
        .map(|fault| {
            let name = fault.path.clone().unwrap_or_else(|| fault.name.clone());
            [fault.document.to_string(), name, fault.code.clone(), fault.reason.clone()]
        })
        .collect();
    let mut text = match all.is_empty() {
        true => "All texts could be read.\n".to_owned(),
        false => table(["ID", "DOCUMENT", "CODE", "REASON"], &rows),
    };
    if !is_complete {
        text.push_str("There may be more than these.\n");
    }
    let fault_json = |fault: &SearchFault| {
        json!({
            "database": fault.database,
            "document": fault.document.to_string(),
            "version": fault.version.to_string(),
            "name": fault.name,
            "path": fault.path,
            "code": fault.code,
            "reason": fault.reason,
        })
    };
    Ok((all.iter().map(fault_json).collect(), text, Verdict::Good))
}

/// Changes of the settings; `None` leaves them as they are.
struct Changes {
    full_every: Option<u32>,
    encrypted_texts: Option<bool>,
    ocr: Option<bool>,
    ocr_languages: Option<String>,
}

async fn settings(session: &Session, changes: Changes) -> Result<CommandResult> {
    let before = session.search_settings().await?;
    let mut settings = before.clone();
    if let Some(days) = changes.full_every {
        settings.full_crawl_days = Some(days).filter(|days| *days > 0);
    }
    settings.index_encrypted_texts = changes.encrypted_texts.unwrap_or(settings.index_encrypted_texts);
    settings.recognizes_text = changes.ocr.unwrap_or(settings.recognizes_text);
    if let Some(languages) = &changes.ocr_languages {
        settings.recognition_languages = languages.split('+').map(ToOwned::to_owned).collect();
    }
    if settings != before {
        session.set_search_settings(settings.clone()).await?;
    }
    let every = match settings.full_crawl_days {
        Some(1) => "A full crawl starts every day.".to_owned(),
        Some(days) => format!("A full crawl starts every {days} days."),
        None => "No full crawl is scheduled.".to_owned(),
    };
    let texts = if settings.index_encrypted_texts { "indexed" } else { "not indexed" };
    let recognition = match settings.recognizes_text {
        true => format!("recognised ({})", settings.recognition_languages.join("+")),
        false => "not recognised".to_owned(),
    };
    let text = format!("{every} Texts from stores that encrypt are {texts}. Text in pictures is {recognition}.\n");
    let value = json!({
        "full_crawl_days": settings.full_crawl_days,
        "index_encrypted_texts": settings.index_encrypted_texts,
        "recognizes_text": settings.recognizes_text,
        "recognition_languages": settings.recognition_languages,
    });
    Ok((value, text, Verdict::Good))
}

//! Audit log of a site collection: a filtered page, and an export for spreadsheets.

use askama::Template;
use axum::extract::{Path, Query};
use model::{Id, MAX_PAGE, Result, Timestamp};
use repository::{AUDIT_ACTIONS, AuditFilter, Event, Session, Target};
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Suggestion};
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{csv, format, navigation, refuse};
use crate::wording::events::{choices, who, words};
use crate::wording::people;
use http_core::protocol::segments::encode_query;

/// Events per page.
const PAGE: usize = 100;

/// Query parameters: the filter and the start of the page.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct View {
    who: String,
    action: String,
    before: Option<i64>,
}

struct Row {
    at: Timestamp,
    who: String,
    what: &'static str,
    detail: String,
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage<'a> {
    page: &'a Page,
    title: String,
    collection: Id,
    rows: Vec<Row>,
    actions: Vec<Choice>,
    who: String,
    suggestions: Vec<Suggestion>,
    query: String,
    older: Option<i64>,
    reads: bool,
    fault: String,
}

impl View {
    async fn filter(&self, session: &Session) -> Result<AuditFilter> {
        let actor = match self.who.trim() {
            "" => None,
            text => Some(session.find_principal(text).await?),
        };
        Ok(AuditFilter { actor, action: Some(self.action.clone()).filter(|action| !action.is_empty()) })
    }
}

/// The page.
pub async fn show(mut visit: Visit, Path(collection): Path<String>, Query(view): Query<View>) -> PageResult {
    let collection: Id = collection.parse()?;
    let way = visit.session.item_with_ancestors(&Target::Id(collection)).await?;
    let (filter, fault) = match view.filter(&visit.session).await {
        Ok(filter) => (filter, String::new()),
        Err(error) => (AuditFilter::default(), refuse::message_for(&visit.page, &error)),
    };
    let mut listed = visit.session.audit_log(collection, filter, view.before, PAGE).await?;
    if !fault.is_empty() {
        // The requested user is unknown, and the events of all others would be a wrong answer.
        (listed.items, listed.next) = (Vec::new(), None);
    }
    let site = visit.session.site_collection(collection).await?;
    let actors: Vec<Id> = listed.items.iter().map(|event| event.actor).collect();
    let names = visit.session.principal_names(&actors).await?;
    let suggestions = people::suggestions(&visit.session).await?;
    navigation::fill_side_bar(&mut visit, &way).await?;
    navigation::mark_current(&mut visit.page, &format!("/audit/{collection}"));
    let page = &visit.page;
    let rows = listed.items.into_iter().map(|event| Row {
        at: event.at,
        who: who(page, &names, event.actor),
        what: words(page, &event.action),
        // The path of the root site is empty.
        detail: if event.detail.starts_with(": ") { format!("/{}", event.detail) } else { event.detail },
    });
    Ok(html(&AuditPage {
        title: page.f1("audit.title", way.first().map_or("", |root| root.name.as_str())),
        page,
        collection,
        rows: rows.collect(),
        actions: choices(page, &AUDIT_ACTIONS, &view.action),
        query: format!("who={}&action={}", encode_query(&view.who), encode_query(&view.action)),
        who: view.who,
        suggestions,
        older: listed.next,
        reads: site.audit_reads,
        fault,
    }))
}

/// Sets whether reads of documents are logged.
pub async fn set_reads(Path(collection): Path<String>, sent: SubmittedForm) -> PageResult {
    let collection: Id = collection.parse()?;
    sent.visit.session.set_audit_reads(collection, sent.fields.yes("reads")).await?;
    Ok(done(&format!("/audit/{collection}"), &Flash::new("toast.saved", sent.visit.page.s("nav.audit"))))
}

/// State of an export in progress.
struct Rest {
    session: Session,
    collection: Id,
    filter: AuditFilter,
    before: Option<i64>,
    ended: bool,
}

/// Sends all matching events as a CSV file.
pub async fn export(visit: Visit, Path(collection): Path<String>, Query(view): Query<View>) -> PageResult {
    let collection: Id = collection.parse()?;
    let filter = view.filter(&visit.session).await?;
    let rest = Rest { session: visit.session, collection, filter, before: None, ended: false };
    csv::send("audit-log.csv", "time,login,name,action,item,detail", rest).await
}

impl csv::Source for Rest {
    async fn next(&mut self) -> Result<Option<String>> {
        if self.ended {
            return Ok(None);
        }
        let listed = self.session.audit_log(self.collection, self.filter.clone(), self.before, MAX_PAGE).await?;
        self.ended = listed.next.is_none();
        self.before = listed.next;
        let actors: Vec<Id> = listed.items.iter().map(|event| event.actor).collect();
        let names = self.session.principal_names(&actors).await?;
        let line = |event: &Event| {
            let who = names.get(&event.actor);
            let login = who.and_then(|name| name.login.as_deref()).unwrap_or_default();
            let name = who.map(|name| name.name.as_str()).unwrap_or_default();
            let (at, item) = (format::exact(event.at), event.item.to_string());
            csv::line([&at, login, name, &event.action, &item, &event.detail])
        };
        Ok(Some(listed.items.iter().map(line).collect()))
    }
}

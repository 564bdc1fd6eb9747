//! Audit log of the farm (events outside of content): a filtered page, and an export for spreadsheets.

use std::collections::{HashMap, HashSet};

use askama::Template;
use axum::extract::Query;
use model::{Code, Error, Id, MAX_PAGE, Result, Timestamp, Zone};
use repository::{FARM_ACTIONS, FarmEvent, FarmFilter, PrincipalName, Session, Work};
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::form::{Choice, Suggestion};
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::frame::{csv, format, navigation, refuse};
use crate::wording::{events, names, people};
use http_core::protocol::segments::encode_query;
use http_core::transfer::typed;

use super::storage;

/// URL of the page.
const HERE: &str = "/farm/audit";
/// Events per page.
const PAGE: usize = 100;

/// Query parameters: the filter and the start of the page.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct View {
    who: String,
    action: String,
    about: String,
    from: String,
    to: String,
    before: Option<i64>,
}

/// Subject of an event.
struct About {
    label: String,
    /// URL of the subject's page, or empty.
    href: String,
}

struct Row {
    at: Timestamp,
    who: String,
    what: &'static str,
    about: About,
    detail: String,
}

#[derive(Template)]
#[template(path = "farm-audit.html")]
struct FarmAuditPage<'a> {
    page: &'a Page,
    rows: Vec<Row>,
    actions: Vec<Choice>,
    suggestions: Vec<Suggestion>,
    query: String,
    older: Option<i64>,
    /// Error about the `who` filter, or empty.
    stranger: String,
    /// Error about the days, or empty.
    misfit: String,
    view: View,
}

/// Finds a user or group. Disabled users are found by their login.
async fn find(session: &Session, text: &str) -> Result<Id> {
    match session.find_principal(text).await {
        Ok(id) => Ok(id),
        Err(error) => session.account_by_login(text.trim()).await.map(|account| account.id).map_err(|_| error),
    }
}

fn day(text: &str) -> Result<Option<Timestamp>> {
    match text.trim() {
        "" => Ok(None),
        text => typed::day(text).map(Some).ok_or_else(|| {
            Error::invalid(format!("\"{text}\" is not a date: write it like 2026-03-01")).with_code(Code::InvalidTime)
        }),
    }
}

impl View {
    async fn filter(&self, session: &Session, zone: &Zone) -> Result<FarmFilter> {
        let actor = match self.who.trim() {
            "" => None,
            text => Some(find(session, text).await?),
        };
        let about = match self.about.trim() {
            "" => None,
            text => find(session, text).await.ok(),
        };
        Ok(FarmFilter {
            actor,
            action: Some(self.action.clone()).filter(|action| !action.is_empty()),
            text: Some(self.about.clone()),
            about,
            from: day(&self.from)?.map(|day| zone.start_of_stored(day)),
            until: day(&self.to)?.map(|day| zone.end_of_stored(day)),
        })
    }

    fn query(&self) -> String {
        let Self { who, action, about, from, to, .. } = self;
        let fields = [("who", who), ("action", action), ("about", about), ("from", from), ("to", to)];
        fields.map(|(name, value)| format!("{name}={}", encode_query(value))).join("&")
    }
}

/// Names of everything that the events refer to.
struct Names {
    people: HashMap<Id, PrincipalName>,
    roles: HashMap<Id, String>,
    stores: HashSet<String>,
}

/// Returns the kind and identifier of an event's subject.
fn subject(event: &FarmEvent) -> Option<(&str, Id)> {
    let (kind, id) = event.subject.split_once(' ')?;
    Some((kind, id.parse().ok()?))
}

impl Names {
    async fn of(session: &Session, events: &[FarmEvent]) -> Result<Self> {
        let mut people: Vec<Id> = events.iter().map(|event| event.actor).collect();
        people.extend(events.iter().filter_map(subject).filter(|(kind, _)| *kind != "role").map(|(_, id)| id));
        let mut names =
            Self { people: session.principal_names(&people).await?, roles: HashMap::new(), stores: HashSet::new() };
        if events.iter().any(|event| event.subject.starts_with("role ")) {
            names.roles = session.roles().await?.into_iter().map(|role| (role.id, role.name.to_string())).collect();
        }
        if events.iter().any(|event| event.action.starts_with("store.")) {
            names.stores = session.stores().await?.into_iter().map(|store| store.name).collect();
        }
        Ok(names)
    }

    /// Returns the name of an event's user. Only failed sign-ins and the first account of a farm have none.
    fn who(&self, page: &Page, event: &FarmEvent) -> String {
        match event.actor {
            id if !id.is_none() => names::name_of(&self.people, id),
            _ if event.action == "account.create" => page.s("audit.first-start").to_owned(),
            _ => page.s("audit.nobody").to_owned(),
        }
    }

    /// Returns the subject of an event, with the URL of its page while it has one.
    fn about(&self, page: &Page, event: &FarmEvent) -> About {
        let plain = |label: &str| About { label: label.to_owned(), href: String::new() };
        let linked = |label: &str, href: String| About { label: label.to_owned(), href };
        let (kind, rest) = event.subject.split_once(' ').unwrap_or((event.subject.as_str(), ""));
        let area = event.action.split('.').next().unwrap_or_default();
        match (area, subject(event)) {
            ("store", _) if self.stores.contains(&event.subject) => {
                linked(&event.subject, storage::store_address(&event.subject))
            }
            ("storage", _) => linked(rest, "/farm/policies".to_owned()),
            ("blob", _) => plain(rest),
            ("job", Some((kind, id))) => linked(&storage::kind_of_work(page, kind), format!("/farm/jobs/{id}")),
            (_, Some(("account", id))) => match self.people.get(&id) {
                Some(name) => linked(&name.name, format!("/farm/users/{id}")),
                None => plain(&event.subject),
            },
            (_, Some(("group", id))) => match self.people.get(&id) {
                Some(name) => linked(&name.name, format!("/farm/groups/{id}")),
                None => plain(page.s("audit.gone-group")),
            },
            (_, Some(("role", id))) => match self.roles.get(&id) {
                Some(name) => linked(name, format!("/farm/roles/{id}")),
                None => plain(page.s("audit.gone-role")),
            },
            _ if kind == "account" => plain(page.s("audit.unknown-login")),
            _ => plain(&event.subject),
        }
    }
}

/// Returns the details of an event. For a started job, these are its parameters in words.
fn detail(page: &Page, event: &FarmEvent) -> String {
    let work =
        Some(event).filter(|event| event.action == "job.start").and_then(|event| Work::from_text(&event.detail).ok());
    work.map_or_else(|| event.detail.clone(), |work| storage::work(page, &work))
}

/// The page.
pub async fn show(mut visit: Visit, Query(view): Query<View>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let page = &visit.page;
    let (mut stranger, mut misfit) = (String::new(), String::new());
    let filter = match view.filter(&visit.session, &visit.page.zone).await {
        Ok(filter) => filter,
        Err(error) => {
            match [&view.from, &view.to].into_iter().find(|text| day(text).is_err()) {
                Some(text) if error.code() == Code::InvalidTime => misfit = page.f1("filter.no-day", text),
                _ => stranger = refuse::message_for(page, &error),
            }
            FarmFilter::default()
        }
    };
    let listed = visit.session.farm_events(filter, view.before, PAGE).await?;
    let names = Names::of(&visit.session, &listed.items).await?;
    let suggestions = people::suggestions(&visit.session).await?;
    let row = |event: &FarmEvent| Row {
        at: event.at,
        who: names.who(page, event),
        what: events::words(page, &event.action),
        about: names.about(page, event),
        detail: detail(page, event),
    };
    Ok(html(&FarmAuditPage {
        page,
        rows: listed.items.iter().map(row).collect(),
        actions: events::choices(page, &FARM_ACTIONS, &view.action),
        suggestions,
        query: view.query(),
        older: listed.next,
        stranger,
        misfit,
        view,
    }))
}

/// State of an export in progress.
struct Rest {
    visit: Visit,
    filter: FarmFilter,
    before: Option<i64>,
    ended: bool,
}

/// Sends all matching events as a CSV file.
pub async fn export(mut visit: Visit, Query(view): Query<View>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let filter = view.filter(&visit.session, &visit.page.zone).await?;
    let rest = Rest { visit, filter, before: None, ended: false };
    csv::send("farm-audit-log.csv", "time,login,name,action,subject,about,detail", rest).await
}

impl csv::Source for Rest {
    async fn next(&mut self) -> Result<Option<String>> {
        if self.ended {
            return Ok(None);
        }
        let (session, page) = (&self.visit.session, &self.visit.page);
        let listed = session.farm_events(self.filter.clone(), self.before, MAX_PAGE).await?;
        self.ended = listed.next.is_none();
        self.before = listed.next;
        let names = Names::of(session, &listed.items).await?;
        let line = |event: &FarmEvent| {
            let who = names.people.get(&event.actor);
            let login = who.and_then(|name| name.login.as_deref()).unwrap_or_default();
            let name = who.map(|name| name.name.as_str()).unwrap_or_default();
            let (at, about) = (format::exact(event.at), names.about(page, event).label);
            csv::line([&at, login, name, &event.action, &event.subject, &about, &event.detail])
        };
        Ok(Some(listed.items.iter().map(line).collect()))
    }
}

//! The page of BLOB stores and their actions.

use askama::Template;
use axum::extract::Path;
use model::{Error, Id, Result, StoreKind, StoreState};
use repository::{DATABASE_STORE, MigrateWork, Session, StoreStatus, Work};

use super::words::{self, KINDS, parse_size, some};
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{navigation, refuse};
use http_core::protocol::segments;

/// URL of the page.
pub const HERE: &str = "/farm/stores";

#[derive(Template)]
#[template(path = "stores.html")]
struct StoresPage<'a> {
    page: &'a Page,
    stores: Vec<StoreRow>,
    /// Kinds of stores that can be added: key and name.
    kinds: Vec<(StoreKind, String)>,
}

struct StoreRow {
    href: String,
    kind: String,
    state: &'static str,
    tone: &'static str,
    /// True if this is the store inside the content databases, which always accepts BLOBs.
    inside: bool,
    store: StoreStatus,
}

/// Returns the URL of a store's pages.
pub fn address(name: &str) -> String {
    format!("{HERE}/{}", segments::encode(name))
}

/// Shows the list.
pub async fn list(mut visit: Visit) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let (_, stores) = visit.session.storage_status().await?;
    let page = &visit.page;
    let rows = stores.into_iter().map(|store| {
        let (state, tone) = match (&store.trouble, store.state) {
            (Some(_), _) => (page.s("store-state.silent"), "bad"),
            (None, StoreState::ReadOnly) => (page.s("store-state.read-only"), ""),
            (None, StoreState::Draining) => (page.s("store-state.draining"), "warn"),
            (None, StoreState::Active) => (page.s("store-state.active"), "accent"),
        };
        let (href, kind) = (address(&store.name), words::kind(page, store.kind));
        let inside = store.id == DATABASE_STORE;
        StoreRow { href, kind, state, tone, inside, store }
    });
    let stores = rows.collect();
    let kinds = KINDS.map(|kind| (kind, words::kind(page, kind))).into();
    Ok(html(&StoresPage { page, stores, kinds }))
}

/// Finds a store by name.
pub async fn find(session: &Session, name: &str) -> Result<StoreStatus> {
    let found = session.stores().await?.into_iter().find(|store| store.name == name);
    found.ok_or_else(|| Error::not_found(format!("there is no BLOB store \"{name}\"")))
}

/// Returns the stores that accept new BLOBs, as choices for a list.
pub async fn active(session: &Session, chosen: Option<&str>, without: &str) -> Result<Vec<Choice>> {
    let stores = session.stores().await?;
    let open = |store: &StoreStatus| store.state == StoreState::Active && store.name != without;
    // The currently selected store is listed whatever its state.
    let listed = stores.iter().filter(|store| open(store) || Some(store.name.as_str()) == chosen);
    Ok(listed.map(|store| Choice::new(&store.name, &store.name, Some(store.name.as_str()) == chosen)).collect())
}

/// Activates a store for new BLOBs, or makes it read-only.
pub async fn set_state(Path(name): Path<String>, sent: SubmittedForm) -> PageResult {
    let state = match sent.fields.text("do").as_str() {
        "activate" => StoreState::Active,
        "read-only" => StoreState::ReadOnly,
        _ => return Err(Error::invalid("a store can be activated or made read-only").into()),
    };
    sent.visit.session.set_store_state(&name, state).await?;
    Ok(done(HERE, &Flash::new("toast.saved", name)))
}

#[derive(Template)]
#[template(path = "store-test.html")]
struct TestPage<'a> {
    page: &'a Page,
    name: &'a str,
    steps: Vec<StepRow>,
    failure: Option<(String, String)>,
}

struct StepRow {
    what: String,
    bytes: u64,
    took: String,
}

/// Writes, reads, lists and deletes a probe, and shows the result of each step.
pub async fn test(Path(name): Path<String>, sent: SubmittedForm) -> PageResult {
    let mut visit = sent.visit;
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let report = visit.session.test_store(&name).await?;
    let page = &visit.page;
    let step = |what: &'static str| {
        let key = format!("step.{}", what.replace(' ', "-").to_lowercase());
        page.language.find(&key).unwrap_or(what).to_owned()
    };
    let steps = report.steps.iter().map(|done| StepRow {
        what: step(done.what),
        bytes: done.bytes,
        took: page.f1("length.milliseconds", words::decimal(page, done.time.as_secs_f64() * 1_000.0)),
    });
    let failure = report.failure.as_ref().map(|(what, error)| (step(what), refuse::message_for(page, error)));
    Ok(html(&TestPage { page, name: &name, steps: steps.collect(), failure }))
}

/// Rotates the encryption key. New BLOBs are encrypted with the new key.
pub async fn rotate(Path(name): Path<String>, sent: SubmittedForm) -> PageResult {
    sent.visit.session.rotate_store_key(&name).await?;
    Ok(done(HERE, &Flash::new("toast.key-rotated", name)))
}

async fn drain_form<'a>(visit: &'a Visit, store: &StoreStatus, fields: Option<&Fields>) -> Result<Form<'a>> {
    let page = &visit.page;
    let typed = |name: &str| fields.map(|fields| fields.trimmed(name)).unwrap_or_default();
    let chosen = some(typed("to"));
    let mut targets = vec![Choice::new("", page.s("job.active-store"), chosen.is_none())];
    targets.extend(active(&visit.session, chosen.as_deref(), &store.name).await?);
    Ok(Form {
        page,
        title: page.f1("store.drain-title", &store.name),
        icon: icon("move"),
        action: format!("{}/drain", address(&store.name)),
        fields: vec![
            Field::paragraph(page.s("store.drain-text")),
            Field::of("to", page.s("job.to"), Input::Select(targets)),
            Field::line("rate", page.s("job.rate"), typed("rate")).hint(page.s("job.rate-hint")),
        ],
        submit: page.s("store.drain").into(),
        danger: false,
        back: HERE.into(),
        fault: String::new(),
    })
}

/// Shows the form for draining a store.
pub async fn ask_drain(mut visit: Visit, Path(name): Path<String>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let store = find(&visit.session, &name).await?;
    Ok(html(&drain_form(&visit, &store, None).await?))
}

/// Closes a store and moves its BLOBs elsewhere.
pub async fn drain(Path(name): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let store = find(&visit.session, &name).await?;
    match begin_drain(&visit.session, &name, &fields).await {
        Ok(job) => Ok(done(&format!("/farm/jobs/{job}"), &Flash::new("toast.job-started", ""))),
        Err(error) => refuse::show_form_again(drain_form(&visit, &store, Some(&fields)).await?, error),
    }
}

async fn begin_drain(session: &Session, name: &str, fields: &Fields) -> Result<Id> {
    let rate = parse_size(&fields.text("rate"))?;
    let (from, to) = (Some(name.to_owned()), some(fields.trimmed("to")));
    session.set_store_state(name, StoreState::Draining).await?;
    let work = Work::Migrate(MigrateWork { from, to, rate, ..MigrateWork::default() });
    Ok(session.start_job(work).await?.id)
}

fn remove_form<'a>(page: &'a Page, store: &StoreStatus) -> Form<'a> {
    Form {
        page,
        title: page.f1("store.remove-title", &store.name),
        icon: icon("trash"),
        action: format!("{}/remove", address(&store.name)),
        fields: vec![
            Field::paragraph(page.s("store.remove-text")),
            Field::of("force", page.s("store.force"), Input::Tick(false)).hint(page.s("store.force-hint")),
        ],
        submit: page.s("store.remove").into(),
        danger: true,
        back: HERE.into(),
        fault: String::new(),
    }
}

/// Asks for confirmation before a store is removed from the farm.
pub async fn ask_remove(mut visit: Visit, Path(name): Path<String>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let store = find(&visit.session, &name).await?;
    Ok(html(&remove_form(&visit.page, &store)))
}

/// Removes a store from the farm.
pub async fn remove(Path(name): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let store = find(&visit.session, &name).await?;
    match visit.session.remove_store(&name, fields.yes("force")).await {
        Ok(()) => Ok(done(HERE, &Flash::new("toast.purged", name))),
        Err(error) => refuse::show_form_again(remove_form(&visit.page, &store), error),
    }
}

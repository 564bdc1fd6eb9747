//! Tests of the farm's audit log: the right to read it, its filters, and that every action it can record is listed.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use database::configuration::event;
use model::{Id, Timestamp};

use super::{Farm, FarmFilter, on_each_engine};
use crate::farm::farm_audit::search_page;
use crate::{AUDIT_ACTIONS, CheckWork, FARM_ACTIONS, JobRequest, Work};

on_each_engine! {
    events_are_filtered,
    old_events_are_found_by_their_day,
    what_people_ask_of_a_job_is_told,
}

async fn words(farm: &Farm, filter: FarmFilter) -> Vec<String> {
    let found = farm.administrator().await.farm_events(filter, None, 100).await.unwrap();
    assert_eq!(found.next, None);
    found.items.into_iter().map(|event| event.action).collect()
}

async fn events_are_filtered(farm: Farm) {
    let admin = farm.administrator().await;
    let (ann, bob) = (farm.account("Ann").await.id, farm.account("bob").await.id);
    let group = admin.create_group("Möbelbau", "").await.unwrap().id;
    admin.add_member(group, ann).await.unwrap();
    let own = farm.caller(bob).await;
    own.create_token(bob, "mine".into()).await.unwrap();
    let by_bob = FarmFilter { actor: Some(bob), ..FarmFilter::default() };
    assert_eq!(words(&farm, by_bob.clone()).await, ["token.create"]);
    let other = FarmFilter { action: Some("account.create".into()), ..by_bob };
    assert!(words(&farm, other).await.is_empty());
    let about_ann = FarmFilter { about: Some(ann), ..FarmFilter::default() };
    assert_eq!(words(&farm, about_ann.clone()).await, ["account.create"]);
    let named = FarmFilter { text: Some(" ANN ".into()), ..about_ann };
    assert_eq!(words(&farm, named).await, ["group.member-add", "account.create"]);
    let furniture = FarmFilter { text: Some("MÖBEL".into()), ..FarmFilter::default() };
    assert_eq!(words(&farm, furniture).await, ["group.member-add", "group.create"]);
    let mut walked = Vec::new();
    let mut before = None;
    loop {
        let page = admin.farm_events(FarmFilter::default(), before, 2).await.unwrap();
        walked.extend(page.items.iter().map(|event| event.sequence));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert!(walked.is_sorted_by(|a, b| a > b), "{walked:?}");
    assert_eq!(walked.len(), farm.events("").await.len());
    farm.close().await;
}

/// Adds `count` events, one per minute from `first` on.
async fn add(farm: &Farm, first: Timestamp, count: u64, detail: &'static str) {
    let add = move |tx: &mut database::Transaction| {
        for minute in 0..count {
            let at = first.after(Duration::from_secs(60 * minute));
            event::record(tx, at, Id::new(7), "sign-in.success", "account 7", detail)?;
        }
        Ok(())
    };
    farm.repository.inner.configuration.write(add).await.unwrap();
}

async fn old_events_are_found_by_their_day(farm: Farm) {
    let admin = farm.administrator().await;
    let day = Duration::from_secs(86_400);
    // All existing events were written just now. The new ones lie in the future, so that the order of the log is the
    // order of time.
    let first = Timestamp::now().after(100 * day);
    add(&farm, first, 200, "early").await;
    add(&farm, first.after(10 * day), 2_500, "late").await;
    let span = |from: Timestamp, until: Timestamp| FarmFilter {
        from: Some(from),
        until: Some(until),
        text: Some("LY".into()),
        ..FarmFilter::default()
    };
    let early = span(first, first.after(Duration::from_secs(600)));
    let found = admin.farm_events(early, None, 100).await.unwrap();
    assert_eq!((found.items.len(), found.next), (10, None), "the end is not in it");
    let later = FarmFilter { text: None, ..span(first.after(day), first.after(20 * day)) };
    let found = admin.farm_events(later, None, 1_000).await.unwrap();
    assert!(found.items.len() == 1_000);
    assert!(found.next.is_some());
    // The search passes all the late events, piece by piece.
    let rest = FarmFilter { text: Some("early".into()), ..FarmFilter::default() };
    let found = admin.farm_events(rest, None, 150).await.unwrap();
    assert_eq!(found.items.len(), 150);
    // A search stops after a number of events and returns the position at which to continue.
    let (wanted, sieve) = FarmFilter { text: Some("early".into()), ..FarmFilter::default() }.parts();
    let look = move |reader: &mut database::Reader| {
        let first = search_page(reader, &wanted, &sieve, None, 150, 2_000)?;
        let second = search_page(reader, &wanted, &sieve, first.next, 150, 2_000)?;
        Ok((first, second))
    };
    let (first_look, second) = farm.repository.inner.configuration.read(look).await.unwrap();
    assert!(first_look.items.is_empty());
    assert!(first_look.next.is_some());
    assert_eq!(second.items.len(), 150);
    let none = span(first.after(30 * day), first.after(31 * day));
    let found = admin.farm_events(none, None, 100).await.unwrap();
    assert!(found.items.is_empty());
    assert!(found.next.is_none());
    farm.close().await;
}

async fn what_people_ask_of_a_job_is_told(farm: Farm) {
    let admin = farm.administrator().await;
    let check = || Work::Check(CheckWork::default());
    let job = admin.start_job(check()).await.unwrap();
    admin.start_job(check()).await.unwrap();
    admin.ask_job(job.id, JobRequest::Pause).await.unwrap();
    admin.ask_job(job.id, JobRequest::Abort).await.unwrap();
    let job = admin.job(job.id).await.unwrap();
    let told: Vec<String> = admin.job_events(&job).await.unwrap().into_iter().map(|event| event.action).collect();
    assert_eq!(told, ["job.abort", "job.pause", "job.start"]);
    let ann = farm.account("ann").await.id;
    assert!(farm.caller(ann).await.job_events(&job).await.is_err());
    farm.close().await;
}

/// Returns the quoted words that have the form of an action.
fn quoted(source: &str) -> impl Iterator<Item = &str> {
    source.split('"').skip(1).step_by(2).filter(|text| {
        let mut parts = text.split('.');
        let is_word = |part: Option<&str>| {
            part.is_some_and(|part| {
                !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b"-_".contains(&b))
            })
        };
        *text == "sign-out" || is_word(parts.next()) && is_word(parts.next()) && parts.next().is_none()
    })
}

fn collect(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("tests") {
                collect(&path, found);
            }
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        if ["record(", "audit(", ".note("].iter().any(|call| code.contains(call)) {
            // Settings are named in the same form.
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("setting:"));
            found.extend(lines.flat_map(quoted).map(ToOwned::to_owned));
        }
    }
}

#[test]
fn all_that_is_recorded_is_in_the_list_of_actions() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = BTreeSet::new();
    for room in ["repository", "maintenance", "strongroom", "http"] {
        collect(&crates.join(room).join("src"), &mut found);
    }
    for action in AUDIT_ACTIONS {
        found.remove(action);
    }
    let known: BTreeSet<String> = FARM_ACTIONS.map(ToOwned::to_owned).into();
    assert_eq!(found, known, "put what is recorded into FARM_ACTIONS, and words for it into the locales");
}

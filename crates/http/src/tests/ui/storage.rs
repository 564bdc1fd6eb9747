//! The storage pages: their content, their refusals, and the display of damage to users.

use model::StoreState;
use repository::{JobRequest, Target};

use super::*;

#[tokio::test]
async fn damaged_content_is_said_on_its_page_and_can_be_accepted() {
    let farm = Farm::new().await;
    let library = farm.administrator().await.item(&Target::path("Documents").unwrap()).await.unwrap().id;
    let browser = farm.signed_in("admin").await;
    let content = "x".repeat(40_000);
    browser.upload(&format!("/items/{library}/upload"), "Plan.txt", "text/plain", &content).await.expect(303);
    let sound = browser.get("/browse/Documents/Plan.txt").await.expect(200);
    assert!(!sound.text.contains("content of this document"));
    drop(browser);
    let farm = farm.damaged().await;
    assert_eq!(crate::tests::damage::find(&farm.administrator().await).await, 1);

    let browser = farm.signed_in("admin").await;
    let page = browser.get("/browse/Documents/Plan.txt").await.expect(200);
    assert!(page.text.contains("is damaged in its BLOB store"));
    assert!(page.text.contains("badge bad\">damaged"));
    let faults = browser.get("/farm/faults").await.expect(200);
    assert!(faults.text.contains("Documents/Plan.txt"), "{}", faults.text);
    let at = faults.text.split("action=\"/farm/faults/").nth(1).unwrap().split('"').next().unwrap();
    let action = format!("/farm/faults/{at}");
    let vain = browser.post("/farm/faults", &action, &[("do", "repair")]).await.expect(404);
    assert!(vain.text.contains("No other store has the BLOB"), "{}", vain.text);
    browser.post("/farm/faults", &action, &[("do", "accept")]).await.expect(303);
    let faults = browser.get("/farm/faults").await.expect(200);
    assert!(faults.text.contains("Loss accepted"), "{}", faults.text);
    assert!(!faults.text.contains("value=\"accept\""), "{}", faults.text);
    assert!(browser.get("/browse/Documents/Plan.txt").await.text.contains("badge bad\">damaged"));
}

#[tokio::test]
async fn what_a_form_of_storage_is_refused_for_is_said_in_it() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    for (page, fields, said) in [
        ("/farm/new-store/directory", &[("name", "files"), ("location", "x")][..], "already a BLOB store “files”"),
        ("/farm/new-store/directory", &[("name", "b"), ("location", "blobs")], "is already at that location"),
        ("/farm/new-store/s3", &[("name", "b"), ("location", "b"), ("endpoint", "ftp://x")], "must begin with https"),
        ("/farm/stores/files/drain", &[("to", "")], "by the policy of"),
        ("/farm/stores/files/drain", &[("rate", "fast")], "is not a size"),
        ("/farm/stores/files/remove", &[], "belongs to every farm"),
        ("/farm/policies/new", &[("place", "/nowhere")], "no site collection or library"),
        ("/farm/policies/database/main", &[("store", "files"), ("minimum", "big")], "is not a size"),
        ("/farm/policies/database/main", &[("store", "files"), ("types", "a/b")], "is not a file type"),
        (
            "/farm/policies/database/main",
            &[("store", "files"), ("tier-basis", "age"), ("tier-days", "9"), ("tier-store", "")],
            "needs a number of days and a store",
        ),
        ("/farm/jobs/new/migrate", &[("from", "files"), ("to", "files")], "is both the source and the destination"),
        ("/farm/jobs/new/collect", &[("share", "1000")], "is not a whole number"),
    ] {
        let refused = browser.post(page, page, fields).await;
        assert!(refused.status.is_client_error(), "{page} {fields:?}: {}", refused.status);
        let alert = refused.text.split("role=\"alert\"").nth(1).unwrap_or_default();
        assert!(alert.contains(said), "{page} {fields:?} does not say {said}: {alert}");
    }
    let (databases, stores) = farm.administrator().await.storage_status().await.unwrap();
    assert_eq!((databases[0].active_store.as_str(), stores.len()), ("files", 2));
    assert!(stores.iter().all(|store| store.state == StoreState::Active));
    assert!(farm.administrator().await.jobs(None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_policy_form_says_what_is_its_own_and_goes_back_to_what_is_above() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let library = farm.administrator().await.item(&Target::path("Documents").unwrap()).await.unwrap().id;
    let page = format!("/farm/policies/library/{library}");
    let found = browser.post("/farm/policies/new", "/farm/policies/new", &[("place", "/Documents/")]).await.expect(303);
    assert_eq!(found.header(header::LOCATION), page);
    let fields = [
        ("store", "files"),
        ("minimum", "1 MB"),
        ("types", "pdf tiff"),
        ("own-tiers", "own"),
        ("tier-basis", "access"),
        ("tier-days", "90"),
        ("tier-store", "database"),
    ];
    browser.post(&page, &page, &fields).await.expect(303);
    let list = browser.get("/farm/policies").await.expect(200);
    assert!(list.text.contains("unread for 90 days: to database"), "{}", list.text);
    assert!(list.text.contains("pdf, tiff"), "{}", list.text);
    let form = browser.get(&page).await.expect(200);
    for piece in ["value=\"1 MiB\"", "value=\"pdf, tiff\"", "value=\"90\"", "value=\"own\" checked"] {
        assert!(form.text.contains(piece), "{piece}");
    }
    let settings = browser.get(&format!("/items/{library}/settings")).await.expect(200);
    assert!(settings.text.contains("unread for 90 days: to database"));
    assert!(settings.text.contains(&page));
    browser.post(&page, &page, &[("store", ""), ("minimum", ""), ("types", ""), ("own-tiers", "")]).await.expect(303);
    assert_eq!(farm.administrator().await.storage_policies().await.unwrap().len(), 1, "it says nothing any more");
}

#[tokio::test]
async fn nothing_is_deleted_by_a_form_that_does_not_say_so() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let page = "/farm/jobs/new/collect";
    for (mode, dry) in [("", true), ("dry", true), ("remove", true), ("delete", false)] {
        browser.post(page, page, &[("mode", mode)]).await.expect(303);
        let job = farm.administrator().await.jobs(None, 1).await.unwrap().remove(0);
        let repository::Work::Collect(work) = &job.work else { panic!("{job:?}") };
        assert_eq!((work.dry_run, work.window_days), (dry, 30), "{mode}");
        farm.administrator().await.ask_job(job.id, JobRequest::Abort).await.unwrap();
        let shown = browser.get(&format!("/farm/jobs/{}", job.id)).await.expect(200);
        assert!(shown.text.contains("Aborted"), "{}", shown.text);
        assert!(!shown.text.contains("data-refresh"), "{}", shown.text);
    }
}

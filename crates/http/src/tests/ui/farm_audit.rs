//! The page of the farm's audit log: names instead of identifiers, filters, the export, and the refusal for other
//! users.

use model::{Right, Rights};
use repository::{CheckWork, NewAccount, Session, Work};

use super::*;

async fn account(session: &Session, login: &str, name: &str) -> model::Id {
    let new = NewAccount {
        login: login.to_owned(),
        display_name: name.to_owned(),
        password: Some(PASSWORD.to_owned()),
        ..NewAccount::default()
    };
    session.create_account(new).await.unwrap().id
}

/// Returns the rows of the table.
fn rows(reply: &Reply) -> &str {
    reply.text.split("<tbody>").nth(1).unwrap_or_default()
}

#[tokio::test]
async fn the_log_of_the_farm_names_what_it_is_about_and_leads_there() {
    let farm = Farm::new().await;
    let session = farm.administrator().await;
    let carla = account(&session, "carla", "Carla Castle").await;
    let group = session.create_group("Sales", "").await.unwrap().id;
    session.add_member(group, carla).await.unwrap();
    let role = session.create_role("Drop-off", Rights::from_iter([Right::Add])).await.unwrap().id;
    let gone = session.create_role("Passing", Rights::from_iter([Right::Add])).await.unwrap().id;
    session.delete_role(gone).await.unwrap();
    let job = session.start_job(Work::Check(CheckWork::default())).await.unwrap().id;
    let browser = farm.signed_in("admin").await;
    farm.browser().sign_in("nobody", "wrong password", "/").await.expect(401);

    let page = browser.get("/farm/audit").await.expect(200);
    let shown = rows(&page);
    for (href, label) in [
        (format!("/farm/users/{carla}"), "Carla Castle"),
        (format!("/farm/groups/{group}"), "Sales"),
        (format!("/farm/roles/{role}"), "Drop-off"),
        (format!("/farm/jobs/{job}"), "Check BLOBs"),
    ] {
        assert!(shown.contains(&format!("<a class=\"link\" href=\"{href}\">{label}</a>")), "{label}: {shown}");
    }
    for said in [
        "Failed to sign in",
        "Not signed in",
        "First start of the farm",
        "Unknown login",
        "A deleted role",
        "Check all BLOBs",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    assert!(!shown.contains(&format!("/farm/roles/{gone}")), "{shown}");
    assert!(!shown.contains('…'), "{shown}");

    let filtered = browser.get("/farm/audit?about=carla&action=group.member-add").await.expect(200);
    assert_eq!(rows(&filtered).matches("<tr>").count(), 1, "{}", filtered.text);
    let about = browser.get("/farm/audit?about=Carla+Castle").await.expect(200);
    assert!(rows(&about).contains("Created a user"), "{}", about.text);
    assert!(!rows(&about).contains("Created a group"), "{}", about.text);
    let other = browser.get("/farm/audit?who=carla").await.expect(200);
    assert!(other.text.contains("No such entries"));
    let early = browser.get("/farm/audit?to=2020-01-01").await.expect(200);
    assert!(early.text.contains("No such entries"));
    assert!(!early.text.contains("rel=\"next\""));
    let stranger = browser.get("/farm/audit?who=mallory").await.expect(200);
    assert!(stranger.text.contains("id=\"who-fault\""));
    let misfit = browser.get("/farm/audit?from=soon").await.expect(200);
    assert!(misfit.text.contains("“soon” is not a date"), "{}", misfit.text);

    // A deleted account is still found by its login.
    session.delete_account(carla).await.unwrap();
    let deleted = browser.get("/farm/audit?who=carla").await.expect(200);
    assert!(!deleted.text.contains("id=\"who-fault\""));
}

#[tokio::test]
async fn the_log_of_the_farm_is_exported_whole_for_administrators_only() {
    let farm = Farm::new().await;
    let session = farm.administrator().await;
    account(&session, "carla", "=Carla").await;
    for i in 0..1_100 {
        session.create_group(&format!("g{i}"), "").await.unwrap();
    }
    let browser = farm.signed_in("admin").await;
    let file = browser.get("/farm/audit/export?action=group.create").await.expect(200);
    assert_eq!(file.text.lines().count(), 1_101);
    assert!(file.text.starts_with("time,login,name,action,subject,about,detail\r\n"), "{}", file.text);
    assert_eq!(file.header(header::CONTENT_DISPOSITION), "attachment; filename=\"farm-audit-log.csv\"");
    let file = browser.get("/farm/audit/export?action=account.create&about=carla").await.expect(200);
    assert!(file.text.contains("\"account.create\",\"account "), "{}", file.text);
    assert!(file.text.contains(",\"'=Carla\",\"carla\""), "{}", file.text);

    let first = browser.get("/farm/audit?action=group.create").await.expect(200);
    let older = first.text.split("rel=\"next\"").next().unwrap().rsplit("href=\"").next().unwrap();
    let older = older.split('"').next().unwrap().replace("&amp;", "&").replace("&#38;", "&");
    let second = browser.get(&older).await.expect(200);
    assert!(rows(&first).contains(">g1099<"), "{older}: {}", second.text);
    assert!(rows(&second).contains(">g999<"), "{older}: {}", second.text);

    let carla = farm.signed_in("carla").await;
    carla.get("/farm/audit").await.expect(403);
    carla.get("/farm/audit/export").await.expect(403);
}

#[tokio::test]
async fn the_page_of_a_job_says_what_people_did_with_it() {
    let farm = Farm::new().await;
    let session = farm.administrator().await;
    let job = session.start_job(Work::Check(CheckWork::default())).await.unwrap().id;
    let browser = farm.signed_in("admin").await;
    let at = format!("/farm/jobs/{job}");
    browser.post(&at, &at, &[("do", "pause")]).await.expect(303);
    browser.post(&at, &at, &[("do", "abort")]).await.expect(303);
    let page = browser.get(&at).await.expect(200);
    let said = page.text.split("id=\"job-told\"").nth(1).unwrap();
    let places = ["Aborted a job", "Paused a job", "Started a job"].map(|words| said.find(words).unwrap());
    assert!(places.is_sorted(), "{said}");
    assert!(said.to_lowercase().contains("administrator"), "{said}");
}

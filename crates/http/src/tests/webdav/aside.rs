//! Saves that first move the old file aside, as Word and macOS do.

use serde_json::json;

use super::saving::{saved_once, with_history};
use super::{bin, dav, lock, place, versions};
use crate::tests::Farm;

/// Restricts a document to the administrator. The user anna may read everything else.
async fn close(farm: &Farm, id: &str) {
    let (root, reader) = (farm.id("").await, farm.account("anna").await);
    let body = json!({"principal": reader, "role": model::Role::READ.to_string()});
    farm.json("POST", &format!("/api/v1/items/{root}/permissions/grants"), body).await.expect(204);
    farm.json("POST", &format!("/api/v1/items/{id}/permissions/break"), json!({"copy": false})).await.expect(204);
}

#[tokio::test]
async fn a_lock_stays_with_the_document_while_it_is_aside() {
    let (farm, id) = with_history().await;
    let token = lock(&farm, "admin", "Plan.docx", 200).await;
    let shown = format!("</dav/Documents/Plan.docx> (<{token}>)");
    dav(&farm, "PUT", "~WRD0001.tmp", &[], "three").await.expect(201);
    place(&farm, "MOVE", "Plan.docx", "~WRL0002.tmp", &[("if", &shown)]).await.expect(201);
    place(&farm, "MOVE", "~WRD0001.tmp", "Plan.docx", &[]).await.expect(423);
    place(&farm, "MOVE", "~WRD0001.tmp", "Plan.docx", &[("if", &shown)]).await.expect(201);
    dav(&farm, "UNLOCK", "Plan.docx", &[("lock-token", &format!("<{token}>"))], "").await.expect(204);
    saved_once(&farm, &id, "three").await;
    dav(&farm, "DELETE", "~WRL0002.tmp", &[], "").await.expect(204);
    assert!(!bin(&farm).await.contains("WRL"), "what a save leaves is not kept twice");
}

#[tokio::test]
async fn a_document_comes_back_from_a_folder_that_was_made_for_the_save() {
    let (farm, id) = with_history().await;
    for (folder, aside) in [("Plan.docx.sb-1a2b-c3", "old.docx"), ("(A Document Being Saved By TextEdit)", "Plan.docx")]
    {
        let folder = folder.replace(' ', "%20");
        dav(&farm, "MKCOL", &folder, &[], "").await.expect(201);
        dav(&farm, "PUT", &format!("{folder}/new.docx"), &[], &folder).await.expect(201);
        place(&farm, "MOVE", "Plan.docx", &format!("{folder}/{aside}"), &[]).await.expect(201);
        place(&farm, "MOVE", &format!("{folder}/new.docx"), "Plan.docx", &[]).await.expect(201);
        assert_eq!(farm.id("Documents/Plan.docx").await, id, "{folder}");
        assert_eq!(dav(&farm, "GET", "Plan.docx", &[], "").await.expect(200).text(), folder);
        dav(&farm, "DELETE", &format!("{folder}/{aside}"), &[], "").await.expect(204);
        dav(&farm, "DELETE", &folder, &[], "").await.expect(204);
        dav(&farm, "PROPFIND", &folder, &[("depth", "0")], "").await.expect(404);
    }
    assert_eq!(versions(&farm, "Plan.docx").await, ["4.0", "3.0", "2.0", "1.0"]);
    assert_eq!(bin(&farm).await.matches("\"name\"").count(), 0, "{}", bin(&farm).await);
}

#[tokio::test]
async fn what_holds_the_state_before_is_as_closed_as_the_document() {
    let (farm, id) = with_history().await;
    close(&farm, &id).await;
    dav(&farm, "PUT", "new.tmp", &[], "three").await.expect(201);
    place(&farm, "MOVE", "Plan.docx", "Plan.bak", &[]).await.expect(201);
    place(&farm, "MOVE", "new.tmp", "Plan.docx", &[]).await.expect(201);
    saved_once(&farm, &id, "three").await;
    for name in ["Plan.docx", "Plan.bak"] {
        farm.send_as("anna", "GET", &format!("/dav/Documents/{name}"), &[], "").await.expect(404);
    }
    assert_eq!(dav(&farm, "GET", "Plan.bak", &[], "").await.expect(200).text(), "two");
}

#[tokio::test]
async fn only_what_is_kept_elsewhere_goes_without_the_bin() {
    let farm = Farm::new().await;
    dav(&farm, "PUT", "notes.bak", &[], "nobody else has this").await.expect(201);
    dav(&farm, "DELETE", "notes.bak", &[], "").await.expect(204);
    assert!(bin(&farm).await.contains("notes.bak"));
    dav(&farm, "MKCOL", "x.sb-1", &[], "").await.expect(201);
    dav(&farm, "PUT", "x.sb-1/kept.txt", &[], "in it").await.expect(201);
    dav(&farm, "DELETE", "x.sb-1", &[], "").await.expect(204);
    assert!(bin(&farm).await.contains("x.sb-1"), "a folder that holds something is kept");
    // Another copy counts only if it exists and the caller may read it. Otherwise the file goes to the bin: nothing is
    // lost, and nothing is revealed.
    farm.put("Documents/secret.txt", "somebody's").await.expect(201);
    let secret = farm.id("Documents/secret.txt").await;
    farm.json("POST", &format!("/api/v1/items/{secret}/permissions/break"), json!({"copy": false})).await.expect(204);
    let (anna, root) = (farm.account("anna").await, farm.id("").await);
    let body = json!({"principal": anna, "role": model::Role::CONTRIBUTE.to_string()});
    farm.json("POST", &format!("/api/v1/items/{root}/permissions/grants"), body).await.expect(204);
    for (name, bytes) in [("gone.bak", "nobody else has this"), ("guess.bak", "somebody's")] {
        let path = format!("/dav/Documents/{name}");
        farm.send_as("anna", "PUT", &path, &[], bytes).await.expect(201);
        farm.send_as("anna", "DELETE", &path, &[], "").await.expect(204);
        let url = format!("/api/v1/site-collections/{root}/recycle-bin");
        let own = farm.send_as("anna", "GET", &url, &[], "").await.expect(200).text();
        assert!(own.contains(name), "{own}");
    }
}

#[tokio::test]
async fn a_document_that_was_deleted_with_the_folder_of_a_save_does_not_come_back() {
    let (farm, id) = with_history().await;
    dav(&farm, "MKCOL", "Plan.docx.sb-1", &[], "").await.expect(201);
    place(&farm, "MOVE", "Plan.docx", "Plan.docx.sb-1/Plan.docx", &[]).await.expect(201);
    dav(&farm, "DELETE", "Plan.docx.sb-1", &[], "").await.expect(204);
    dav(&farm, "PUT", "new.tmp", &[], "three").await.expect(201);
    place(&farm, "MOVE", "new.tmp", "Plan.docx", &[]).await.expect(201);
    assert_ne!(farm.id("Documents/Plan.docx").await, id);
    assert!(bin(&farm).await.contains("Plan.docx.sb-1"));
}

#[tokio::test]
async fn nothing_is_put_aside_from_a_folder_that_somebody_has_locked() {
    let farm = Farm::new().await;
    farm.put("Documents/box/Plan.docx", "one").await.expect(201);
    dav(&farm, "MKCOL", "Plan.docx.sb-1", &[], "").await.expect(201);
    farm.send("LOCK", "/dav/Documents/box", &[("depth", "0")], super::EXCLUSIVE).await.expect(200);
    place(&farm, "MOVE", "box/Plan.docx", "Plan.docx.sb-1/Plan.docx", &[]).await.expect(423);
}

#[tokio::test]
async fn every_save_of_a_program_that_keeps_a_backup_is_one_version() {
    let (farm, id) = with_history().await;
    close(&farm, &id).await;
    for (number, new) in ["new.tmp", "5CB52000", "Plan.docx.AbCdEf"].into_iter().enumerate() {
        dav(&farm, "PUT", new, &[], &format!("state {number}")).await.expect(201);
        let moved = place(&farm, "MOVE", "Plan.docx", "Plan.docx.bak", &[]).await;
        moved.expect(if number == 0 { 201 } else { 204 });
        place(&farm, "MOVE", new, "Plan.docx", &[]).await.expect(201);
        assert_eq!(farm.id("Documents/Plan.docx").await, id, "{new}");
        for name in ["Plan.docx", "Plan.docx.bak"] {
            farm.send_as("anna", "GET", &format!("/dav/Documents/{name}"), &[], "").await.expect(404);
        }
    }
    assert_eq!(versions(&farm, "Plan.docx").await, ["5.0", "4.0", "3.0", "2.0", "1.0"]);
    assert_eq!(versions(&farm, "Plan.docx.bak").await.len(), 1, "a backup holds the state before and no more");
    assert_eq!(dav(&farm, "GET", "Plan.docx.bak", &[], "").await.expect(200).text(), "state 1");
    assert!(!bin(&farm).await.contains("Plan"), "{}", bin(&farm).await);
}

#[tokio::test]
async fn a_document_of_somebody_gives_way_to_a_backup_and_is_kept() {
    let (farm, _) = with_history().await;
    farm.put("Documents/Plan.bak", "no backup at all").await.expect(201);
    place(&farm, "MOVE", "Plan.docx", "Plan.bak", &[]).await.expect(204);
    assert_eq!(dav(&farm, "GET", "Plan.bak", &[], "").await.expect(200).text(), "two");
    assert!(bin(&farm).await.contains("Plan.bak"));
}

#[tokio::test]
async fn a_working_copy_is_neither_shown_nor_lost() {
    let (farm, id) = with_history().await;
    farm.send("PUT", &format!("/api/v1/items/{id}/check-out"), &[], "").await.expect(204);
    dav(&farm, "PUT", "Plan.docx", &[], "mine").await.expect(204);
    dav(&farm, "PUT", "new.tmp", &[], "mine, later").await.expect(201);
    place(&farm, "MOVE", "Plan.docx", "Plan.bak", &[]).await.expect(201);
    place(&farm, "MOVE", "new.tmp", "Plan.docx", &[]).await.expect(201);
    assert_eq!(dav(&farm, "GET", "Plan.bak", &[], "").await.expect(200).text(), "two", "what all saw before");
    assert_eq!(dav(&farm, "GET", "Plan.docx", &[], "").await.expect(200).text(), "mine, later");
    assert_eq!(versions(&farm, "Plan.docx").await, ["2.0", "1.0"], "it is not checked in");
    // When a checked-out document is moved over another one, its published version goes to the bin with it.
    dav(&farm, "PUT", "one.docx", &[], "published").await.expect(201);
    let one = farm.id("Documents/one.docx").await;
    farm.send("PUT", &format!("/api/v1/items/{one}/check-out"), &[], "").await.expect(204);
    dav(&farm, "PUT", "one.docx", &[], "working").await.expect(204);
    dav(&farm, "PUT", "two.docx", &[], "other").await.expect(201);
    place(&farm, "MOVE", "one.docx", "two.docx", &[]).await.expect(204);
    assert!(bin(&farm).await.contains("one.docx"));
}

#[tokio::test]
async fn a_document_with_permissions_of_its_own_goes_to_the_bin_with_them() {
    let farm = Farm::new().await;
    dav(&farm, "PUT", "secret.docx", &[], "secret").await.expect(201);
    dav(&farm, "PUT", "other.docx", &[], "other").await.expect(201);
    let secret = farm.id("Documents/secret.docx").await;
    farm.json("POST", &format!("/api/v1/items/{secret}/permissions/break"), json!({"copy": true})).await.expect(204);
    place(&farm, "MOVE", "secret.docx", "other.docx", &[]).await.expect(204);
    assert!(bin(&farm).await.contains("secret.docx"));
}

#[tokio::test]
async fn a_folder_of_a_save_goes_with_what_the_save_left_in_it() {
    let (farm, id) = with_history().await;
    dav(&farm, "MKCOL", "Plan.docx.sb-1", &[], "").await.expect(201);
    for (name, text) in [("Plan.docx.sb-1/new.docx", "three"), ("Plan.docx.sb-1/._new.docx", "note")] {
        dav(&farm, "PUT", name, &[], text).await.expect(201);
    }
    place(&farm, "MOVE", "Plan.docx", "Plan.docx.sb-1/Plan.docx", &[]).await.expect(201);
    place(&farm, "MOVE", "Plan.docx.sb-1/new.docx", "Plan.docx", &[]).await.expect(201);
    dav(&farm, "DELETE", "Plan.docx.sb-1", &[], "").await.expect(204);
    saved_once(&farm, &id, "three").await;
    assert!(!bin(&farm).await.contains("Plan"), "{}", bin(&farm).await);
    // Two identical files in the same folder do not count as copies of each other.
    dav(&farm, "MKCOL", "x.sb-2", &[], "").await.expect(201);
    for name in ["x.sb-2/a", "x.sb-2/b"] {
        dav(&farm, "PUT", name, &[], "only here").await.expect(201);
    }
    dav(&farm, "DELETE", "x.sb-2", &[], "").await.expect(204);
    assert!(bin(&farm).await.contains("x.sb-2"));
}

#[tokio::test]
async fn a_document_does_not_become_a_note_of_a_program() {
    let (farm, id) = with_history().await;
    for name in ["._Plan.docx", "Thumbs.db"] {
        let refused = place(&farm, "MOVE", "Plan.docx", name, &[]).await.expect(409);
        assert!(refused.text().contains("program_name"), "{}", refused.text());
        let refused = farm.json("PATCH", &format!("/api/v1/items/{id}"), json!({"name": name})).await.expect(409);
        assert_eq!(refused.code(), "program_name");
    }
    dav(&farm, "PUT", "._Other", &[], "note").await.expect(201);
    place(&farm, "MOVE", "Plan.docx", "._Other", &[]).await.expect(409);
    place(&farm, "MOVE", "Plan.docx", "Plan.tmp", &[]).await.expect(201);
    place(&farm, "MOVE", "Plan.tmp", "._Plan.docx", &[]).await.expect(409);
    place(&farm, "MOVE", "Plan.tmp", "Plan.docx", &[]).await.expect(201);
    assert_eq!(versions(&farm, "Plan.docx").await, ["2.0", "1.0"]);
    // A program's note that already has versions keeps them.
    farm.put("Documents/~$kept", "one").await.expect(201);
    farm.put("Documents/~$kept", "two").await.expect(200);
    dav(&farm, "PUT", "~$kept", &[], "three").await.expect(204);
    assert_eq!(versions(&farm, "~$kept").await, ["3.0", "2.0", "1.0"]);
    dav(&farm, "DELETE", "~$kept", &[], "").await.expect(204);
    assert!(bin(&farm).await.contains("~$kept"));
}

#[tokio::test]
async fn where_check_outs_are_demanded_a_new_file_is_filled_once() {
    let farm = Farm::new().await;
    let library = farm.id("Documents").await;
    farm.json("PATCH", &format!("/api/v1/items/{library}/settings"), json!({"require_checkout": true}))
        .await
        .expect(200);
    let token = lock(&farm, "admin", "New.docx", 201).await;
    let shown = format!("(<{token}>)");
    dav(&farm, "PUT", "New.docx", &[("if", &shown)], "one").await.expect(204);
    let refused = dav(&farm, "PUT", "New.docx", &[("if", &shown)], "two").await.expect(409);
    assert!(refused.text().contains("checkout_required"), "{}", refused.text());
    assert_eq!(versions(&farm, "New.docx").await, ["1.0"]);
    // A save that moves the original aside must be refused at its first step when it could not be completed.
    dav(&farm, "PUT", "new.tmp", &[], "two").await.expect(201);
    let refused = place(&farm, "MOVE", "New.docx", "New.bak", &[("if", &shown)]).await.expect(409);
    assert!(refused.text().contains("checkout_required"), "{}", refused.text());
    dav(&farm, "UNLOCK", "New.docx", &[("lock-token", &format!("<{token}>"))], "").await.expect(204);
    let id = farm.id("Documents/New.docx").await;
    farm.send("PUT", &format!("/api/v1/items/{id}/check-out"), &[], "").await.expect(204);
    place(&farm, "MOVE", "New.docx", "New.bak", &[]).await.expect(201);
    place(&farm, "MOVE", "new.tmp", "New.docx", &[]).await.expect(201);
    assert_eq!(farm.id("Documents/New.docx").await, id);
    assert_eq!(dav(&farm, "GET", "New.docx", &[], "").await.expect(200).text(), "two");
    assert_eq!(versions(&farm, "New.docx").await, ["1.0"], "what is checked out is a working copy");
}

#[tokio::test]
async fn properties_go_with_a_document_and_not_with_a_save() {
    let (farm, _) = with_history().await;
    let set = |value: &str| {
        format!(
            "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><x \
            xmlns='u'>{value}</x></D:prop></D:set></D:propertyupdate>"
        )
    };
    let read = async || dav(&farm, "PROPFIND", "Plan.docx", &[("depth", "0")], "").await.expect(207).text();
    dav(&farm, "PROPPATCH", "Plan.docx", &[], &set("first")).await.expect(207);
    dav(&farm, "PUT", "new.tmp", &[], "three").await.expect(201);
    place(&farm, "MOVE", "new.tmp", "Plan.docx", &[]).await.expect(204);
    assert!(read().await.contains("first"), "a save keeps what others keep with the document");
    dav(&farm, "PUT", "Other.docx", &[], "four").await.expect(201);
    dav(&farm, "PROPPATCH", "Other.docx", &[], &set("second")).await.expect(207);
    place(&farm, "MOVE", "Other.docx", "Plan.docx", &[]).await.expect(204);
    assert!(read().await.contains("second"), "{}", read().await);
}

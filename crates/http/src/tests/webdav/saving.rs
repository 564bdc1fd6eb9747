//! A save results in one new version with the history intact, whatever sequence of requests the program uses.

use super::{bin, dav, lock, place, versions};
use crate::tests::Farm;

/// Creates a document with two versions.
pub async fn with_history() -> (Farm, String) {
    let farm = Farm::new().await;
    farm.put("Documents/Plan.docx", "one").await.expect(201);
    farm.put("Documents/Plan.docx", "two").await.expect(200);
    let id = farm.id("Documents/Plan.docx").await;
    (farm, id)
}

/// Asserts that the document is the same item with exactly one version more, and has this content.
pub async fn saved_once(farm: &Farm, id: &str, content: &str) {
    assert_eq!(farm.id("Documents/Plan.docx").await, id, "it is another item now");
    assert_eq!(versions(farm, "Plan.docx").await, ["3.0", "2.0", "1.0"]);
    assert_eq!(dav(farm, "GET", "Plan.docx", &[], "").await.expect(200).text(), content);
}

#[tokio::test]
async fn by_a_lock_and_an_empty_file_first() {
    let (farm, id) = with_history().await;
    let token = lock(&farm, "admin", "Plan.docx", 200).await;
    let shown = format!("(<{token}>)");
    dav(&farm, "PUT", "Plan.docx", &[("if", &shown)], "").await.expect(204);
    dav(&farm, "PUT", "Plan.docx", &[("if", &shown)], "three").await.expect(204);
    dav(&farm, "UNLOCK", "Plan.docx", &[("lock-token", &format!("<{token}>"))], "").await.expect(204);
    saved_once(&farm, &id, "three").await;
}

#[tokio::test]
async fn by_a_temporary_file_moved_over_the_original() {
    let (farm, id) = with_history().await;
    let token = lock(&farm, "admin", "Plan.docx", 200).await;
    let shown = format!("</dav/Documents/Plan.docx> (<{token}>)");
    dav(&farm, "PUT", "lu1x.tmp", &[], "three").await.expect(201);
    place(&farm, "MOVE", "lu1x.tmp", "Plan.docx", &[]).await.expect(423);
    place(&farm, "MOVE", "lu1x.tmp", "Plan.docx", &[("if", &shown)]).await.expect(204);
    dav(&farm, "UNLOCK", "Plan.docx", &[("lock-token", &format!("<{token}>"))], "").await.expect(204);
    saved_once(&farm, &id, "three").await;
    dav(&farm, "GET", "lu1x.tmp", &[], "").await.expect(404);
}

#[tokio::test]
async fn by_putting_the_original_aside() {
    let (farm, id) = with_history().await;
    dav(&farm, "PUT", "~WRD0001.tmp", &[], "three").await.expect(201);
    place(&farm, "MOVE", "Plan.docx", "~WRL0002.tmp", &[("overwrite", "F")]).await.expect(201);
    place(&farm, "MOVE", "~WRD0001.tmp", "Plan.docx", &[("overwrite", "F")]).await.expect(201);
    assert_eq!(dav(&farm, "GET", "~WRL0002.tmp", &[], "").await.expect(200).text(), "two");
    dav(&farm, "DELETE", "~WRL0002.tmp", &[], "").await.expect(204);
    saved_once(&farm, &id, "three").await;
}

#[tokio::test]
async fn a_save_that_is_given_up_leaves_the_original() {
    let (farm, id) = with_history().await;
    dav(&farm, "PUT", "~WRD0001.tmp", &[], "three").await.expect(201);
    place(&farm, "MOVE", "Plan.docx", "~WRL0002.tmp", &[]).await.expect(201);
    place(&farm, "MOVE", "~WRL0002.tmp", "Plan.docx", &[]).await.expect(201);
    assert_eq!(farm.id("Documents/Plan.docx").await, id);
    assert_eq!(versions(&farm, "Plan.docx").await, ["2.0", "1.0"]);
}

#[tokio::test]
async fn documents_with_a_history_of_their_own_are_not_lost() {
    let (farm, id) = with_history().await;
    farm.put("Documents/Other.docx", "first").await.expect(201);
    farm.put("Documents/Other.docx", "second").await.expect(200);
    place(&farm, "MOVE", "Other.docx", "Plan.docx", &[]).await.expect(204);
    saved_once(&farm, &id, "second").await;
    let bin = bin(&farm).await;
    assert!(bin.contains("Other.docx"), "{bin}");
}

#[tokio::test]
async fn notes_of_programs_keep_no_versions_and_are_not_found() {
    let farm = Farm::new().await;
    for name in ["._Plan.docx", "~$Plan.docx", "Thumbs.db", ".DS_Store"] {
        dav(&farm, "PUT", name, &[], "one").await.expect(201);
        dav(&farm, "PUT", name, &[], "two").await.expect(204);
        assert_eq!(versions(&farm, name).await, ["1.0"], "{name}");
    }
    let found = farm.get("/api/v1/search?q=plan").await.expect(200).text();
    assert!(!found.contains("Plan.docx"), "{found}");
    let search = "<D:searchrequest xmlns:D='DAV:'><D:basicsearch><D:select><D:allprop/></D:select>\
        <D:from><D:scope><D:href></D:href>\
        </D:scope></D:from></D:basicsearch></D:searchrequest>";
    let found = dav(&farm, "SEARCH", "", &[], search).await.expect(207).text();
    assert_eq!(found.matches("<D:response>").count(), 1, "only the library: {found}");
    assert!(dav(&farm, "SEARCH", "Thumbs.db", &[], search).await.expect(207).text().contains("Thumbs.db"));
    dav(&farm, "DELETE", "._Plan.docx", &[], "").await.expect(204);
    let bin = bin(&farm).await;
    assert!(!bin.contains("Plan"), "{bin}");
}

#[tokio::test]
async fn a_new_file_that_is_made_empty_and_filled_has_one_version() {
    let farm = Farm::new().await;
    let token = lock(&farm, "admin", "New.docx", 201).await;
    let shown = format!("(<{token}>)");
    dav(&farm, "PUT", "New.docx", &[("if", &shown)], "one").await.expect(204);
    assert_eq!(versions(&farm, "New.docx").await, ["1.0"]);
    // An empty version that was stored over REST is not removed.
    farm.put("Documents/Empty.txt", "").await.expect(201);
    farm.put("Documents/Empty.txt", "x").await.expect(200);
    assert_eq!(versions(&farm, "Empty.txt").await, ["2.0", "1.0"], "REST keeps what it was told to keep");
}

#[tokio::test]
async fn trees_are_copied_and_moved_whole() {
    let farm = Farm::new().await;
    for path in ["from/a.txt", "from/b/c.txt", "to/old.txt"] {
        farm.put(&format!("Documents/{path}"), path).await.expect(201);
    }
    place(&farm, "COPY", "from", "to", &[("overwrite", "F")]).await.expect(412);
    place(&farm, "COPY", "from", "to", &[]).await.expect(204);
    assert_eq!(dav(&farm, "GET", "to/b/c.txt", &[], "").await.expect(200).text(), "from/b/c.txt");
    dav(&farm, "GET", "to/old.txt", &[], "").await.expect(404);
    place(&farm, "COPY", "from", "shallow", &[("depth", "0")]).await.expect(201);
    dav(&farm, "GET", "shallow/a.txt", &[], "").await.expect(404);
    place(&farm, "MOVE", "from", "from/b/deeper", &[]).await.expect(403);
    place(&farm, "MOVE", "from", "from", &[]).await.expect(403);
    place(&farm, "COPY", "from/a.txt", "missing/a.txt", &[]).await.expect(409);
    place(&farm, "MOVE", "from", "moved", &[]).await.expect(201);
    dav(&farm, "GET", "moved/b/c.txt", &[], "").await.expect(200);
    dav(&farm, "GET", "from/a.txt", &[], "").await.expect(404);
    // A rename that only changes the case of the name.
    place(&farm, "MOVE", "moved", "Moved", &[]).await.expect(201);
    assert_eq!(farm.item("Documents/moved").await["name"], "Moved");
}

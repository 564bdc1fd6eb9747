//! Everyday tasks with plain forms, without scripts.

use repository::{Sort, Target};

use super::*;

async fn id_of(farm: &Farm, path: &str) -> model::Id {
    farm.administrator().await.item(&Target::path(path).unwrap()).await.unwrap().id
}

#[tokio::test]
async fn a_document_is_uploaded_replaced_restored_and_downloaded() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let library = id_of(&farm, "Documents").await;
    browser.upload(&format!("/items/{library}/upload"), "C:\\My\\Plan.txt", "text/plain", "one").await.expect(303);
    let plan = id_of(&farm, "Documents/Plan.txt").await;
    browser.upload(&format!("/items/{plan}/replace"), "other name.txt", "text/plain", "two!").await.expect(303);
    let page = browser.get("/browse/Documents/Plan.txt").await.expect(200);
    assert!(page.text.contains(">2.0<"), "{}", page.text);
    assert!(page.text.contains(">1.0<"), "{}", page.text);
    assert!(page.text.contains("said so"));
    // Fields after the file come too late to be used.
    for form in [format!("/items/{library}/upload"), format!("/items/{plan}/replace")] {
        let form = browser.get(&form).await.expect(200).text;
        let at = |name: &str| form.find(&format!("name=\"{name}\"")).unwrap();
        assert!(at("form_token") < at("comment"));
        assert!(at("comment") < at("file"));
    }
    let sent = browser.get(&format!("/download/{plan}/document")).await.expect(200);
    assert_eq!(
        (sent.text.as_str(), sent.header(header::CONTENT_DISPOSITION)),
        ("two!", "attachment; filename=\"Plan.txt\"")
    );
    assert_eq!(browser.get(&format!("/download/{plan}/document?version=1.0")).await.text, "one");
    let part = Request::get(format!("/download/{plan}/document")).header(header::RANGE, "bytes=1-2");
    let part = browser.send(part, Body::empty()).await.expect(206);
    assert_eq!((part.text.as_str(), part.header(header::CONTENT_RANGE)), ("wo", "bytes 1-2/4"));
    browser.post("/account", &format!("/items/{plan}/versions/1.0/restore"), &[]).await.expect(303);
    assert_eq!(browser.get(&format!("/download/{plan}/document")).await.text, "one");
}

#[tokio::test]
async fn what_is_too_much_to_be_undone_at_once_is_undone_in_the_recycle_bin() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let administrator = farm.administrator().await;
    let mut ids = Vec::new();
    for number in 0..80 {
        let place = Target::path("Documents").unwrap();
        let folder = administrator.create_folder(&place, &model::Name::new(format!("f{number}")).unwrap()).await;
        ids.push(folder.unwrap().id.to_string());
    }
    let (ids, next) = (ids.join(","), ("next", "/browse/Documents"));
    browser.post("/account", "/selection/delete", &[("ids", &ids), next]).await.expect(303);
    let page = browser.get("/browse/Documents").await;
    let collection = administrator.site_collections().await.unwrap()[0].id;
    let link = format!("<a class=\"link\" href=\"/bin/{collection}\">Restore from the recycle bin</a>");
    assert!(page.text.contains("80 items are in the recycle bin"), "{}", page.text);
    assert!(page.text.contains(&link), "{}", page.text);
    assert!(!page.text.contains("/undo-delete"));
}

#[tokio::test]
async fn deleting_can_be_undone_and_the_bin_restores() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let library = id_of(&farm, "Documents").await;
    for name in ["a", "b"] {
        browser.post("/account", &format!("/items/{library}/new-folder"), &[("name", name)]).await.expect(303);
    }
    let (a, b) = (id_of(&farm, "Documents/a").await, id_of(&farm, "Documents/b").await);
    let ids = format!("{a},{b}");
    let next = ("next", "/browse/Documents");
    browser.post("/account", "/selection/delete", &[("ids", &ids), next]).await.expect(303);
    let page = browser.get("/browse/Documents").await;
    assert!(page.text.contains("2 items are in the recycle bin"));
    assert!(!page.text.contains("/browse/Documents/a"));
    let undo = page.text.split("name=\"ids\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    browser.post("/account", "/undo-delete", &[("ids", undo), next]).await.expect(303);
    let page = browser.get("/browse/Documents").await;
    assert!(page.text.contains("/browse/Documents/a"));
    assert!(page.text.contains("/browse/Documents/b"));
    let again = browser.get("/browse/Documents").await;
    assert!(!again.text.contains("data-toast"), "a note is shown once");
    browser.post("/account", &format!("/items/{a}/delete"), &[]).await.expect(303);
    let collection = farm.administrator().await.site_collections().await.unwrap()[0].id;
    let bin = browser.get(&format!("/bin/{collection}")).await.expect(200);
    let entry = bin.text.split("name=\"ids\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    browser.post("/account", &format!("/bin/{collection}/restore"), &[("ids", entry)]).await.expect(303);
    id_of(&farm, "Documents/a").await;
    // A row's button restores that row, whatever other rows are ticked.
    browser.post("/account", &format!("/items/{a}/delete"), &[]).await.expect(303);
    browser.post("/account", &format!("/items/{b}/delete"), &[]).await.expect(303);
    let bin = browser.get(&format!("/bin/{collection}")).await.expect(200);
    let row = bin.text.split("<tr>").find(|row| row.contains("\"auto\">b</span>")).unwrap();
    assert!(row.contains("aria-label=\"Restore b\""), "{row}");
    let one = row.split("name=\"one\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let ticked = bin.text.split("name=\"ids\" value=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let other = ticked.into_iter().find(|id| *id != one).unwrap();
    browser.post("/account", &format!("/bin/{collection}/restore"), &[("ids", other), ("one", one)]).await.expect(303);
    id_of(&farm, "Documents/b").await;
    assert!(farm.administrator().await.item(&Target::path("Documents/a").unwrap()).await.is_err());
}

#[tokio::test]
async fn folders_are_made_renamed_moved_and_copied() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let library = id_of(&farm, "Documents").await;
    let create = format!("/items/{library}/new-folder");
    browser.post(&create, &create, &[("name", "from")]).await.expect(303);
    browser.post(&create, &create, &[("name", "to")]).await.expect(303);
    let taken = browser.post(&create, &create, &[("name", "FROM")]).await.expect(409);
    assert!(taken.text.contains("role=\"alert\""));
    assert!(taken.text.contains("value=\"FROM\""));
    browser.post(&create, &create, &[("name", "a/b")]).await.expect(400);
    let (from, to) = (id_of(&farm, "Documents/from").await, id_of(&farm, "Documents/to").await);
    let (from, to) = (from.to_string(), to.to_string());
    let chooser = browser.get(&format!("/place?action=move&ids={from}")).await.expect(200);
    assert!(chooser.text.contains(&format!("at={to}")));
    assert!(!chooser.text.contains(&format!("at={from}")));
    browser.post("/account", "/place", &[("action", "copy"), ("ids", &from), ("at", &to)]).await.expect(303);
    id_of(&farm, "Documents/to/from").await;
    browser.post("/account", &format!("/items/{from}/rename"), &[("name", "moved")]).await.expect(303);
    browser.post("/account", "/place", &[("action", "move"), ("ids", &from), ("at", &to)]).await.expect(303);
    id_of(&farm, "Documents/to/moved").await;
    browser.post("/account", "/place", &[("action", "move"), ("ids", &to), ("at", &to)]).await.expect(409);
}

#[tokio::test]
async fn a_long_listing_is_paged_without_loss() {
    let farm = Farm::new().await;
    let session = farm.administrator().await;
    let library = Target::path("Documents").unwrap();
    for i in 0..230 {
        session.create_folder(&library, &model::Name::new(format!("folder {i:03}")).unwrap()).await.unwrap();
    }
    let browser = farm.signed_in("admin").await;
    let (mut address, mut seen) = (Some("/browse/Documents?sort=name&order=descending".to_owned()), Vec::new());
    while let Some(here) = address {
        let page = browser.get(&here).await.expect(200);
        seen.extend(
            page.text
                .split("data-kind=\"folder\"")
                .skip(1)
                .map(|row| row.split("folder%20").nth(1).unwrap()[..3].to_owned()),
        );
        let link = page.text.split("\" rel=\"next\"").next().filter(|_| page.text.contains("rel=\"next\""));
        address = link.map(|text| text.rsplit("href=\"").next().unwrap().replace("&#38;", "&"));
    }
    assert_eq!(seen.len(), 230);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 230);
    let (_, listed) = session.list(&library, Sort::Name, false, None, 1000).await.unwrap();
    assert_eq!(listed.items.len(), 230);
}

#[tokio::test]
async fn check_out_columns_and_permissions_have_their_pages() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let library = id_of(&farm, "Documents").await;
    browser.upload(&format!("/items/{library}/upload"), "a.txt", "text/plain", "x").await.expect(303);
    let item = id_of(&farm, "Documents/a.txt").await;
    browser.post("/account", &format!("/items/{item}/check-out"), &[]).await.expect(303);
    assert!(browser.get("/browse/Documents/a.txt").await.text.contains("Checked out by you"));
    browser.upload(&format!("/items/{item}/replace"), "a.txt", "text/plain", "y").await.expect(303);
    browser.post("/account", &format!("/items/{item}/check-in"), &[("comment", "why <b>")]).await.expect(303);
    assert!(browser.get("/browse/Documents/a.txt").await.text.contains("why &#60;b&#62;"));
    let columns = format!("/items/{library}/columns/new");
    browser.post(&columns, &columns, &[("name", "Year"), ("kind", "number")]).await.expect(303);
    let values = format!("/items/{item}/values");
    let form = browser.get(&values).await.expect(200);
    let name = form.text.split("name=\"column-").nth(1).unwrap().split('"').next().unwrap();
    let name = format!("column-{name}");
    browser.post(&values, &values, &[(&name, "no number")]).await.expect(400);
    browser.post(&values, &values, &[(&name, "2026")]).await.expect(303);
    assert!(browser.get("/browse/Documents/a.txt").await.text.contains("<dd>2026</dd>"));
    let grant = format!("/items/{library}/permissions/grant");
    browser.post(&grant, &grant, &[("who", "nobody"), ("role", "4")]).await.expect(400);
    browser.post(&grant, &grant, &[("who", "admin"), ("role", "4")]).await.expect(303);
    let page = browser.get(&format!("/items/{library}/permissions?explain=admin")).await.expect(200);
    assert!(page.text.contains("its own permissions"));
    assert!(page.text.contains("id=\"explanation\""));
}

#[tokio::test]
async fn people_and_tokens_are_administered() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let new = "/farm/users/new";
    let fields = [("login", "carla"), ("name", "Carla"), ("password", PASSWORD)];
    browser.post(new, new, &[("login", "carla"), ("password", "short")]).await.expect(400);
    browser.post(new, new, &fields).await.expect(303);
    browser.post(new, new, &fields).await.expect(409);
    let groups = "/farm/groups/new";
    let made = browser.post(groups, groups, &[("name", "Sales")]).await.expect(303);
    let group = made.header(header::LOCATION).to_owned();
    browser.post(&group, &format!("{group}/add"), &[("who", "carla")]).await.expect(303);
    assert!(browser.get(&group).await.text.contains("carla"));
    let carla = farm.signed_in("carla").await;
    for page in ["/farm", "/farm/figures", "/farm/users", "/farm/stores", "/farm/jobs"] {
        let refused = carla.get(page).await.expect(403);
        assert!(refused.text.contains("These pages are for administrators of the farm."), "{page}: {}", refused.text);
    }
    let shown = carla
        .post("/account/tokens", "/account/tokens", &[("name", "backup"), ("days", "30"), ("scope", "read")])
        .await
        .expect(200);
    let secret = shown.text.split("id=\"token-secret\">").nth(1).unwrap().split('<').next().unwrap();
    assert!(farm.repository.caller_from_token(secret, std::net::Ipv4Addr::LOCALHOST.into()).await.unwrap().is_some());
    assert!(!carla.get("/account").await.text.contains(secret), "a token is shown once");
    let change = [("old", PASSWORD), ("new", "another good one"), ("again", "another good one")];
    let wrong = [("old", "wrong"), change[1], change[2]];
    let refused = carla.post("/account/password", "/account/password", &wrong).await.expect(403);
    assert!(refused.text.contains("The current password is wrong."), "{}", refused.text);
    let focused = |name: &str| format!("id=\"f-{name}\" name=\"{name}\" value=\"\"");
    let field = |text: &str, name: &str| {
        text.split("<input").find(|field| field.contains(&focused(name))).unwrap_or_default().to_owned()
    };
    assert!(field(&refused.text, "old").contains("aria-invalid=\"true\" aria-describedby=\"form-fault\" autofocus"));
    let differ = [change[0], change[1], ("again", "yet another one")];
    let refused = carla.post("/account/password", "/account/password", &differ).await.expect(400);
    assert!(field(&refused.text, "new").contains("aria-invalid=\"true\" aria-describedby=\"form-fault\" autofocus"));
    assert!(!field(&refused.text, "old").contains("autofocus"));
    carla.post("/account/password", "/account/password", &change).await.expect(303);
}

#[tokio::test]
async fn what_happened_is_exported_whole_and_compressed() {
    let farm = Farm::new().await;
    let browser = farm.signed_in("admin").await;
    let session = farm.administrator().await;
    for i in 0..1_100 {
        session
            .create_folder(&Target::path("Documents").unwrap(), &model::Name::new(format!("f{i}")).unwrap())
            .await
            .unwrap();
    }
    let collection = session.site_collections().await.unwrap()[0].id;
    let export = format!("/audit/{collection}/export?action=folder.create");
    let file = browser.get(&export).await.expect(200);
    assert_eq!(file.text.lines().count(), 1_101, "{}", file.text);
    assert_eq!(file.header(header::CONTENT_DISPOSITION), "attachment; filename=\"audit-log.csv\"");
    let packed = browser.send(Request::get(&export).header(header::ACCEPT_ENCODING, "gzip"), Body::empty()).await;
    assert_eq!(packed.expect(200).header(header::CONTENT_ENCODING), "gzip");
}

#[tokio::test]
async fn a_page_says_who_has_it_open_and_an_administrator_ends_that() {
    let farm = Farm::new().await;
    let (admin, browser) = (farm.administrator().await, farm.signed_in("admin").await);
    let new = repository::NewAccount { login: "anna".into(), ..repository::NewAccount::default() };
    let anna = admin.create_account(new).await.unwrap().id;
    admin.grant(&Target::path("").unwrap(), anna, model::Role::CONTRIBUTE).await.unwrap();
    let library = id_of(&farm, "Documents").await;
    browser.post("/account", &format!("/items/{library}/new-folder"), &[("name", "plans")]).await.expect(303);
    let folder = id_of(&farm, "Documents/plans").await;
    browser.upload(&format!("/items/{folder}/upload"), "a.txt", "text/plain", "one").await.expect(303);
    let document = id_of(&farm, "Documents/plans/a.txt").await;
    let token = admin.create_token(anna, "test".into()).await.unwrap();
    let caller =
        farm.repository.caller_from_token(&token.secret, std::net::Ipv4Addr::LOCALHOST.into()).await.unwrap().unwrap();
    let anna = farm.repository.as_caller(caller.principal);
    let says = "Open for editing by anna";
    let open = async |path: &str| browser.get(path).await.expect(200).text.contains(says);
    let wish = |deep| repository::NewLock { exclusive: true, deep, owner: String::new(), seconds: 600 };
    for (locked, ended_at) in [(document, document), (folder, folder), (folder, document)] {
        anna.lock(&locked.into(), wish(true)).await.unwrap();
        assert!(open("/browse/Documents/plans/a.txt").await);
        assert!(open("/browse/Documents/plans").await, "in the row of the document or above all rows");
        browser.post("/account", &format!("/items/{ended_at}/unlock"), &[]).await.expect(303);
        assert!(!open("/browse/Documents/plans/a.txt").await);
        assert!(!open("/browse/Documents/plans").await);
        assert!(anna.locks(&document.into()).await.unwrap().is_empty());
    }
}

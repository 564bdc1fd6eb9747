//! The holder of a sharing link as a principal: the content that a link's page serves, for each caller and each state
//! of the link, its document and its creator.

use model::{Id, Right, Rights, Role};
use repository::{LinkRule, NewAccount, NewLink, Session};

use super::super::{Farm, Ground, canary};
use crate::tests::Reply;

/// A sharing link with its document and its creator.
struct Shared {
    admin: Session,
    site: Id,
    document: Id,
    maker: Id,
    link: Id,
    secret: String,
}

const RULE: Option<LinkRule> = Some(LinkRule { most_days: 30 });

async fn share(farm: &Farm, ground: &Ground, n: usize, password: Option<&str>, most: Option<u32>) -> Shared {
    let admin = ground.people.admin.clone();
    admin.set_link_rule(ground.site, RULE).await.unwrap();
    let path = format!("Documents/shared-{n}/given.txt");
    farm.put(&path, "given away").await.expect(201);
    let document: Id = farm.id(&path).await.parse().unwrap();
    let new = NewAccount { login: format!("maker{n}"), ..NewAccount::default() };
    let maker = admin.create_account(new).await.unwrap().id;
    admin.break_inheritance(&document.into(), true).await.unwrap();
    admin.grant(&document.into(), maker, Role::CONTRIBUTE).await.unwrap();
    let secret = farm.repository.begin_session_at(maker, model::Timestamp::now()).await.unwrap();
    let caller = farm.repository.caller_from_session(&secret).await.unwrap().unwrap();
    let session = farm.repository.as_caller(caller.principal);
    let new =
        NewLink { days: 7, password: password.map(ToOwned::to_owned), most_downloads: most, ..NewLink::default() };
    let (link, secret) = session.share(&document.into(), new).await.unwrap();
    Shared { admin, site: ground.site, document, maker, link: link.id, secret }
}

impl Shared {
    fn page(&self) -> String {
        format!("/s/{}/{}", self.link, self.secret)
    }
}

async fn look(farm: &Farm, url: &str, cookie: Option<&str>) -> Reply {
    let cookie = cookie.map(|session| format!("__Host-strongroom_session={session}"));
    let mut fields = vec![("accept", "text/html")];
    fields.extend(cookie.as_deref().map(|cookie| ("cookie", cookie)));
    farm.send_as("", "GET", url, &fields, "").await
}

async fn take(farm: &Farm, url: &str, body: &str) -> Reply {
    let form = [("content-type", "application/x-www-form-urlencoded"), ("accept", "text/html")];
    farm.send_as("", "POST", url, &form, body.to_owned()).await
}

/// Ways in which a link becomes invalid. All of them must look the same.
const ENDINGS: [&str; 9] = [
    "wrong secret",
    "secret of another link",
    "another link",
    "revoked",
    "spent",
    "rule withdrawn",
    "maker lost the right",
    "maker disabled",
    "document deleted",
];

async fn end(farm: &Farm, ground: &Ground, shared: &mut Shared, how: &str) {
    let admin = shared.admin.clone();
    match how {
        "wrong secret" => shared.secret = format!("srl_{}", "0".repeat(40)),
        "secret of another link" => shared.secret = share(farm, ground, 900, None, None).await.secret,
        "another link" => shared.link = Id::new(999_999),
        "revoked" => admin.revoke_link(&shared.document.into(), shared.link).await.unwrap(),
        "spent" => drop(take(farm, &shared.page(), "").await.expect(200)),
        "rule withdrawn" => admin.set_link_rule(shared.site, None).await.unwrap(),
        "maker lost the right" => {
            admin.revoke(&shared.document.into(), shared.maker, Role::CONTRIBUTE).await.unwrap();
        }
        "maker disabled" => {
            let change = repository::AccountChange { disabled: Some(true), ..Default::default() };
            admin.update_account(shared.maker, change).await.unwrap();
        }
        _ => drop(admin.delete(&shared.document.into()).await.unwrap()),
    }
}

/// A form with a file.
const FILE: &str =
    "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"sent.txt\"\r\n\r\nsent\r\n--x--\r\n";

/// Returns a page without the parts that differ between requests.
fn plain(reply: &Reply, shared: &Shared) -> String {
    let text = reply.text().replace(&shared.secret, "SECRET").replace(&shared.link.to_string(), "LINK");
    let number = |word: &str| word.len() > 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .filter(|word| !number(word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())))
        .collect()
}

#[tokio::test]
async fn a_link_that_has_ended_tells_nothing() {
    let farm = Farm::new().await;
    let ground = Ground::create(&farm).await;
    let mut pages = Vec::new();
    for (n, how) in ENDINGS.into_iter().enumerate() {
        let mut shared = share(&farm, &ground, n, None, Some(1)).await;
        end(&farm, &ground, &mut shared, how).await;
        for reply in [look(&farm, &shared.page(), None).await, take(&farm, &shared.page(), "").await] {
            assert_eq!(reply.status, 404, "{how}: {}", reply.text());
            assert!(!reply.text().contains("given"), "{how}");
            assert!(canary::leak_in(&reply).is_none(), "{how}");
        }
        let view = look(&farm, &format!("{}/view", shared.page()), None).await;
        let files = format!("{}/files", shared.page());
        let sent = farm.send_as("", "POST", &files, &[("content-type", "multipart/form-data; boundary=x")], FILE).await;
        assert_eq!((view.status.as_u16(), sent.status.as_u16()), (404, 404), "{how}");
        pages.push((how, plain(&look(&farm, &shared.page(), None).await, &shared)));
    }
    for (how, page) in &pages {
        assert_eq!(*page, pages[0].1, "{how} looks different from {}", pages[0].0);
    }
}

#[tokio::test]
async fn a_link_gives_its_document_to_anybody_and_nothing_else() {
    let farm = Farm::new().await;
    let ground = Ground::create(&farm).await;
    let shared = share(&farm, &ground, 0, None, None).await;
    for column in ground.people.columns.iter().filter(|column| column.session.is_some()) {
        let reply = look(&farm, &shared.page(), column.session.as_deref()).await;
        assert_eq!(reply.status, 200, "{}", column.name);
        assert!(reply.text().contains("given.txt"), "{}", column.name);
        assert!(canary::leak_in(&reply).is_none(), "{}", column.name);
    }
    assert_eq!(take(&farm, &shared.page(), "").await.expect(200).text(), "given away");
    // The link's secret is not accepted as any other credential.
    for url in ["/api/v1/me", "/api/v1/content/Documents/shared-0/given.txt"] {
        let bearer = format!("Bearer {}", shared.secret);
        farm.send_as("", "GET", url, &[("authorization", &bearer)], "").await.expect(401);
        let cookie = format!("__Host-strongroom_session={}", shared.secret);
        farm.send_as("", "GET", url, &[("cookie", &cookie)], "").await.expect(401);
    }
    // The link serves the current version, not the one at the time of sharing.
    farm.put("Documents/shared-0/given.txt", "given anew").await.expect(200);
    assert_eq!(take(&farm, &shared.page(), "").await.expect(200).text(), "given anew");
}

#[tokio::test]
async fn the_password_of_a_link_is_asked_and_not_told() {
    let farm = Farm::new().await;
    let ground = Ground::create(&farm).await;
    let shared = share(&farm, &ground, 0, Some("a word of the sender"), Some(2)).await;
    look(&farm, &shared.page(), None).await.expect(200);
    for (body, status) in [("", 403), ("password=wrong", 403), ("password=a+word+of+the+sender", 200)] {
        let reply = take(&farm, &shared.page(), body).await;
        assert_eq!(reply.status.as_u16(), status, "{body}");
        assert_eq!(reply.text().contains("given away"), status == 200, "{body}");
    }
    // The creator's remaining right does not open the document, so the link does not either.
    let only = shared.admin.create_role("Edit unseen", Rights::NONE.with(Right::Edit)).await.unwrap().id;
    let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
    admin.revoke(&shared.document.into(), shared.maker, Role::CONTRIBUTE).await.unwrap();
    admin.grant(&shared.document.into(), shared.maker, only).await.unwrap();
    take(&farm, &shared.page(), "password=a+word+of+the+sender").await.expect(404);
}

#[tokio::test]
async fn links_of_a_folder_give_and_take_as_they_say() {
    let farm = Farm::new().await;
    let ground = Ground::create(&farm).await;
    let admin = ground.people.admin.clone();
    admin.set_link_rule(ground.site, RULE).await.unwrap();
    farm.put("Documents/box/deep/given.txt", "given away").await.expect(201);
    farm.put("Documents/kept.txt", "kept").await.expect(201);
    let id = async |path: &str| farm.id(path).await;
    let folder: Id = id("Documents/box").await.parse().unwrap();
    let gives = NewLink { days: 7, ..NewLink::default() };
    let (link, secret) = admin.share(&folder.into(), gives).await.unwrap();
    let url = format!("/s/{}/{secret}", link.id);
    let page = look(&farm, &url, None).await.expect(200);
    assert!(page.text().contains("deep") && !page.text().contains("kept"), "{}", page.text());
    let deep = look(&farm, &format!("{url}?at={}", id("Documents/box/deep").await), None).await.expect(200);
    assert!(deep.text().contains("given.txt"));
    let given = format!("document={}", id("Documents/box/deep/given.txt").await);
    assert_eq!(take(&farm, &url, &given).await.expect(200).text(), "given away");
    for outside in ["Documents", "Documents/kept.txt"] {
        let other = id(outside).await;
        look(&farm, &format!("{url}?at={other}"), None).await.expect(404);
        take(&farm, &url, &format!("document={other}")).await.expect(404);
    }
    for wrong in ["x", "0", "-1", "99999999999999999999999"] {
        look(&farm, &format!("{url}?at={wrong}"), None).await.expect(404);
        take(&farm, &url, &format!("document={wrong}")).await.expect(404);
    }
    let file = [("content-type", "multipart/form-data; boundary=x"), ("accept", "text/html")];
    farm.send_as("", "POST", &format!("{url}/files"), &file, FILE).await.expect(404);
    farm.put("Documents/box/sent.txt", "present").await.expect(201);
    let takes = NewLink { days: 7, takes_uploads: true, most_downloads: Some(1), ..NewLink::default() };
    let (link, secret) = admin.share(&folder.into(), takes).await.unwrap();
    let url = format!("/s/{}/{secret}", link.id);
    let page = look(&farm, &url, None).await.expect(200);
    assert!(!page.text().contains("deep"), "{}", page.text());
    // Asked for a document, it shows its form for files, and nothing of the folder.
    let asked = take(&farm, &url, &given).await.expect(200);
    assert!(asked.text().contains("type=\"file\"") && !asked.text().contains("deep"), "{}", asked.text());
    look(&farm, &format!("{url}?at={folder}"), None).await.expect(200);
    look(&farm, &format!("{url}/view"), None).await.expect(404);
    let sent = farm.send_as("", "POST", &format!("{url}/files"), &file, FILE).await.expect(200);
    // What else is in the folder is not told, by the name under which the file is stored either.
    assert!(sent.text().contains("sent.txt") && !sent.text().contains("(2)"), "{}", sent.text());
    farm.send_as("", "POST", &format!("{url}/files"), &file, FILE).await.expect(404);
    assert!(canary::leak_in(&sent).is_none());
    let stored = repository::Target::path("Documents/box/sent (2).txt").unwrap();
    assert_eq!(admin.item(&stored).await.unwrap().size, 4);
}

#[tokio::test]
async fn a_link_for_a_new_password_is_for_one_user_and_works_once() {
    let farm = Farm::new().await;
    let ground = Ground::create(&farm).await;
    let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
    let new = NewAccount { login: "newcomer".into(), ..NewAccount::default() };
    let account = admin.create_account(new).await.unwrap().id;
    let first = admin.create_password_link(account).await.unwrap().secret;
    let secret = admin.create_password_link(account).await.unwrap().secret;
    let url = format!("/new-password/{secret}");
    for ended in
        [format!("/new-password/{first}"), format!("/new-password/srp_{}", "0".repeat(64)), "/new-password/x".into()]
    {
        look(&farm, &ended, None).await.expect(404);
        take(&farm, &ended, "new=correct+horse+battery&again=correct+horse+battery").await.expect(404);
    }
    assert!(look(&farm, &url, None).await.expect(200).text().contains("newcomer"));
    take(&farm, &url, "new=correct+horse+battery&again=another").await.expect(400);
    take(&farm, &url, "new=short&again=short").await.expect(400);
    take(&farm, &url, "new=correct+horse+battery&again=correct+horse+battery").await.expect(303);
    look(&farm, &url, None).await.expect(404);
    let client =
        repository::Client { address: std::net::Ipv4Addr::LOCALHOST.into(), agent: String::new(), device: None };
    farm.repository.sign_in("newcomer", "correct horse battery", &client).await.unwrap();
    // It ends when the password changes otherwise, and with its account.
    for end in ["password", "disabled"] {
        let url = format!("/new-password/{}", admin.create_password_link(account).await.unwrap().secret);
        look(&farm, &url, None).await.expect(200);
        match end {
            "password" => admin.set_password(account, "another good password").await.unwrap(),
            _ => {
                let change = repository::AccountChange { disabled: Some(true), ..Default::default() };
                admin.update_account(account, change).await.map(drop).unwrap();
            }
        }
        look(&farm, &url, None).await.expect(404);
        if end == "disabled" {
            let change = repository::AccountChange { disabled: Some(false), ..Default::default() };
            admin.update_account(account, change).await.map(drop).unwrap();
            look(&farm, &url, None).await.expect(404);
        }
    }
    drop(ground);
}

//! Tests of the pages of sites: those of templates are whole documents, wherever their bytes go, and a home page is
//! seen by those who may see it; on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::{Farm, at, each_farm, put, read, with_rights};
use model::{Code, LibrarySettings, Name, Right};
use repository::{
    NewSite, NewStore, PolicyChange, PolicyTarget, Session, SiteLookChange, Template, TemplateDraft, VersionChoice,
};

fn template(text: &str) -> Template {
    let text = format!("format = 1\nkind = \"site\"\nname = \"x\"\ntitle = \"X\"\n{text}");
    Template::parse(&text).unwrap()
}

async fn make(session: &Session, site: &str, template: &Template) -> model::Result<repository::Item> {
    session.create_site_from(&at(""), &Name::new(site).unwrap(), template, NewSite::default()).await
}

/// The bytes and documents that the site collection counts.
async fn used(farm: &Farm) -> (u64, u64) {
    let admin = farm.administrator().await;
    let collection = admin.item(&at("")).await.unwrap().collection_id;
    let usage = admin.site_collection(collection).await.unwrap().usage.unwrap();
    (usage.used_bytes, usage.documents)
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_template_are_documents_wherever_their_bytes_go() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let place = farm.directory.path().join("outside").display().to_string();
        let new = NewStore { name: "outside".into(), kind: "directory".into(), location: place, ..NewStore::default() };
        admin.add_store(new).await.unwrap();
        let pages = template(
            "[[lists]]\nname = \"Pages\"\nversioning = \"major-minor\"\n\
             pages = [{ name = \"A.md\", home = true, text = \"same\" }, \
             { name = \"B.md\", text = \"same\" }, { name = \"C.md\", text = \"\" }]\n",
        );
        let collection = admin.item(&at("")).await.unwrap().collection_id;
        for (site, minimum_size) in [("inside", 1_000), ("outside", 0), ("outside again", 0)] {
            let before = used(&farm).await;
            let change = PolicyChange {
                active_store: Some("outside".to_owned()),
                minimum_size: Some(minimum_size),
                ..PolicyChange::default()
            };
            admin.set_storage_policy(&PolicyTarget::SiteCollectionId(collection), change).await.unwrap();
            let made = make(&admin, site, &pages).await.unwrap();
            let home = admin.site_home(&made.id.into()).await.unwrap().unwrap();
            assert_eq!(home.path, format!("{site}/Pages/A.md"));
            assert_eq!((home.media_type.as_str(), home.version.to_string().as_str()), ("text/markdown", "1.0"));
            for (page, text) in [("A", "same"), ("B", "same"), ("C", "")] {
                let path = at(&format!("{site}/Pages/{page}.md"));
                assert_eq!(read(&admin, &path, VersionChoice::Visible).await.unwrap(), text);
            }
            let after = used(&farm).await;
            assert_eq!((after.0 - before.0, after.1 - before.1), (8, 3), "{site}");
            let draft = TemplateDraft { name: "y".into(), ..TemplateDraft::default() };
            let saved = admin.template_of(&made.id.into(), draft).await.unwrap().write();
            assert!(saved.contains("name = \"A.md\", home = true, text = \"same\""), "{saved}");
            assert!(!saved.contains("B.md"), "{saved}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drafts_and_working_copies_are_not_taken_into_templates() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let pages = template("[[lists]]\nname = \"Pages\"\nversioning = \"major-minor\"\n");
        let site = make(&admin, "site", &pages).await.unwrap();
        let published = put(&admin, "site/Pages/A.md", "published").await.unwrap().id;
        admin.publish(&published.into(), "").await.unwrap();
        put(&admin, "site/Pages/A.md", "draft").await.unwrap();
        put(&admin, "site/Pages/B.md", "only a draft").await.unwrap();
        admin.check_out(&published.into()).await.unwrap();
        put(&admin, "site/Pages/A.md", "working copy").await.unwrap();
        let draft = TemplateDraft { name: "y".into(), with_rows: true, ..TemplateDraft::default() };
        let saved = admin.template_of(&site.id.into(), draft).await.unwrap().write();
        assert!(saved.contains("text = \"published\""), "{saved}");
        assert!(!saved.contains("draft\"") && !saved.contains("working") && !saved.contains("B.md"), "{saved}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unique_columns_have_no_duplicates_in_rows_of_a_template() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let rows = |second: &str| {
            template(&format!(
                "[[lists]]\nname = \"L\"\nholds = \"rows\"\n\
                 columns = [{{ name = \"T\", kind = \"text\", role = \"title\", unique = true }}]\n\
                 rows = [{{ T = \"one\" }}, {{ T = \"{second}\" }}]\n"
            ))
        };
        let refused = make(&admin, "twice", &rows("ONE")).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidTemplate);
        assert!(refused.message().contains("row 2"), "{refused}");
        assert!(admin.item(&at("twice")).await.is_err());
        make(&admin, "once", &rows("two")).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_beyond_the_quota_makes_nothing() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let collection = admin.item(&at("")).await.unwrap().collection_id;
        admin.set_quota(collection, Some(3)).await.unwrap();
        let pages = template("[[lists]]\nname = \"Pages\"\npages = [{ name = \"A.md\", text = \"four\" }]\n");
        assert_eq!(make(&admin, "full", &pages).await.unwrap_err().code(), Code::QuotaExceeded);
        assert!(admin.item(&at("full")).await.is_err());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_page_is_seen_by_those_who_may_see_it() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let root = at("");
        admin.create_library(&root, &Name::new("Secret").unwrap(), LibrarySettings::default()).await.unwrap();
        put(&admin, "Secret/Home.md", "hello").await.unwrap();
        let secret = admin.item(&at("Secret")).await.unwrap();
        admin.break_inheritance(&secret.id.into(), false).await.unwrap();
        let home = admin.item(&at("Secret/Home.md")).await.unwrap().id;
        let (_, ann) = with_rights(&farm, "ann", "", &[Right::View, Right::ManageSite]).await;
        let (_, reader) = with_rights(&farm, "reader", "", &[Right::View]).await;
        let change = |home| SiteLookChange { home: Some(home), ..SiteLookChange::default() };
        let refused = |session: Session, home| async move {
            session.change_site_look(&at(""), change(Some(home))).await.unwrap_err().code()
        };
        assert_eq!(refused(ann.clone(), home).await, Code::NotFound);
        assert_eq!(refused(reader.clone(), home).await, Code::Forbidden);
        assert_eq!(refused(admin.clone(), secret.id).await, Code::WrongKind);
        admin.change_site_look(&root, change(Some(home))).await.unwrap();
        assert_eq!(admin.site_home(&root).await.unwrap().unwrap().id, home);
        assert!(reader.site_home(&root).await.unwrap().is_none());
        // One that is deleted is none, and is the home page again when it is restored.
        let entry = admin.delete(&home.into()).await.unwrap();
        assert!(admin.site_home(&root).await.unwrap().is_none());
        admin.restore(secret.collection_id, entry).await.unwrap();
        assert_eq!(admin.site_home(&root).await.unwrap().unwrap().id, home);
        admin.change_site_look(&root, change(None)).await.unwrap();
        assert!(admin.site_home(&root).await.unwrap().is_none());
    })
    .await;
}

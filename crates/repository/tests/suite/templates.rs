//! Tests of templates: built-in ones are applied, sites and lists are saved and made again, and what cannot be done
//! changes nothing; on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use std::time::Instant;

use crate::support::{Farm, at, each_farm, read, with_rights};
use database::content::{column, event, saved_view};
use model::{Code, ColumnRole, ColumnValue, Id, Name, NodeKind, Result, Right, Role, SmallImage};
use repository::{
    Item, LinkTarget, NewSite, Session, SiteLink, SiteLookChange, Sort, Target, Template, TemplateDraft, TemplateKind,
    TemplateOrigin, VersionChoice, built_in_templates,
};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn in_language(language: &str) -> NewSite {
    NewSite { language: language.to_owned(), ..NewSite::default() }
}

async fn site_from(session: &Session, site: &str, template: &Template, language: &str) -> Result<Item> {
    session.create_site_from(&at(""), &name(site), template, in_language(language)).await
}

async fn children(session: &Session, site: &Target) -> Vec<Item> {
    session.list(site, Sort::Name, false, None, 100).await.unwrap().1.items
}

/// Everything that a refused or interrupted creation could leave behind.
async fn rows_in_database(farm: &Farm) -> Vec<i64> {
    let admin = farm.administrator().await;
    let content = admin.storage().await.unwrap().databases().unwrap().remove(0).database;
    content
        .read(|reader| {
            let mut counts = vec![event::last(reader)?];
            for table in TABLES {
                counts.push(reader.find(table, &[], |row| row.get(0))?.unwrap_or(0));
            }
            Ok(counts)
        })
        .await
        .unwrap()
}

const TABLES: [database::Sql; 8] = [
    database::Sql::new("SELECT COUNT(*) FROM node"),
    database::Sql::new("SELECT COUNT(*) FROM library"),
    database::Sql::new("SELECT COUNT(*) FROM column_definition"),
    database::Sql::new("SELECT COUNT(*) FROM saved_view"),
    database::Sql::new("SELECT COUNT(*) FROM site"),
    database::Sql::new("SELECT COUNT(*) FROM scope"),
    database::Sql::new("SELECT COUNT(*) FROM record"),
    database::Sql::new("SELECT COUNT(*) FROM field_index"),
];

/// What a site or list is made of, without identifiers and in the words of one language.
async fn structure(session: &Session, item: &Item) -> String {
    let draft =
        TemplateDraft { name: "copy".into(), title: "Copy".into(), with_rows: true, ..TemplateDraft::default() };
    session.template_of(&Target::Id(item.id), draft).await.unwrap().write()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_built_in_template_makes_what_it_says() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        for language in ["en", "de"] {
            for template in built_in_templates() {
                let label = format!("{} {language}", template.name);
                match template.kind {
                    TemplateKind::Site => {
                        let site = site_from(&admin, &label, template, language).await.unwrap();
                        let look = admin.site_look(&Target::Id(site.id)).await.unwrap();
                        assert_eq!(look.template, template.name);
                        let below = children(&admin, &Target::Id(site.id)).await;
                        assert!(below.len() >= 4 && look.links.len() >= 4, "{label}");
                        // The links lead to the lists, by the names in this language.
                        for link in &look.links {
                            assert!(below.iter().any(|item| item.name == link.label), "{label}: {}", link.label);
                        }
                        assert!(look.accent.is_some());
                        let home = admin.site_home(&Target::Id(site.id)).await.unwrap().unwrap();
                        assert_eq!(home.name, if language == "de" { "Startseite.md" } else { "Home.md" });
                        let text = read(&admin, &home.id.into(), VersionChoice::Visible).await.unwrap();
                        assert!(text.starts_with(if language == "de" { "Wählen Sie" } else { "Choose" }), "{label}");
                        assert!(home.version.is_major() && home.size == text.len() as u64);
                        assert!(!site.own_permissions, "nobody was named");
                    }
                    TemplateKind::List => {
                        let made =
                            admin.create_list_from(&at(""), Some(&name(&label)), template, language).await.unwrap();
                        assert_eq!(made.kind, NodeKind::List);
                        let target = Target::Id(made.id);
                        let (columns, _) = admin.columns(&target).await.unwrap();
                        let title = columns.iter().find(|column| column.role == Some(ColumnRole::Title)).unwrap();
                        assert!(title.required, "{label}");
                        let views = admin.views(&target).await.unwrap();
                        assert_eq!(views.iter().filter(|view| view.standard).count(), 1, "{label}");
                        assert!(views.iter().all(|view| view.shared));
                        // The list takes rows, and its columns are those of the language.
                        for column in columns.iter().filter(|column| column.required) {
                            assert_ne!(column.name, "");
                        }
                        let by_language = columns.iter().any(|column| column.name.contains(['ä', 'ö', 'ü', 'Ü']));
                        assert!(language == "de" || !by_language, "{label}");
                    }
                }
            }
        }
        let tasks = admin.item(&at("team de/Aufgaben")).await.unwrap();
        let columns = admin.columns(&Target::Id(tasks.id)).await.unwrap().0;
        let set = vec![
            (columns[0].id, Some(ColumnValue::Text("Anrufen".into()))),
            (columns[4].id, Some(ColumnValue::Text("Offen".into()))),
        ];
        let row = admin.add_row(&Target::Id(tasks.id), set).await.unwrap();
        assert_eq!(admin.item(&row.into()).await.unwrap().name, "1");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_saved_makes_the_same_again() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        for template in built_in_templates().iter().filter(|template| template.kind == TemplateKind::Site) {
            let first = site_from(&admin, &template.name, template, "de").await.unwrap();
            let saved = Template::parse(&structure(&admin, &first).await).unwrap();
            let again = site_from(&admin, &format!("{} again", template.name), &saved, "en").await.unwrap();
            assert_eq!(structure(&admin, &again).await, structure(&admin, &first).await);
        }
        // With rows, whose values are of every kind but people.
        let text = "format = 1\nkind = \"list\"\nname = \"x\"\ntitle = \"X\"\n[list]\nname = \"X\"\nholds = \"rows\"\n\
            columns = [{ name = \"T\", kind = \"text\", role = \"title\" }, { name = \"N\", kind = \"number\" }, \
            { name = \"D\", kind = \"date\" }, { name = \"Y\", kind = \"yes-no\" }, \
            { name = \"P\", kind = \"person\" }, \
            { name = \"C\", kind = \"choice\", choices = [\"a\", \"b\"] }, { name = \"L\", kind = \"link\" }]\n\
            rows = [{ T = \"1\", N = 0.5, D = 2026-01-02, Y = true, C = \"b\", L = \"https://x\" }, { T = \"2\" }]\n";
        let template = Template::parse(text).unwrap();
        let list = admin.create_list_from(&at(""), None, &template, "en").await.unwrap();
        assert_eq!(list.name, "X");
        let rows = children(&admin, &Target::Id(list.id)).await;
        assert_eq!(rows.iter().map(Item::shown_name).collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(admin.values(&rows[0].id.into()).await.unwrap().len(), 6);
        let first = structure(&admin, &list).await;
        assert!(first.contains("2026-01-02T00:00:00Z") && first.contains("Y = true"), "{first}");
        let again = admin
            .create_list_from(&at(""), Some(&name("Again")), &Template::parse(&first).unwrap(), "en")
            .await
            .unwrap();
        assert_eq!(structure(&admin, &again).await.replace("\"Again\"", "\"X\""), first);
        // People and numbers of rows go on as usual.
        let columns = admin.columns(&Target::Id(list.id)).await.unwrap().0;
        let set = vec![
            (columns[0].id, Some(ColumnValue::Text("3".into()))),
            (columns[4].id, Some(ColumnValue::Person(admin.principal().id))),
        ];
        let third = admin.add_row(&Target::Id(list.id), set).await.unwrap();
        assert_eq!(admin.item(&third.into()).await.unwrap().name, "3");
        let sorted = admin.list(&Target::Id(list.id), Sort::Column(columns[1].id), false, None, 9).await.unwrap().1;
        assert_eq!(sorted.items.len(), 3, "every row has an entry in every column");
        let third = structure(&admin, &list).await;
        assert!(third.contains("T = \"3\"") && !third.contains(&admin.principal().id.to_string()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_site_leaves_nothing() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let text = "format = 1\nkind = \"site\"\nname = \"x\"\ntitle = \"X\"\nask = [\"A\"]\n\
            grants = [{ to = \"A\", role = \"No such role\" }]\n[[lists]]\nname = \"L\"\n";
        let dangling_role = Template::parse(text).unwrap();
        let dangling = "format = 1\nkind = \"site\"\nname = \"y\"\ntitle = \"Y\"\n[[lists]]\nname = \"L\"\n\
            template = \"nowhere\"\n";
        let circular = dangling.replace("nowhere", "y");
        let team = built_in_templates()[0].clone();
        site_from(&admin, "taken", &team, "en").await.unwrap();
        let (_, reader) = with_rights(&farm, "reader", "", &[Right::View]).await;
        let (ann, makes_sites) = with_rights(&farm, "ann", "", &[Right::View, Right::ManageSite]).await;
        let rights = [Right::View, Right::ManageSite, Right::ManageLibraries];
        let (_, makes_lists) = with_rights(&farm, "bert", "", &[&rights[..], &[Right::Add]].concat()).await;
        let (_, adds_nothing) = with_rights(&farm, "carla", "", &rights).await;
        let publishing = built_in_templates().iter().find(|template| template.name == "publishing").unwrap();
        let before = rows_in_database(&farm).await;
        let named = |id: Id| NewSite { people: vec![("A".to_owned(), vec![id])], language: "en".to_owned() };
        let owners = |id: Id| NewSite { people: vec![("Owners".to_owned(), vec![id])], language: "en".to_owned() };
        let parse = |text: &str| Template::parse(text).unwrap();
        let tasks = built_in_templates().iter().find(|template| template.kind == TemplateKind::List).unwrap();
        for (session, site, template, new, code) in [
            (&admin, "Taken", &team, in_language("en"), Code::NameTaken),
            (&admin, "a", &dangling_role, named(ann), Code::InvalidTemplate),
            (&admin, "a", &parse(dangling), in_language("en"), Code::InvalidTemplate),
            (&admin, "a", &parse(&circular), in_language("en"), Code::InvalidTemplate),
            (&admin, "a", tasks, in_language("en"), Code::InvalidTemplate),
            (&admin, "a", &team, owners(Id::new(77)), Code::UnknownPerson),
            (&admin, "a", &team, named(ann), Code::Invalid),
            (&reader, "a", &team, in_language("en"), Code::Forbidden),
            (&makes_sites, "a", &team, in_language("en"), Code::Forbidden),
            (&makes_lists, "a", &team, owners(ann), Code::Forbidden),
            // Its site has a page, and that of a publishing site is published.
            (&adds_nothing, "a", &team, in_language("en"), Code::Forbidden),
            (&makes_lists, "a", publishing, in_language("en"), Code::Forbidden),
        ] {
            let refused = session.create_site_from(&at(""), &name(site), template, new).await.unwrap_err();
            assert_eq!(refused.code(), code, "{site} {}: {refused}", template.name);
        }
        assert_eq!(rows_in_database(&farm).await, before);
        site_from(&makes_lists, "mine", &team, "en").await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn people_who_are_named_get_the_roles_of_the_template() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (ann, _) = farm.person("ann").await;
        let (bert, _) = farm.person("bert").await;
        let team = &built_in_templates()[0];
        let people = vec![("Members".to_owned(), vec![ann]), ("Visitors".to_owned(), vec![bert])];
        let new = NewSite { people, language: "en".to_owned() };
        let site = admin.create_site_from(&at(""), &name("Team"), team, new).await.unwrap();
        assert!(site.own_permissions);
        let (ann, bert) = (farm.session(ann).await, farm.session(bert).await);
        let tasks = ann.item(&at("Team/Tasks")).await.unwrap();
        assert!(tasks.rights.has(Right::Add) && !tasks.rights.has(Right::ManageLibraries));
        let tasks = bert.item(&at("Team/Tasks")).await.unwrap();
        assert!(tasks.rights.has(Right::View) && !tasks.rights.has(Right::Add));
        let table = admin.permissions(&Target::Id(site.id)).await.unwrap();
        let mut roles: Vec<Id> = table.grants.iter().map(|grant| grant.role).collect();
        roles.sort_unstable();
        let mut expected = vec![Role::FULL_CONTROL, Role::CONTRIBUTE, Role::READ];
        expected.sort_unstable();
        assert_eq!(roles, expected, "the caller keeps the role that they have");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_are_kept_for_a_site_collection_or_the_farm() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let rights = [Right::View, Right::ManageSite, Right::ManageLibraries];
        let (_, manager) = with_rights(&farm, "manager", "", &rights).await;
        let (_, maker) = with_rights(&farm, "maker", "", &[Right::View, Right::ManageLibraries]).await;
        let (_, reader) = with_rights(&farm, "reader", "", &[Right::View]).await;
        let (_, stranger) = farm.person("stranger").await;
        let other = admin.create_site_collection(&model::SitePath::parse("other").unwrap(), "Other", None, None).await;
        let (root, other) = (at(""), Target::Id(other.unwrap()));
        let list = manager.create_list(&root, &name("Plans"), &name("Plan")).await.unwrap();
        let draft = |name: &str| TemplateDraft { name: name.to_owned(), ..TemplateDraft::default() };
        let plans = manager.template_of(&Target::Id(list.id), draft("plans")).await.unwrap();
        let saved = manager.save_template(Some(&root), plans.clone()).await.unwrap();
        assert_eq!((saved.origin, saved.kind), (TemplateOrigin::SiteCollection, TemplateKind::List));
        for (session, place, code) in [
            (&manager, Some(&root), Code::NameTaken),
            (&manager, None, Code::Forbidden),
            (&maker, Some(&root), Code::Forbidden),
            (&stranger, Some(&root), Code::NotFound),
        ] {
            assert_eq!(session.save_template(place, plans.clone()).await.unwrap_err().code(), code);
        }
        let built_in = Template::parse(&plans.write().replace("\"plans\"", "\"tasks\"")).unwrap();
        assert_eq!(admin.save_template(None, built_in).await.unwrap_err().code(), Code::NameTaken);
        // Only in its site collection, and only for those who can use it.
        assert_eq!(maker.template(Some(&root), "plans").await.unwrap(), plans);
        assert_eq!(admin.template(Some(&other), "plans").await.unwrap_err().code(), Code::NotFound);
        assert_eq!(admin.template(None, "plans").await.unwrap_err().code(), Code::NotFound);
        assert_eq!(reader.template(Some(&root), "plans").await.unwrap_err().code(), Code::Forbidden);
        assert_eq!(stranger.templates(Some(&root)).await.unwrap_err().code(), Code::NotFound);
        let names = |list: Vec<repository::TemplateSummary>| list.into_iter().map(|one| one.name).collect::<Vec<_>>();
        let all = names(maker.templates(Some(&root)).await.unwrap());
        assert!(all.contains(&"plans".to_owned()) && !all.contains(&"team".to_owned()), "{all:?}");
        assert!(names(manager.templates(Some(&root)).await.unwrap()).contains(&"team".to_owned()));
        // The farm has one of the same name, which the other collection sees.
        let farm_plans = Template::parse(&plans.write().replace("\"Plans\"", "\"Farm plans\"")).unwrap();
        admin.save_template(None, farm_plans.clone()).await.unwrap();
        assert_eq!(admin.template(Some(&other), "plans").await.unwrap(), farm_plans);
        assert_eq!(stranger.template(None, "plans").await.unwrap(), farm_plans);
        assert_eq!(manager.template(Some(&root), "plans").await.unwrap(), plans);
        assert_eq!(names(manager.templates(Some(&root)).await.unwrap()).iter().filter(|n| *n == "plans").count(), 1);
        // A site of the template for lists, and lists of the saved one in a site.
        let uses = "format = 1\nkind = \"site\"\nname = \"uses\"\ntitle = \"U\"\n[[lists]]\nname = \"P\"\n\
            template = \"plans\"\n";
        let site = site_from(&manager, "Uses", &Template::parse(uses).unwrap(), "en").await.unwrap();
        assert_eq!(children(&manager, &Target::Id(site.id)).await[0].kind, NodeKind::List);
        // Names change, titles too, and not to a name that is taken.
        let renamed = manager
            .rename_template(Some(&root), "plans", "work-plans", Some(repository::TemplateText::Same("W".into())))
            .await
            .unwrap();
        assert_eq!((renamed.name.as_str(), renamed.title.in_language("en")), ("work-plans", "W"));
        let bad = manager.rename_template(Some(&root), "work-plans", "../x", None).await.unwrap_err();
        assert_eq!(bad.code(), Code::InvalidTemplate);
        let taken = manager.rename_template(Some(&root), "work-plans", "team", None).await.unwrap_err();
        assert_eq!(taken.code(), Code::NameTaken);
        assert_eq!(manager.template(Some(&root), "plans").await.unwrap(), farm_plans, "now that of the farm");
        for (session, place, name, code) in [
            (&maker, Some(&root), "work-plans", Code::Forbidden),
            (&manager, None, "plans", Code::Forbidden),
            (&manager, Some(&root), "plans", Code::NotFound),
            (&admin, None, "team", Code::NotFound),
        ] {
            assert_eq!(session.delete_template(place, name).await.unwrap_err().code(), code, "{name}");
        }
        manager.delete_template(Some(&root), "work-plans").await.unwrap();
        admin.delete_template(None, "plans").await.unwrap();
        assert_eq!(manager.template(Some(&root), "plans").await.unwrap_err().code(), Code::NotFound);
        let of_farm = admin.farm_events(repository::FarmFilter::default(), None, 50).await.unwrap().items;
        let actions: Vec<_> = of_farm.iter().map(|event| event.action.as_str()).collect();
        assert!(actions.contains(&"farm-template.save") && actions.contains(&"farm-template.delete"), "{actions:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_shows_only_what_its_maker_may_see() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let team = &built_in_templates()[0];
        let site = site_from(&admin, "Team", team, "en").await.unwrap();
        let rights = [Right::View, Right::ManageSite, Right::ManageLibraries];
        let (_, manager) = with_rights(&farm, "manager", "", &rights).await;
        admin.break_inheritance(&at("Team/Contacts"), false).await.unwrap();
        let manager = farm.session(manager.principal().id).await;
        let draft = TemplateDraft { name: "t".into(), with_rows: true, ..TemplateDraft::default() };
        let text = manager.template_of(&Target::Id(site.id), draft).await.unwrap().write();
        assert!(text.contains("\"Tasks\"") && !text.contains("\"Contacts\""), "{text}");
        // The link to it is hidden from the same person, and stays when they change the others.
        let look = manager.site_look(&Target::Id(site.id)).await.unwrap();
        assert!(look.links.iter().all(|link| link.label != "Contacts"));
        let mut links = look.links;
        links.reverse();
        links.push(SiteLink { label: "Help".into(), target: LinkTarget::Address("https://example.org/".into()) });
        let change = SiteLookChange { links: Some(links), ..SiteLookChange::default() };
        manager.change_site_look(&Target::Id(site.id), change).await.unwrap();
        let labels = |look: repository::SiteLook| look.links.into_iter().map(|link| link.label).collect::<Vec<_>>();
        let seen = labels(manager.site_look(&Target::Id(site.id)).await.unwrap());
        assert_eq!(seen, ["Links", "Announcements", "Tasks", "Documents", "Help"]);
        let seen = labels(admin.site_look(&Target::Id(site.id)).await.unwrap());
        assert_eq!(seen, ["Links", "Announcements", "Tasks", "Documents", "Help", "Contacts"]);
        // A link follows its item, and goes while the item is deleted.
        admin.rename(&at("Team/Tasks"), &name("To do")).await.unwrap();
        let entry = admin.delete(&at("Team/Links")).await.unwrap();
        let seen = labels(manager.site_look(&Target::Id(site.id)).await.unwrap());
        assert_eq!(seen, ["Announcements", "To do", "Documents", "Help"]);
        admin.restore(site.collection_id, entry).await.unwrap();
        assert_eq!(labels(manager.site_look(&Target::Id(site.id)).await.unwrap())[0], "Links");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn accent_and_logo_belong_to_the_site() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let site = admin.create_site(&at(""), &name("Plain")).await.unwrap();
        let target = Target::Id(site.id);
        assert_eq!(admin.site_look(&target).await.unwrap(), repository::SiteLook::default());
        assert_eq!(admin.site_logo(&target).await.unwrap_err().code(), Code::NotFound);
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x10\0\0\0\x10".to_vec();
        png.extend([8, 6, 0, 0, 0]);
        let logo = SmallImage::new(png.clone()).unwrap();
        let change = SiteLookChange {
            accent: Some(Some(model::Accent::Violet)),
            logo: Some(Some(logo.clone())),
            ..SiteLookChange::default()
        };
        admin.change_site_look(&target, change.clone()).await.unwrap();
        let look = admin.site_look(&target).await.unwrap();
        assert_eq!((look.accent, look.links.len()), (Some(model::Accent::Violet), 0));
        assert_eq!(admin.site_logo(&target).await.unwrap(), logo);
        let draft = TemplateDraft { name: "y".into(), ..TemplateDraft::default() };
        let saved = Template::parse(&admin.template_of(&target, draft).await.unwrap().write()).unwrap();
        let made = site_from(&admin, "made", &saved, "en").await.unwrap();
        assert_eq!(admin.site_logo(&made.id.into()).await.unwrap(), logo);
        let of_copy = admin.copy_to(&target, &at(""), None).await.unwrap();
        assert_eq!(admin.site_logo(&of_copy.id.into()).await.unwrap(), logo);
        admin.change_site_look(&target, change.clone()).await.unwrap();
        assert_ne!(admin.site_look(&target).await.unwrap().logo, look.logo, "a new mark for a new file");
        let (_, reader) = with_rights(&farm, "reader", "", &[Right::View]).await;
        assert_eq!(reader.site_logo(&target).await.unwrap(), logo);
        assert_eq!(reader.change_site_look(&target, change).await.unwrap_err().code(), Code::Forbidden);
        let (_, stranger) = farm.person("stranger").await;
        for code in [
            stranger.site_look(&target).await.unwrap_err().code(),
            stranger.site_logo(&target).await.unwrap_err().code(),
        ] {
            assert_eq!(code, Code::NotFound);
        }
        let address = |text: &str| SiteLink { label: "x".into(), target: LinkTarget::Address(text.to_owned()) };
        let other = admin.create_site_collection(&model::SitePath::parse("other").unwrap(), "Other", None, None).await;
        let elsewhere = LinkTarget::Item { id: other.unwrap(), path: String::new() };
        for (link, code) in [
            (address("javascript:alert(1)"), Code::InvalidLink),
            (address("//evil.example"), Code::InvalidLink),
            (SiteLink { label: String::new(), ..address("/browse") }, Code::InvalidLink),
            (SiteLink { label: "x".repeat(101), ..address("/browse") }, Code::InvalidLink),
            (SiteLink { label: "x".into(), target: elsewhere }, Code::OtherCollection),
        ] {
            let change = SiteLookChange { links: Some(vec![link]), ..SiteLookChange::default() };
            assert_eq!(admin.change_site_look(&target, change).await.unwrap_err().code(), code);
        }
        let many = SiteLookChange { links: Some(vec![address("/"); 31]), ..SiteLookChange::default() };
        assert_eq!(admin.change_site_look(&target, many).await.unwrap_err().code(), Code::TooMany);
        let change = SiteLookChange { logo: Some(None), accent: Some(None), ..SiteLookChange::default() };
        admin.change_site_look(&target, change).await.unwrap();
        assert_eq!(admin.site_look(&target).await.unwrap(), repository::SiteLook::default());
        // All of it goes with the site.
        let entry = admin.delete(&target).await.unwrap();
        admin.purge(site.collection_id, entry, repository::Bin::Site).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_of_twenty_lists_is_made_in_one_go() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let column = |i: usize| format!("{{ name = \"C{i}\", kind = \"text\" }}");
        let columns: Vec<String> = (0..8).map(column).collect();
        let rows: Vec<String> = (0..5).map(|i| format!("{{ T = \"Row {i}\", C1 = \"x\" }}")).collect();
        let list = |i: usize| {
            format!(
                "[[lists]]\nname = \"List {i}\"\nholds = \"rows\"\ncolumns = [{{ name = \"T\", kind = \"text\", role = \
                 \"title\" }}, {}]\nviews = [{{ name = \"V\", sort = \"C2\" }}, {{ name = \"W\", sort = \"C3\" }}]\n\
                 rows = [{}]\n",
                columns.join(", "),
                rows.join(", ")
            )
        };
        let lists: String = (0..20).map(list).collect();
        let text = format!("format = 1\nkind = \"site\"\nname = \"big\"\ntitle = \"Big\"\n{lists}");
        let template = Template::parse(&text).unwrap();
        let started = Instant::now();
        let site = site_from(&admin, "Big", &template, "en").await.unwrap();
        println!("a site of 20 lists with 180 columns, 40 views and 100 rows: {:?}", started.elapsed());
        assert_eq!(children(&admin, &Target::Id(site.id)).await.len(), 20);
        let content = admin.storage().await.unwrap().databases().unwrap().remove(0).database;
        let lists: Vec<Id> = children(&admin, &Target::Id(site.id)).await.iter().map(|list| list.id).collect();
        let read = move |reader: &mut database::Reader<'_>| {
            let mut slots = Vec::new();
            for list in &lists {
                slots.extend(column::list(reader, *list)?.into_iter().map(|column| column.slot));
                assert_eq!(saved_view::list(reader, *list, Id::NONE)?.len(), 2);
            }
            Ok(slots)
        };
        let mut slots = content.read(read).await.unwrap();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), 180, "no slot is given twice");
        // The same request again makes nothing and answers the same.
        let once = |session: Session| session.idempotent("key-1", model::Digest::new([7; 32]));
        let first = once(admin.clone()).create_site_from(&at(""), &name("Once"), &template, in_language("en")).await;
        let second = once(admin.clone()).create_site_from(&at(""), &name("Once"), &template, in_language("en")).await;
        assert_eq!(first.unwrap().id, second.unwrap().id);
    })
    .await;
}

//! Values of documents and folders that move or are copied to another library, on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::rows::{column, formula, name, new_list, number, set, text, titles, value, with_options};
use crate::support::{at, each_farm, put};
use model::{ColumnKind, ColumnValue, Id, LibrarySettings};
use repository::{ColumnChange, ColumnOptions, Filter, ListRequest, Session, Target, ValueTest, ValuesChange};

async fn plans(admin: &Session) -> Target {
    admin.create_library(&at(""), &name("Plans"), LibrarySettings::default()).await.unwrap().id.into()
}

fn choices(choices: &[&str]) -> ColumnKind {
    ColumnKind::Choice(choices.iter().map(|choice| (*choice).to_owned()).collect())
}

fn several(values: &[&str]) -> Option<ColumnValue> {
    Some(ColumnValue::Multiple(values.iter().map(|value| ColumnValue::Text((*value).to_owned())).collect()))
}

async fn found(session: &Session, place: &Target, column: Id, word: &str) -> Vec<String> {
    let values = vec![(column, ValueTest::Is(ColumnValue::Text(word.to_owned())))];
    let filter = Filter { values, ..Filter::default() };
    titles(session, place, &ListRequest { filter, ..ListRequest::default() }, 9).await
}

#[tokio::test(flavor = "multi_thread")]
async fn values_go_to_the_columns_of_the_same_name_and_kind() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (documents, plans) = (at("Documents"), plans(&admin).await);
        let state = column(&admin, &documents, "State", choices(&["open", "done"])).await;
        let tags = column(&admin, &documents, "Tags", choices(&["a", "b"]).taking_multiple(true).unwrap()).await;
        let owner = column(&admin, &documents, "Owner", choices(&["x"])).await;
        let remark = column(&admin, &documents, "Remark", ColumnKind::Note).await;
        let pages = column(&admin, &documents, "Pages", ColumnKind::Number).await;
        let new_state = column(&admin, &plans, "STATE", choices(&["open"])).await;
        let new_tags = column(&admin, &plans, "Tags", choices(&["a", "b"])).await;
        let new_owner = column(&admin, &plans, "Owner", choices(&["x"]).taking_multiple(true).unwrap()).await;
        let new_remark = column(&admin, &plans, "Remark", ColumnKind::Text).await;
        let new_pages = with_options(&admin, &plans, "Pages", ColumnKind::Number, formula("7")).await.unwrap();
        let [first, second] = ["first", "second"];
        let mut ids = Vec::new();
        for (label, word, tag) in [(first, "open", &["b"][..]), (second, "done", &["a", "b"])] {
            let id = put(&admin, &format!("Documents/{label}"), "x").await.unwrap().id;
            for (column, value) in [
                (state, text(word)),
                (tags, several(tag)),
                (owner, text("x")),
                (remark, text("kept")),
                (pages, number(3.0)),
            ] {
                set(&admin, id, column, value).await.unwrap();
            }
            ids.push(id);
        }
        let [one, two] = ids[..] else { panic!("two documents") };
        for id in [one, two] {
            admin.move_to(&id.into(), &plans, None).await.unwrap();
            assert_eq!(value(&admin, id, new_owner).await, several(&["x"]));
            assert_eq!(value(&admin, id, new_remark).await, None);
            assert_eq!(value(&admin, id, new_pages).await, number(7.0));
        }
        assert_eq!((value(&admin, one, new_state).await, value(&admin, two, new_state).await), (text("open"), None));
        assert_eq!((value(&admin, one, new_tags).await, value(&admin, two, new_tags).await), (text("b"), None));
        assert_eq!(found(&admin, &plans, new_state, "open").await, [first]);
        // What had no place comes back, and what was changed or emptied meanwhile stays so.
        set(&admin, one, new_state, None).await.unwrap();
        for id in [one, two] {
            admin.move_to(&id.into(), &documents, None).await.unwrap();
            assert_eq!(value(&admin, id, owner).await, text("x"));
            assert_eq!(value(&admin, id, remark).await, text("kept"));
            assert_eq!(value(&admin, id, pages).await, number(7.0));
        }
        assert_eq!((value(&admin, one, state).await, value(&admin, two, state).await), (None, text("done")));
        assert_eq!(value(&admin, one, tags).await, several(&["b"]));
        assert_eq!(value(&admin, two, tags).await, several(&["a", "b"]));
        assert_eq!(found(&admin, &documents, state, "done").await, [second]);
        assert!(found(&admin, &documents, state, "open").await.is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_come_back_without_their_content_type_and_from_rows() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (documents, plans) = (at("Documents"), plans(&admin).await);
        let contract = admin.create_content_type(&documents, &name("Contract")).await.unwrap();
        let change = ColumnChange {
            name: name("Partner"),
            kind: ColumnKind::Text,
            required: false,
            content_type_id: Some(contract),
            options: ColumnOptions::default(),
        };
        let partner = admin.create_column(&documents, change).await.unwrap();
        let new_partner = column(&admin, &plans, "Partner", ColumnKind::Text).await;
        let id = put(&admin, "Documents/a", "x").await.unwrap().id;
        let change = ValuesChange {
            values: vec![(partner, text("Smith"))],
            content_type: Some(Some(contract)),
            ..ValuesChange::default()
        };
        admin.set_values(&id.into(), change).await.unwrap();
        admin.move_to(&id.into(), &plans, None).await.unwrap();
        assert_eq!(value(&admin, id, new_partner).await, text("Smith"));
        admin.move_to(&id.into(), &documents, None).await.unwrap();
        assert_eq!(value(&admin, id, partner).await, text("Smith"));
        // An attachment has no values, and the list's columns of the same name are not for it.
        let (list, title) = new_list(&admin).await;
        let of_list = column(&admin, &list, "Partner", ColumnKind::Text).await;
        let row = admin.add_row(&list, vec![(title, text("t"))]).await.unwrap();
        let copy = admin.copy_to(&id.into(), &row.into(), Some(&name("b"))).await.unwrap().id;
        admin.move_to(&id.into(), &row.into(), None).await.unwrap();
        for attachment in [id, copy] {
            assert_eq!(value(&admin, attachment, of_list).await, None);
        }
        admin.move_to(&id.into(), &documents, None).await.unwrap();
        assert_eq!(value(&admin, id, partner).await, text("Smith"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_and_contents_of_folders_bring_values_and_content_types() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (documents, plans) = (at("Documents"), plans(&admin).await);
        let mut columns = Vec::new();
        for (library, label) in [(&documents, "Contract"), (&plans, "CONTRACT")] {
            let content_type = admin.create_content_type(library, &name(label)).await.unwrap();
            let change = ColumnChange {
                name: name("Partner"),
                kind: ColumnKind::Text,
                required: false,
                content_type_id: Some(content_type),
                options: ColumnOptions::default(),
            };
            columns.push((content_type, admin.create_column(library, change).await.unwrap()));
        }
        let [(contract, partner), (new_contract, new_partner)] = columns[..] else { panic!("two libraries") };
        let state = column(&admin, &documents, "State", ColumnKind::Text).await;
        let new_state = column(&admin, &plans, "State", ColumnKind::Text).await;
        let double = formula("[State] & [State]");
        let double = with_options(&admin, &plans, "Double", ColumnKind::Text, double).await.unwrap();
        let folder = admin.create_folder(&documents, &name("Folder")).await.unwrap().id;
        set(&admin, folder, state, text("f")).await.unwrap();
        let inside = put(&admin, "Documents/Folder/inside", "x").await.unwrap().id;
        let change = ValuesChange {
            values: vec![(state, text("i")), (partner, text("Smith"))],
            content_type: Some(Some(contract)),
            ..ValuesChange::default()
        };
        admin.set_values(&inside.into(), change).await.unwrap();
        farm.repository.recompute().await.unwrap();

        let copy = admin.copy_to(&folder.into(), &plans, None).await.unwrap().id;
        let copied = admin.item(&at("Plans/Folder/inside")).await.unwrap();
        let alone = admin.copy_to(&inside.into(), &plans, None).await.unwrap();
        assert_eq!(value(&admin, alone.id, double).await, text("ii"), "a document is computed at once");
        admin.move_to(&folder.into(), &plans, Some(&name("Moved"))).await.unwrap();
        farm.repository.recompute().await.unwrap();
        for (folder, document) in [(copy, copied.id), (folder, inside)] {
            assert_eq!(value(&admin, folder, new_state).await, text("f"));
            assert_eq!(value(&admin, folder, double).await, text("ff"));
            assert_eq!(value(&admin, document, new_state).await, text("i"));
            assert_eq!(value(&admin, document, new_partner).await, text("Smith"));
            assert_eq!(value(&admin, document, double).await, text("ii"));
            assert_eq!(admin.item(&document.into()).await.unwrap().content_type_id, Some(new_contract));
        }
        assert_eq!(found(&admin, &at("Plans/Folder"), new_state, "i").await, ["inside"]);
        assert_eq!(found(&admin, &at("Plans/Moved"), new_state, "i").await, ["inside"]);
    })
    .await;
}

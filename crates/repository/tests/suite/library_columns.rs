//! Tests of columns of libraries without duplicates, and of formulas in columns of content types; on both engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::rows::{column, default, formula, name, number, set, text, titles, value, with_options};
use crate::support::{at, each_farm, put};
use model::{Code, ColumnKind, Id, LibrarySettings};
use repository::{Bin, ColumnChange, ColumnOptions, Filter, ListRequest, Session, Target, ValueTest, ValuesChange};

fn unique() -> ColumnOptions {
    ColumnOptions { unique: true, ..ColumnOptions::default() }
}

fn definition(label: &str, content_type_id: Option<Id>, options: ColumnOptions) -> ColumnChange {
    ColumnChange { name: name(label), kind: ColumnKind::Text, required: false, content_type_id, options }
}

async fn plans(admin: &Session) -> Target {
    admin.create_library(&at(""), &name("Plans"), LibrarySettings::default()).await.unwrap().id.into()
}

async fn file(admin: &Session, path: &str) -> Id {
    put(admin, path, "x").await.unwrap().id
}

async fn code_of(change: impl Future<Output = model::Result<()>>) -> Option<Code> {
    change.await.err().map(|error| error.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_two_items_of_a_library_have_the_same_value() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let library = at("Documents");
        admin.create_folder(&library, &name("Deep")).await.unwrap();
        let folder = admin.create_folder(&at("Documents/Deep"), &name("Down")).await.unwrap().id;
        let (top, below) = (file(&admin, "Documents/a").await, file(&admin, "Documents/Deep/Down/b").await);
        let number_of = column(&admin, &library, "Number", ColumnKind::Text).await;
        set(&admin, top, number_of, text("R-1")).await.unwrap();
        set(&admin, below, number_of, text("r-1")).await.unwrap();
        let change = || admin.change_column(&library, number_of, definition("Number", None, unique()));
        assert_eq!(code_of(change()).await, Some(Code::ValueTaken));
        set(&admin, below, number_of, text("R-2")).await.unwrap();
        change().await.unwrap();

        // In whatever folder, and in folders themselves.
        for (item, taken) in [(top, "r-2"), (below, "R-1"), (folder, "R-1")] {
            assert_eq!(code_of(set(&admin, item, number_of, text(taken))).await, Some(Code::ValueTaken));
        }
        set(&admin, folder, number_of, text("R-3")).await.unwrap();
        assert_eq!(code_of(set(&admin, top, number_of, text("R-3"))).await, Some(Code::ValueTaken));
        set(&admin, below, number_of, text("r-2")).await.unwrap();
        assert_eq!(value(&admin, below, number_of).await, text("r-2"));
        // Empty fields are no values.
        let other = file(&admin, "Documents/c").await;
        set(&admin, top, number_of, None).await.unwrap();
        set(&admin, other, number_of, None).await.unwrap();
        set(&admin, other, number_of, text("R-1")).await.unwrap();

        // What is deleted gives its value back, and keeps it when it returns.
        let deep = admin.item(&at("Documents/Deep")).await.unwrap().id;
        admin.delete(&deep.into()).await.unwrap();
        set(&admin, top, number_of, text("R-2")).await.unwrap();
        let collection = admin.item(&at("")).await.unwrap().id;
        let entry = admin.recycled(collection, Bin::Mine, None, 9).await.unwrap().items[0].id;
        admin.restore(collection, entry).await.unwrap();
        assert_eq!(value(&admin, below, number_of).await, text("r-2"));
        assert_eq!(code_of(set(&admin, other, number_of, text("R-2"))).await, Some(Code::ValueTaken));

        // A default value would be the value of all.
        let both = ColumnOptions { unique: true, ..default("\"x\"") };
        let refused = with_options(&admin, &library, "Both", ColumnKind::Text, both).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidFormula);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn items_that_arrive_in_a_library_bring_no_duplicates() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (library, plans) = (at("Documents"), plans(&admin).await);
        let here = column(&admin, &library, "Number", ColumnKind::Text).await;
        let there = with_options(&admin, &plans, "Number", ColumnKind::Text, unique()).await.unwrap();
        let shown = with_options(&admin, &plans, "Shown", ColumnKind::Text, formula("\"no. \" & [Number]"));
        let shown = shown.await.unwrap();
        let taken = file(&admin, "Plans/taken").await;
        set(&admin, taken, there, text("1")).await.unwrap();
        for folder in ["One", "Two", "Three"] {
            admin.create_folder(&library, &name(folder)).await.unwrap();
        }
        for (path, number) in [
            ("Documents/a", "1"),
            ("Documents/b", "2"),
            ("Documents/One/c", "1"),
            ("Documents/Two/d", "4"),
            ("Documents/Two/e", "4"),
            ("Documents/Three/f", "5"),
        ] {
            let id = file(&admin, path).await;
            set(&admin, id, here, text(number)).await.unwrap();
        }
        // Documents and folders, whether they are moved or copied; two with one value in a folder, too.
        for item in ["Documents/a", "Documents/One", "Documents/Two"] {
            assert_eq!(admin.move_to(&at(item), &plans, None).await.unwrap_err().code(), Code::ValueTaken);
            assert_eq!(admin.copy_to(&at(item), &plans, None).await.unwrap_err().code(), Code::ValueTaken);
        }
        let copy = admin.copy_to(&at("Documents/b"), &plans, None).await.unwrap().id;
        assert_eq!((value(&admin, copy, there).await, value(&admin, copy, shown).await), (text("2"), text("no. 2")));
        admin.move_to(&at("Documents/Three"), &plans, None).await.unwrap();
        let five = admin.item(&at("Plans/Three/f")).await.unwrap().id;
        assert_eq!(value(&admin, five, there).await, text("5"));
        assert_eq!(code_of(set(&admin, copy, there, text("5"))).await, Some(Code::ValueTaken));

        // A copy in the same library has no value.
        farm.repository.recompute().await.unwrap();
        for (original, place) in [("Plans/Three/f", "Plans/Three"), ("Plans/taken", "Plans")] {
            let copy = admin.copy_to(&at(original), &at(place), Some(&name("again"))).await.unwrap().id;
            assert_eq!((value(&admin, copy, there).await, value(&admin, copy, shown).await), (None, text("no. ")));
        }
        admin.copy_to(&at("Plans/Three"), &plans, Some(&name("Four"))).await.unwrap();
        let inside = admin.item(&at("Plans/Four/f")).await.unwrap().id;
        assert_eq!(value(&admin, inside, there).await, None);
        // One of a whole library has all values.
        let all = admin.copy_to(&plans, &at(""), Some(&name("All"))).await.unwrap().id;
        let columns = admin.columns(&all.into()).await.unwrap().0;
        let copied = columns.iter().find(|column| column.name == "Number").unwrap();
        assert!(copied.options.unique);
        let inside = admin.item(&at("All/Three/f")).await.unwrap().id;
        assert_eq!(value(&admin, inside, copied.id).await, text("5"));

        // Values that were hidden in another library show again, unless they are taken by now.
        let sign = with_options(&admin, &plans, "Sign", ColumnKind::Text, unique()).await.unwrap();
        set(&admin, five, sign, text("s")).await.unwrap();
        admin.move_to(&at("Plans/Three"), &library, None).await.unwrap();
        set(&admin, taken, sign, text("S")).await.unwrap();
        let moved = at("Documents/Three");
        let back = || admin.move_to(&moved, &plans, None);
        assert_eq!(back().await.unwrap_err().code(), Code::ValueTaken);
        set(&admin, taken, sign, None).await.unwrap();
        back().await.unwrap();
        assert_eq!(value(&admin, five, sign).await, text("s"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_with_many_values_is_looked_through() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (library, plans) = (at("Documents"), plans(&admin).await);
        let here = column(&admin, &library, "Number", ColumnKind::Number).await;
        let there = with_options(&admin, &plans, "Number", ColumnKind::Number, unique()).await.unwrap();
        admin.create_folder(&library, &name("Many")).await.unwrap();
        admin.create_folder(&library, &name("None")).await.unwrap();
        for one in 0..201 {
            let id = file(&admin, &format!("Documents/Many/{one}")).await;
            set(&admin, id, here, number(f64::from(one))).await.unwrap();
        }
        let taken = file(&admin, "Plans/taken").await;
        set(&admin, taken, there, number(150.0)).await.unwrap();
        // Two that came back from the recycle bin with one value do not keep other folders away.
        let entry = admin.delete(&taken.into()).await.unwrap();
        let again = file(&admin, "Plans/again").await;
        set(&admin, again, there, number(150.0)).await.unwrap();
        let collection = admin.item(&at("")).await.unwrap().id;
        admin.restore(collection, entry).await.unwrap();
        admin.move_to(&at("Documents/None"), &plans, None).await.unwrap();
        let many = at("Documents/Many");
        assert_eq!(admin.move_to(&many, &plans, None).await.unwrap_err().code(), Code::ValueTaken);
        for id in [taken, again] {
            set(&admin, id, there, None).await.unwrap();
        }
        admin.move_to(&many, &plans, None).await.unwrap();
        assert_eq!(code_of(set(&admin, taken, there, number(200.0))).await, Some(Code::ValueTaken));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_at_once_give_a_value_of_a_library_once() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (library, plans) = (at("Documents"), plans(&admin).await);
        let here = column(&admin, &library, "Number", ColumnKind::Text).await;
        let there = with_options(&admin, &plans, "Number", ColumnKind::Text, unique()).await.unwrap();
        let (mut set_there, mut moved) = (Vec::new(), Vec::new());
        for one in 0..4 {
            set_there.push(file(&admin, &format!("Plans/{one}")).await);
            let id = file(&admin, &format!("Documents/m{one}")).await;
            set(&admin, id, here, text("7")).await.unwrap();
            moved.push(id);
        }
        let setting = set_there.into_iter().map(|item| {
            let admin = admin.clone();
            tokio::spawn(async move { set(&admin, item, there, text("7")).await.is_ok() })
        });
        let moving = moved.into_iter().map(|item| {
            let (admin, plans) = (admin.clone(), plans.clone());
            tokio::spawn(async move { admin.move_to(&item.into(), &plans, None).await.is_ok() })
        });
        let mut taken = 0;
        for writer in setting.chain(moving).collect::<Vec<_>>() {
            taken += usize::from(writer.await.unwrap());
        }
        assert_eq!(taken, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_of_content_types_have_formulas() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let library = at("Documents");
        let invoice = admin.create_content_type(&library, &name("Invoice")).await.unwrap();
        let letter = admin.create_content_type(&library, &name("Letter")).await.unwrap();
        let create = |change| {
            let (admin, library) = (admin.clone(), library.clone());
            async move { admin.create_column(&library, change).await.unwrap() }
        };
        let net = ColumnChange {
            kind: ColumnKind::Number,
            ..definition("Net", Some(invoice), ColumnOptions { check: "[Net] > 0".into(), ..default("100") })
        };
        let net = create(net).await;
        let gross = create(ColumnChange {
            kind: ColumnKind::Number,
            ..definition("Gross", Some(invoice), formula("[Net] * 1.2"))
        });
        let gross = gross.await;
        let place = create(definition("Place", Some(letter), default("\"here\""))).await;
        let line = create(definition("Line", None, formula("coalesce(text([Gross]), [Place], \"neither\")"))).await;
        let rule = ColumnOptions { check: "blank([Remark]) or [Net] <= 500".into(), ..ColumnOptions::default() };
        let remark = create(definition("Remark", None, rule)).await;
        let retype = |id: Id, content_type: Option<Id>, values: Vec<(Id, _)>| {
            let admin = admin.clone();
            let change = ValuesChange { values, content_type: Some(content_type), ..ValuesChange::default() };
            async move { admin.set_values(&id.into(), change).await }
        };

        // A new document has no type, and what has none of a type has no value in its columns.
        let id = file(&admin, "Documents/a").await;
        set(&admin, id, remark, text("r")).await.unwrap();
        for column in [net, gross, place] {
            assert_eq!(value(&admin, id, column).await, None);
        }
        assert_eq!(value(&admin, id, line).await, text("neither"));
        retype(id, Some(invoice), Vec::new()).await.unwrap();
        assert_eq!((value(&admin, id, net).await, value(&admin, id, gross).await), (number(100.0), number(120.0)));
        assert_eq!((value(&admin, id, place).await, value(&admin, id, line).await), (None, text("120")));
        // Rules hold for items of the type, for whatever they read there.
        assert_eq!(code_of(set(&admin, id, net, number(-1.0))).await, Some(Code::CheckFailed));
        assert_eq!(code_of(set(&admin, id, net, number(501.0))).await, Some(Code::CheckFailed));
        set(&admin, id, net, number(10.0)).await.unwrap();
        let cheap = || {
            let values = vec![(net, ValueTest::Between(0.0, 50.0))];
            [Filter { values, ..Filter::default() }, Filter { condition: "[Net] < 50".into(), ..Filter::default() }]
        };
        for filter in cheap() {
            let request = ListRequest { filter, ..ListRequest::default() };
            assert_eq!(titles(&admin, &library, &request, 9).await, ["a"]);
        }
        // Formulas and filters do not see the columns of a type that the item has no more, nor are those computed.
        retype(id, Some(letter), Vec::new()).await.unwrap();
        for filter in cheap() {
            let request = ListRequest { filter, ..ListRequest::default() };
            assert!(titles(&admin, &library, &request, 9).await.is_empty());
        }
        assert_eq!((value(&admin, id, gross).await, value(&admin, id, place).await), (None, text("here")));
        assert_eq!(value(&admin, id, line).await, text("here"));
        set(&admin, id, net, number(-5.0)).await.unwrap();
        // Back, the values are there again, and must pass.
        for bad in [-5.0, 600.0] {
            set(&admin, id, net, number(bad)).await.unwrap();
            assert_eq!(code_of(retype(id, Some(invoice), Vec::new())).await, Some(Code::CheckFailed));
        }
        assert_eq!(value(&admin, id, line).await, text("here"));
        retype(id, Some(invoice), vec![(net, number(20.0))]).await.unwrap();
        assert_eq!((value(&admin, id, gross).await, value(&admin, id, place).await), (number(24.0), text("here")));
        // What an author empties with the change stays empty.
        let other = file(&admin, "Documents/b").await;
        retype(other, Some(invoice), vec![(net, None)]).await.unwrap();
        assert_eq!((value(&admin, other, net).await, value(&admin, other, gross).await), (None, None));
        retype(other, None, Vec::new()).await.unwrap();

        // A column that goes to another type, or to all items, is computed anew for them.
        admin
            .change_column(
                &library,
                net,
                ColumnChange { kind: ColumnKind::Number, ..definition("Net", None, ColumnOptions::default()) },
            )
            .await
            .unwrap();
        set(&admin, other, net, number(1.0)).await.unwrap();
        assert_eq!(value(&admin, other, gross).await, None);
        admin
            .change_column(
                &library,
                gross,
                ColumnChange { kind: ColumnKind::Number, ..definition("Gross", None, formula("[Net] * 1.2")) },
            )
            .await
            .unwrap();
        assert_eq!(farm.repository.recompute().await.unwrap(), 1);
        assert_eq!((value(&admin, other, gross).await, value(&admin, other, line).await), (number(1.2), text("1.2")));
        admin
            .change_column(
                &library,
                gross,
                ColumnChange { kind: ColumnKind::Number, ..definition("Gross", Some(letter), formula("[Net] * 1.2")) },
            )
            .await
            .unwrap();
        assert_eq!(farm.repository.recompute().await.unwrap(), 1);
        assert_eq!((value(&admin, id, gross).await, value(&admin, id, line).await), (None, text("neither")));

        // In no two items of the library, whatever their types.
        let code = create(definition("Code", Some(letter), unique())).await;
        retype(id, Some(letter), vec![(code, text("A"))]).await.unwrap();
        let twice = retype(other, Some(letter), vec![(code, text("a"))]);
        assert_eq!(code_of(twice).await, Some(Code::ValueTaken));
    })
    .await;
}

//! Tests of totals of columns, on both engines.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::support::rows::{change, column, new_list, text};
use crate::support::{at, each_farm, put, with_rights};
use model::{Code, ColumnKind, ColumnValue, ErrorKind, Id, Right, Role, Timestamp, Total};
use repository::{Filter, RowChange, Session, Target, ValueTest};

fn number(number: f64) -> Option<ColumnValue> {
    Some(ColumnValue::Number(number))
}

async fn all(session: &Session, list: &Target, column: Id) -> Vec<Option<ColumnValue>> {
    let wanted = Total::ALL.map(|total| (column, total));
    session.totals(list, Filter::default(), &wanted).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_sum_up_what_the_caller_may_open() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let price = column(&admin, &list, "Price", ColumnKind::Number).await;
        let due = column(&admin, &list, "Due", ColumnKind::Date).await;
        assert_eq!(all(&admin, &list, price).await, [number(0.0), None, None, None, None]);
        let day = |day: i64| Some(ColumnValue::Date(Timestamp::from_micros(day * 86_400_000_000)));
        let add = |name: &str, price_of: Option<ColumnValue>, day: Option<ColumnValue>| RowChange::Add {
            set: vec![(title, text(name)), (price, price_of), (due, day)],
        };
        let rows = change(
            &admin,
            &list,
            vec![
                add("a", number(1.5), day(3)),
                add("b", number(-4.0), None),
                add("c", None, day(1)),
                add("secret", number(100.0), day(9)),
            ],
        )
        .await;
        assert_eq!(
            all(&admin, &list, price).await,
            [number(3.0), number(97.5), number(32.5), number(-4.0), number(100.0)]
        );
        let wanted = [(due, Total::Max), (due, Total::Count), (title, Total::Count)];
        let found = admin.totals(&list, Filter::default(), &wanted).await.unwrap().unwrap();
        assert_eq!(found, [day(9), number(3.0), number(4.0)]);

        // A row with permissions of its own is in no total of those who may not open it.
        let secret = Target::Id(rows[3].row.unwrap());
        let (reader, session) = with_rights(&farm, "reader", "Tasks", &[Right::View]).await;
        admin.break_inheritance(&secret, false).await.unwrap();
        let found = all(&session, &list, price).await;
        assert_eq!(found, [number(2.0), number(-2.5), number(-1.25), number(-4.0), number(1.5)]);
        admin.grant(&secret, reader, Role::READ).await.unwrap();
        assert_eq!(all(&session, &list, price).await[1], number(97.5));

        let filter = Filter { values: vec![(price, ValueTest::Between(0.0, 50.0))], ..Filter::default() };
        let found = admin.totals(&list, filter, &[(price, Total::Sum), (due, Total::Min)]).await.unwrap().unwrap();
        assert_eq!(found, [number(1.5), day(3)]);

        // Deleted rows do not count.
        change(&admin, &list, vec![RowChange::Delete { row: rows[0].row.unwrap(), revision: None }]).await;
        assert_eq!(all(&admin, &list, price).await[1], number(96.0));
        // A sum that is too large for a number is no total.
        change(&admin, &list, vec![add("d", number(1.7e308), None), add("e", number(1.7e308), None)]).await;
        let found = all(&admin, &list, price).await;
        assert_eq!((&found[1], &found[2], &found[4]), (&None, &None, &number(1.7e308)));

        // A number that is almost 0 breaks no total.
        change(&admin, &list, vec![add("f", number(1e-320), None)]).await;
        assert_eq!(all(&admin, &list, price).await[0], number(5.0));
        let mut many = Vec::new();
        for number in 0..11 {
            let label = format!("Column {number}");
            many.push((column(&admin, &list, &label, ColumnKind::Text).await, Total::Count));
        }
        let refused = admin.totals(&list, Filter::default(), &many).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        for wanted in [(title, Total::Sum), (due, Total::Average), (title, Total::Min)] {
            let refused = admin.totals(&list, Filter::default(), &[wanted]).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid);
        }
        let unknown = admin.totals(&list, Filter::default(), &[(Id::new(9), Total::Count)]).await.unwrap_err();
        assert_eq!(unknown.code(), Code::NotFound);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn libraries_have_totals_of_a_folder() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let library = at("Documents");
        let pages = column(&admin, &library, "Pages", ColumnKind::Number).await;
        for (name, count) in [("a", 3.0), ("b", 4.0)] {
            let saved = put(&admin, &format!("Documents/{name}.txt"), name).await.unwrap();
            let change = repository::ValuesChange { values: vec![(pages, number(count))], ..Default::default() };
            admin.set_values(&Target::Id(saved.id), change).await.unwrap();
        }
        assert_eq!(all(&admin, &library, pages).await[1], number(7.0));
    })
    .await;
}

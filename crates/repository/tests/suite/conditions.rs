//! Tests of formulas as conditions of listings; on both engines.

use crate::support::rows::{column, new_list, number, set, text, titles};
use crate::support::{at, each_farm, put, with_rights};
use model::{Code, ColumnKind, ColumnValue, Right, Timestamp};
use repository::{Filter, ListRequest, Sort, ValueTest, named_condition, stored_condition};

fn request(condition: &str) -> ListRequest {
    ListRequest { filter: Filter { condition: condition.to_owned(), ..Filter::default() }, ..ListRequest::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_filtered_by_a_formula() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (list, title) = new_list(&admin).await;
        let effort = column(&admin, &list, "Effort", ColumnKind::Number).await;
        let due = column(&admin, &list, "Due", ColumnKind::Date).await;
        let owner = column(&admin, &list, "Owner", ColumnKind::Person).await;
        let (member_id, member) = with_rights(&farm, "member", "", &[Right::View]).await;
        let day = |micros| Some(ColumnValue::Date(Timestamp::from_micros(micros)));
        for (words, hours, at, person) in [
            ("past", Some(1.0), Some(1), true),
            ("future", Some(2.0), Some(4_000_000_000_000_000), false),
            ("open", None, None, true),
        ] {
            let mut fields = vec![(title, text(words))];
            fields.extend(hours.map(|hours| (effort, number(hours))));
            fields.extend(at.map(|at| (due, day(at))));
            fields.extend(person.then_some((owner, Some(ColumnValue::Person(member_id)))));
            admin.add_row(&list, fields).await.unwrap();
        }
        for (condition, wanted) in [
            ("[Due] < today()", &["past"][..]),
            ("blank([Due]) or [Due] > today()", &["future", "open"]),
            ("[Effort] >= 1", &["past", "future"]),
            ("not blank([Effort]) and [Task] <> \"past\"", &["future"]),
            ("1 / [Effort] > 0.6", &["past"]),
            ("false", &[]),
            ("true", &["past", "future", "open"]),
        ] {
            for limit in [1, 9] {
                assert_eq!(titles(&member, &list, &request(condition), limit).await, wanted, "{condition}");
            }
        }
        // `me` is who asks.
        let mine = request("[Owner] = me()");
        assert_eq!(titles(&member, &list, &mine, 9).await, ["past", "open"]);
        assert!(titles(&admin, &list, &mine, 9).await.is_empty());
        // With other conditions and orders.
        let mut both = request("[Effort] < 2");
        both.filter.values = vec![(effort, ValueTest::Between(0.0, 9.0))];
        both.sort = Sort::Column(effort);
        both.descending = true;
        assert_eq!(titles(&admin, &list, &both, 1).await, ["past"]);
        for wrong in ["[Effort]", "[Nothing] = 1", "[Effort] = ", "1 = 1 = 1"] {
            let refused = admin.list_filtered(&list, request(wrong)).await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidFormula, "{wrong}");
        }
        // The stored form outlives a new name of the column.
        let columns = admin.columns(&list).await.unwrap().0;
        let stored = stored_condition("[Effort] = 2", &columns).unwrap();
        let change = repository::ColumnChange {
            name: crate::support::rows::name("Hours"),
            kind: ColumnKind::Number,
            required: false,
            content_type_id: None,
            options: repository::ColumnOptions::default(),
        };
        admin.change_column(&list, effort, change).await.unwrap();
        assert_eq!(titles(&admin, &list, &request(&stored), 9).await, ["future"]);
        let columns = admin.columns(&list).await.unwrap().0;
        assert_eq!(named_condition(&stored, &columns), "[Hours] = 2");
        assert_eq!(named_condition("[Effort] = ", &columns), "[Effort] = ");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_without_values_are_looked_at_too() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let amount = column(&admin, &at("Documents"), "Amount", ColumnKind::Number).await;
        let priced = put(&admin, "Documents/priced.txt", "x").await.unwrap().id;
        put(&admin, "Documents/plain.txt", "x").await.unwrap();
        set(&admin, priced, amount, number(5.0)).await.unwrap();
        for (condition, wanted) in [("[Amount] > 4", &["priced.txt"][..]), ("blank([Amount])", &["plain.txt"])] {
            assert_eq!(titles(&admin, &at("Documents"), &request(condition), 9).await, wanted, "{condition}");
        }
    })
    .await;
}

//! Tests of pages of listings and logs, on both engines: page sizes, column values of a whole page, the audit log, the
//! faults of BLOBs.

use std::collections::HashSet;

use crate::support::{at, each_farm, get, put};
use database::content::fault::{self, FaultRow};
use database::{Database, Schema, Transaction};
use model::{Code, ColumnKind, ColumnValue, Digest, ErrorKind, FaultState, Id, Name, Right, Role, Timestamp};
use repository::{AUDIT_ACTIONS, AuditFilter, ColumnChange, ColumnOptions, Sort, ValuesChange};

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_equal_size_are_paged_through_once_in_both_directions() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        admin.create_folder(&at("Documents"), &Name::new("folder").unwrap()).await.unwrap();
        for i in 0..40_usize {
            put(&admin, &format!("Documents/{i:02}"), &"x".repeat([7, 0, 7, 300, 7][i % 5])).await.unwrap();
        }
        for down in [false, true] {
            for limit in [1, 3, 8, 100] {
                let (mut after, mut seen) = (None, Vec::new());
                loop {
                    let (_, page) = admin.list(&at("Documents"), Sort::Size, down, after, limit).await.unwrap();
                    seen.extend(page.items);
                    after = page.next;
                    if after.is_none() {
                        break;
                    }
                }
                assert_eq!(seen.remove(0).name, "folder", "folders come first");
                let names: HashSet<&str> = seen.iter().map(|item| item.name.as_str()).collect();
                assert_eq!((seen.len(), names.len()), (40, 40), "{limit} at a time, down: {down}");
                let mut sizes: Vec<u64> = seen.iter().map(|item| item.size).collect();
                if down {
                    sizes.reverse();
                }
                assert!(sizes.is_sorted(), "{sizes:?}");
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_column_is_named_like_one_that_every_library_has() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let named = |name: &str| ColumnChange {
            name: Name::new(name).unwrap(),
            kind: ColumnKind::Text,
            required: false,
            content_type_id: None,
            options: ColumnOptions::default(),
        };
        for name in ["Name", "nAME", "Type", "Modified", "Created", "By", "Size", "Version"] {
            let refused = admin.create_column(&at("Documents"), named(name)).await.unwrap_err();
            assert_eq!((refused.kind(), refused.code()), (ErrorKind::Conflict, Code::NameTaken), "{name}: {refused}");
            assert!(refused.message().contains(&format!("\"{name}\"")), "{refused}");
        }
        let column = admin.create_column(&at("Documents"), named("Names")).await.unwrap();
        let refused = admin.change_column(&at("Documents"), column, named("name")).await.unwrap_err();
        assert_eq!(refused.code(), Code::NameTaken, "{refused}");
        admin.change_column(&at("Documents"), column, named("Full name")).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn saving_what_a_column_holds_already_is_no_change() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let name = Name::new("State").unwrap();
        let change = ColumnChange {
            name,
            kind: ColumnKind::Text,
            required: false,
            content_type_id: None,
            options: ColumnOptions::default(),
        };
        let state = admin.create_column(&at("Documents"), change).await.unwrap();
        put(&admin, "Documents/a", "a").await.unwrap();
        let set = async |text: Option<&str>| {
            let values = vec![(state, text.map(|text| ColumnValue::Text(text.into())))];
            admin.set_values(&at("Documents/a"), ValuesChange { values, ..ValuesChange::default() }).await.unwrap();
            admin.item(&at("Documents/a")).await.unwrap().modified_at
        };
        let first = set(Some("new")).await;
        assert_eq!(set(Some("new")).await, first);
        let second = set(Some("won")).await;
        assert!(second > first);
        let third = set(None).await;
        assert!(third > second);
        assert_eq!(set(None).await, third);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_brings_the_values_of_its_items_and_of_no_others() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let column = |name: &str, kind: ColumnKind| ColumnChange {
            name: Name::new(name).unwrap(),
            kind,
            required: false,
            content_type_id: None,
            options: ColumnOptions::default(),
        };
        let title = admin.create_column(&at("Documents"), column("Title", ColumnKind::Text)).await.unwrap();
        let amount = admin.create_column(&at("Documents"), column("Amount", ColumnKind::Number)).await.unwrap();
        for name in ["a", "b", "secret/c"] {
            put(&admin, &format!("Documents/{name}"), name).await.unwrap();
            let values = vec![(title, Some(ColumnValue::Text(name.into()))), (amount, Some(ColumnValue::Number(1.5)))];
            admin
                .set_values(&at(&format!("Documents/{name}")), ValuesChange { values, ..ValuesChange::default() })
                .await
                .unwrap();
        }
        let of = |name: &'static str| async { admin.item(&at(name)).await.unwrap().id };
        let (a, b) = (of("Documents/a").await, of("Documents/b").await);
        let listed = admin.list_with_columns(&at("Documents"), Sort::Name, false, None, 100, 20).await.unwrap();
        assert_eq!(listed.columns.iter().map(|c| c.id).collect::<Vec<_>>(), [title, amount]);
        assert_eq!(listed.values.len(), 4, "{:?}", listed.values);
        assert_eq!(listed.values[&(a, title)], ColumnValue::Text("a".into()));
        assert_eq!(listed.values[&(b, amount)], ColumnValue::Number(1.5));
        let first = admin.list_with_columns(&at("Documents"), Sort::Name, false, None, 100, 1).await.unwrap();
        assert_eq!((first.columns.len(), first.values.len()), (1, 2));
        // A user who knows a folder only because an item in it is shared sees none of the folder's column values.
        let folder = at("Documents/secret");
        let values = vec![(title, Some(ColumnValue::Text("hush".into())))];
        admin.set_values(&folder, ValuesChange { values, ..ValuesChange::default() }).await.unwrap();
        let (id, guest) = farm.person("guest").await;
        admin.break_inheritance(&at("Documents/secret/c"), true).await.unwrap();
        admin.grant(&at("Documents/secret/c"), id, Role::READ).await.unwrap();
        let seen = guest.list_with_columns(&at("Documents"), Sort::Name, false, None, 100, 20).await.unwrap();
        assert_eq!((seen.page.items.len(), seen.values.len()), (1, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_is_filtered_by_person_and_action() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let collection = admin.site_collections().await.unwrap()[0].id;
        let (id, member) = farm.person("member").await;
        admin.grant(&at(""), id, Role::CONTRIBUTE).await.unwrap();
        admin.set_audit_reads(collection, true).await.unwrap();
        for i in 0..5 {
            put(&admin, &format!("Documents/a{i}"), "a").await.unwrap();
            put(&member, &format!("Documents/m{i}"), "m").await.unwrap();
        }
        get(&member, "Documents/a0").await.unwrap();
        let read = |actor, action: Option<&str>| {
            let filter = AuditFilter { actor, action: action.map(ToOwned::to_owned) };
            let admin = &admin;
            async move {
                let (mut before, mut found) = (None, Vec::new());
                loop {
                    let page = admin.audit_log(collection, filter.clone(), before, 2).await.unwrap();
                    found.extend(page.items);
                    before = page.next;
                    if before.is_none() {
                        return found;
                    }
                }
            }
        };
        assert_eq!(read(Some(id), Some("document.create")).await.len(), 5);
        assert_eq!(read(None, Some("document.create")).await.len(), 10);
        let by_member = read(Some(id), None).await;
        assert_eq!(by_member.len(), 6);
        assert_eq!(by_member[0].action, "document.read");
        let all = read(None, None).await;
        assert!(all.windows(2).all(|pair| pair[0].sequence > pair[1].sequence));
        assert!(all.iter().all(|event| AUDIT_ACTIONS.contains(&event.action.as_str())));
        let refused = member.audit_log(collection, AuditFilter::default(), None, 10).await.unwrap_err();
        assert_eq!(refused.kind(), model::ErrorKind::Forbidden);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_somebody_has_is_not_deleted() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (id, member) = farm.person("member").await;
        let role = admin.create_role("Reader", [Right::View].into_iter().collect()).await.unwrap().id;
        // A session knows the roles as of its own start.
        let admin = farm.administrator().await;
        admin.grant(&at(""), id, role).await.unwrap();
        assert_eq!(admin.role_uses().await.unwrap()[&role], 1);
        assert_eq!(admin.delete_role(role).await.unwrap_err().code(), "role_in_use");
        assert_eq!(member.role_uses().await.unwrap_err().kind(), model::ErrorKind::Forbidden);
        admin.revoke(&at(""), id, role).await.unwrap();
        admin.delete_role(role).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_page_loses_no_fault_of_a_blob_in_several_stores() {
    /// Number of stores that lack the first BLOB, and number of the BLOB whose faults are at 2,000 and 2,001.
    const STORES: i64 = 64;
    const SPLIT: u64 = 1_937;
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let content = Database::open(&farm.content.location, Schema::Content, &Default::default()).await.unwrap();
        let write = |transaction: &mut Transaction<'_>| {
            for store in 1..=STORES {
                fault::put(transaction, &fault_row(1, store))?;
            }
            for number in 2..=SPLIT {
                fault::put(transaction, &fault_row(number, 1))?;
            }
            fault::accept(transaction, &digest(SPLIT), Timestamp::now(), Id::new(1))?;
            fault::put(transaction, &fault_row(SPLIT, 2))
        };
        content.write(write).await.unwrap();
        content.close().await;

        let (page, next) = admin.blob_faults(None, 1).await.unwrap();
        assert_eq!((page.len() as i64, next), (STORES, Some(digest(1))));
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let (page, next) = admin.blob_faults(after, 700).await.unwrap();
            seen.extend(page.into_iter().map(|fault| (fault.digest, fault.store)));
            after = next;
            if after.is_none() {
                break;
            }
        }
        let distinct: HashSet<_> = seen.iter().collect();
        assert_eq!((seen.len(), distinct.len()), (2_001, 2_001));

        // The loss was accepted in one of the two stores only.
        let faulty = admin.storage().await.unwrap().faulty_blobs().await.unwrap();
        assert_eq!((faulty.len() as u64, faulty.last().copied()), (SPLIT, Some((digest(SPLIT), false))));
    })
    .await;
}

fn digest(number: u64) -> Digest {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    Digest::new(bytes)
}

fn fault_row(number: u64, store: i64) -> FaultRow {
    FaultRow {
        store_id: Id::new(store),
        digest: digest(number),
        state: FaultState::Missing,
        detail: String::new(),
        found_at: Timestamp::now(),
        accepted_at: None,
        accepted_by: None,
    }
}

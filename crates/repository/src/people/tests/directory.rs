//! Tests of accounts, groups and roles, and of the rights to change them.

use model::{Right, Rights, Role};

use super::super::{AccountChange, NewAccount};
use super::{Farm, FarmFilter, PASSWORD, code, on_each_engine, person};

on_each_engine! {
    accounts_are_made_changed_and_deleted,
    groups_have_names_and_members,
    roles_are_made_changed_and_deleted,
    others_than_administrators_change_nothing,
    people_and_groups_are_found_by_what_is_typed,
}

async fn accounts_are_made_changed_and_deleted(farm: Farm) {
    let admin = farm.administrator().await;
    let version = farm.directory_version().await;
    let ann = NewAccount { display_name: " Ann Archer ".into(), email: "ann@example.org".into(), ..person("Ann") };
    let ann = admin.create_account(ann).await.unwrap();
    assert_eq!((ann.login.as_str(), ann.display_name.as_str()), ("ann", "Ann Archer"));
    assert_eq!(admin.account(ann.id).await.unwrap(), ann);
    assert_eq!(admin.account_by_login("ANN").await.unwrap(), ann);
    assert!(farm.directory_version().await > version);

    assert_eq!(code(admin.create_account(person("ANN")).await), "login_taken");
    assert_eq!(code(admin.create_account(person("a/b")).await), "invalid_login");
    let weak = NewAccount { password: Some("short".into()), ..person("bob") };
    assert_eq!(code(admin.create_account(weak).await), "invalid_password");
    assert_eq!(code(admin.account_by_login("bob").await), "not_found");

    for n in 0..5 {
        admin.create_account(NewAccount { password: None, ..person(&format!("user{n}")) }).await.unwrap();
    }
    let logins = async |after: &str, limit| {
        let page = admin.accounts(after, limit).await.unwrap();
        page.into_iter().map(|account| account.login).collect::<Vec<_>>()
    };
    assert_eq!(logins("", 3).await, ["admin", "ann", "user0"]);
    assert_eq!(logins("user0", 10).await, ["user1", "user2", "user3", "user4"]);

    let taken = AccountChange { login: Some("user1".into()), ..AccountChange::default() };
    assert_eq!(code(admin.update_account(ann.id, taken).await), "login_taken");
    let change = AccountChange { email: Some(String::new()), login: Some("ann".into()), ..AccountChange::default() };
    let changed = admin.update_account(ann.id, change).await.unwrap();
    assert_eq!((changed.email.as_str(), changed.display_name.as_str()), ("", "Ann Archer"));

    admin.delete_account(ann.id).await.unwrap();
    assert_eq!(logins("", 2).await, ["admin", "user0"]);
    let names = admin.principal_names(&[ann.id]).await.unwrap();
    assert_eq!((names[&ann.id].name.as_str(), names[&ann.id].disabled), ("Ann Archer", true));
    assert_eq!(code(admin.delete_account(ann.id).await), "not_found");
    assert_eq!(code(admin.set_password(ann.id, PASSWORD).await), "not_found");
    assert_eq!(code(admin.create_account(person("ann")).await), "login_taken");
    farm.close().await;
}

async fn groups_have_names_and_members(farm: Farm) {
    let admin = farm.administrator().await;
    let (ann, bob) = (farm.account("ann").await.id, farm.account("bob").await.id);
    let sales = admin.create_group("Sales", "who sells").await.unwrap();
    assert_eq!(admin.group(sales.id).await.unwrap(), sales);
    assert_eq!(code(admin.create_group("SALES", "").await), "name_taken");
    assert_eq!(code(admin.create_group("a/b", "").await), "invalid_name");
    let support = admin.create_group("Support", "").await.unwrap();
    assert_eq!(code(admin.update_group(support.id, Some("sales"), None).await), "name_taken");
    let renamed = admin.update_group(sales.id, Some("sALES"), None).await.unwrap();
    assert_eq!((renamed.name.as_str(), renamed.description.as_str()), ("sALES", "who sells"));
    assert_eq!(admin.group_by_name("Sales").await.unwrap(), renamed);

    let members = async |group, after: &str| {
        let page = admin.members(group, after, 10).await.unwrap();
        page.into_iter().map(|member| member.login).collect::<Vec<_>>()
    };
    for member in [bob, ann, ann] {
        admin.add_member(sales.id, member).await.unwrap();
    }
    assert_eq!(members(sales.id, "").await, ["ann", "bob"]);
    assert_eq!(members(sales.id, "ann").await, ["bob"]);
    assert_eq!(farm.events("group.member-add").await.len(), 2);
    assert_eq!(members(model::Principal::EVERYONE, "").await, ["admin", "ann", "bob"]);
    // Members may see each other; other users may not see them.
    assert_eq!(farm.caller(ann).await.members(sales.id, "", 10).await.unwrap().len(), 2);
    assert_eq!(code(farm.caller(ann).await.members(support.id, "", 10).await), "forbidden");
    admin.remove_member(sales.id, bob).await.unwrap();
    admin.delete_account(ann).await.unwrap();
    assert_eq!(members(sales.id, "").await, [""; 0]);
    assert_eq!(code(admin.add_member(sales.id, ann).await), "not_found");

    let everyone = model::Principal::EVERYONE;
    assert_eq!(code(admin.add_member(everyone, bob).await), "built_in");
    assert_eq!(code(admin.update_group(everyone, Some("All"), None).await), "built_in");
    assert_eq!(code(admin.delete_group(everyone).await), "built_in");
    let before = farm.directory_version().await;
    admin.delete_group(sales.id).await.unwrap();
    assert!(farm.directory_version().await > before);
    assert_eq!(code(admin.group(sales.id).await), "not_found");
    assert_eq!(admin.groups("everyone", 10).await.unwrap(), [support]);
    farm.close().await;
}

async fn roles_are_made_changed_and_deleted(farm: Farm) {
    let admin = farm.administrator().await;
    let rights: Rights = [Right::View, Right::Add].into_iter().collect();
    let drop_off = admin.create_role("Drop-off", rights).await.unwrap();
    assert_eq!(admin.role_by_name("drop-OFF").await.unwrap(), drop_off);
    assert_eq!(code(admin.create_role("read", rights).await), "name_taken");
    let before = farm.directory_version().await;
    let changed = admin.update_role(drop_off.id, None, Some(rights.with(Right::Edit))).await.unwrap();
    assert_eq!((changed.name.as_str(), changed.rights), ("Drop-off", rights.with(Right::Edit)));
    assert!(farm.directory_version().await > before);
    for built_in in Role::built_in() {
        assert_eq!(code(admin.update_role(built_in.id, Some("Mine"), None).await), "built_in");
        assert_eq!(code(admin.delete_role(built_in.id).await), "built_in");
    }
    assert_eq!(admin.roles().await.unwrap().len(), 5);
    admin.delete_role(drop_off.id).await.unwrap();
    assert_eq!(admin.roles().await.unwrap(), Role::built_in());
    assert_eq!(code(admin.delete_role(drop_off.id).await), "not_found");
    farm.close().await;
}

async fn others_than_administrators_change_nothing(farm: Farm) {
    let admin = farm.administrator().await;
    let (ann, bob) = (farm.account("ann").await.id, farm.account("bob").await.id);
    let group = admin.create_group("Sales", "").await.unwrap().id;
    let role = admin.create_role("Mine", Rights::NONE).await.unwrap().id;
    let token = admin.create_token(bob, "bob's".into()).await.unwrap().token.id;
    let caller = farm.caller(ann).await;
    let before = (farm.directory_version().await, farm.events("").await);
    let promoted = AccountChange { farm_administrator: Some(true), ..AccountChange::default() };
    let outcomes = [
        code(caller.create_account(person("eve")).await),
        code(caller.accounts("", 10).await),
        code(caller.account(bob).await),
        code(caller.account_by_login("bob").await),
        code(caller.update_account(ann, promoted).await),
        code(caller.delete_account(bob).await),
        code(caller.set_password(ann, PASSWORD).await),
        code(caller.create_token(bob, "mine".into()).await),
        code(caller.tokens(bob).await),
        code(caller.revoke_token(bob, token).await),
        code(caller.create_group("Mine", "").await),
        code(caller.update_group(group, Some("Mine"), None).await),
        code(caller.delete_group(group).await),
        code(caller.add_member(group, ann).await),
        code(caller.remove_member(group, bob).await),
        code(caller.create_role("Yours", Rights::ALL).await),
        code(caller.update_role(role, None, Some(Rights::ALL)).await),
        code(caller.delete_role(role).await),
        code(caller.farm_events(FarmFilter::default(), None, 10).await),
    ];
    assert!(outcomes.iter().all(|outcome| *outcome == "forbidden"), "{outcomes:?}");
    assert_eq!(code(caller.revoke_token(ann, token).await), "not_found", "another's token under the own account");
    assert_eq!(before, (farm.directory_version().await, farm.events("").await));
    assert_eq!(caller.account(ann).await.unwrap().login, "ann");
    let own = caller.create_token(ann, "mine".into()).await.unwrap();
    assert!(caller.tokens(ann).await.unwrap().contains(&own.token));
    farm.close().await;
}

async fn people_and_groups_are_found_by_what_is_typed(farm: Farm) {
    let admin = farm.administrator().await;
    let named = |login: &str, name: &str| NewAccount { display_name: name.into(), password: None, ..person(login) };
    let anna = admin.create_account(named("amu", "Anna Müller")).await.unwrap().id;
    let bert = admin.create_account(named("muller7", "Bert Ängström")).await.unwrap().id;
    let group = admin.create_group("Müller's friends", "").await.unwrap().id;
    let caller = farm.caller(bert).await;
    let found = async |typed: &str| {
        let found = caller.search_principals(typed, 10).await.unwrap();
        found.into_iter().map(|principal| principal.id).collect::<Vec<_>>()
    };
    assert_eq!(found("MÜLL").await, [anna, group]);
    assert_eq!(found("anna mü").await, [anna]);
    assert_eq!(found("amu").await, [anna]);
    assert_eq!(found("muller").await, [bert]);
    assert_eq!(found("a\u{308}ng").await, [bert], "the other Unicode form");
    assert_eq!(found("%").await, []);
    assert_eq!(found("\0").await, []);
    assert!(found("").await.len() >= 4);
    assert_eq!(caller.search_principals("", 2).await.unwrap().len(), 2);

    let disabled = AccountChange { disabled: Some(true), ..AccountChange::default() };
    admin.update_account(anna, disabled).await.unwrap();
    admin.update_group(group, Some("Friends"), None).await.unwrap();
    assert_eq!(found("mül").await, []);
    assert_eq!(found("fri").await, [group]);

    let caller = farm.caller(bert).await;
    let names = caller.principal_names(&[anna, group, bert, model::Id::new(7)]).await.unwrap();
    assert_eq!(
        (names.len(), names[&group].name.as_str(), names[&bert].login.as_deref()),
        (3, "Friends", Some("muller7"))
    );
    assert_eq!(caller.principal_names(&[anna, group, bert]).await.unwrap(), names, "from memory");
    farm.close().await;
}

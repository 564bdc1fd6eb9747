//! Tests that revoked access ends with the next request, also on another server of the farm.

use super::super::{Account, AccountChange};
use super::{Farm, HERE, PASSWORD, client, code, on_each_engine};
use crate::Repository;

on_each_engine! {
    a_disabled_account_is_refused_with_every_credential,
    a_new_password_ends_sessions_and_the_old_password,
    ending_sessions_ends_them,
    membership_counts_from_the_next_request_on,
    the_last_administrator_stays,
}

/// Returns whether a server accepts each credential of an account: session, token, password.
async fn accepted(server: &Repository, session: &str, token: &str, login: &str, password: &str) -> [bool; 3] {
    [
        server.caller_from_session(session).await.unwrap().is_some(),
        server.caller_from_token(token, HERE).await.unwrap().is_some(),
        server.caller_from_password(login, password, &client("10.0.0.1")).await.unwrap().is_some(),
    ]
}

fn disabled(disabled: bool) -> AccountChange {
    AccountChange { disabled: Some(disabled), ..AccountChange::default() }
}

async fn a_disabled_account_is_refused_with_every_credential(farm: Farm) {
    let other = farm.another_server().await;
    let admin = farm.administrator().await;
    let ann = farm.account("ann").await.id;
    let token = admin.create_token(ann, "robot".into()).await.unwrap().secret;
    let session = farm.repository.sign_in("ann", PASSWORD, &client("10.0.0.1")).await.unwrap().secret;
    let all = async |login: &str| {
        let here = accepted(&farm.repository, &session, &token, login, PASSWORD).await;
        assert_eq!(here, accepted(&other, &session, &token, login, PASSWORD).await);
        here
    };
    assert_eq!(all("ann").await, [true; 3]);
    admin.update_account(ann, disabled(true)).await.unwrap();
    assert_eq!(all("ann").await, [false; 3]);
    // Disabling ended the sessions. The token and the password work again.
    admin.update_account(ann, disabled(false)).await.unwrap();
    assert_eq!(all("ann").await, [false, true, true]);

    let renamed = AccountChange { login: Some("anna".into()), ..AccountChange::default() };
    admin.update_account(ann, renamed).await.unwrap();
    assert_eq!(all("ann").await, [false, true, false]);
    assert_eq!(all("anna").await, [false, true, true]);

    admin.delete_account(ann).await.unwrap();
    assert_eq!(all("anna").await, [false; 3]);
    admin.update_account(ann, disabled(false)).await.unwrap();
    assert_eq!(all("anna").await, [false; 3], "a deleted account comes back without credentials");
    other.close().await;
    farm.close().await;
}

async fn a_new_password_ends_sessions_and_the_old_password(farm: Farm) {
    let other = farm.another_server().await;
    let ann = farm.account("ann").await.id;
    let here = client("10.0.0.1");
    let session = farm.repository.sign_in("ann", PASSWORD, &here).await.unwrap().secret;
    let caller = farm.caller(ann).await;
    let (old, new) = (PASSWORD, "an-even-better-one");
    assert!(other.caller_from_password("ann", old, &here).await.unwrap().is_some());

    assert_eq!(code(caller.change_own_password("not-the-old-one", new, &here).await), "wrong_password");
    assert_eq!(code(caller.change_own_password(old, "too short", &here).await), "invalid_password");
    assert!(farm.repository.caller_from_session(&session).await.unwrap().is_some(), "nothing has changed yet");
    caller.change_own_password(old, new, &here).await.unwrap();
    for server in [&farm.repository, &other] {
        assert_eq!(server.caller_from_session(&session).await.unwrap(), None);
        assert_eq!(server.caller_from_password("ann", old, &here).await.unwrap(), None);
        assert!(server.caller_from_password("ann", new, &here).await.unwrap().is_some());
    }
    let session = farm.repository.sign_in("ann", new, &here).await.unwrap().secret;
    farm.administrator().await.set_password(ann, PASSWORD).await.unwrap();
    assert_eq!(other.caller_from_session(&session).await.unwrap(), None);
    assert_eq!(other.caller_from_password("ann", new, &here).await.unwrap(), None);
    assert_eq!(farm.events("account.password").await.len(), 2);
    other.close().await;
    farm.close().await;
}

async fn ending_sessions_ends_them(farm: Farm) {
    let (ann, bob) = (farm.account("ann").await.id, farm.account("bob").await.id);
    let sign_in = async || farm.repository.sign_in("ann", PASSWORD, &client("10.0.0.1")).await.unwrap().secret;
    let (one, two, three) = (sign_in().await, sign_in().await, sign_in().await);
    let alive = async |secret: &str| farm.repository.caller_from_session(secret).await.unwrap().is_some();
    let (ann_s, bob_s) = (farm.caller(ann).await, farm.caller(bob).await);
    let sessions = ann_s.web_sessions(ann).await.unwrap();
    assert_eq!(sessions.len(), 3);

    // The newest session comes first.
    let newest = sessions[0].id;
    assert_eq!(code(bob_s.end_web_session(ann, newest).await), "forbidden");
    assert_eq!(code(bob_s.end_web_session(bob, newest).await), "not_found");
    assert_eq!(code(bob_s.end_all_web_sessions(ann).await), "forbidden");
    assert_eq!(code(bob_s.web_sessions(ann).await), "forbidden");
    assert!(alive(&three).await);
    ann_s.end_web_session(ann, newest).await.unwrap();
    assert_eq!([alive(&one).await, alive(&two).await, alive(&three).await], [true, true, false]);
    ann_s.end_all_web_sessions(ann).await.unwrap();
    assert_eq!([alive(&one).await, alive(&two).await], [false, false]);
    farm.close().await;
}

async fn membership_counts_from_the_next_request_on(farm: Farm) {
    let other = farm.another_server().await;
    let admin = farm.administrator().await;
    let ann = farm.account("ann").await.id;
    let token = admin.create_token(ann, "robot".into()).await.unwrap().secret;
    let sales = admin.create_group("Sales", "").await.unwrap().id;
    let is_in = async || {
        let here = farm.repository.caller_from_token(&token, HERE).await.unwrap().unwrap().principal;
        assert_eq!(here, other.caller_from_token(&token, HERE).await.unwrap().unwrap().principal);
        here.groups.contains(&sales)
    };
    assert!(!is_in().await);
    admin.add_member(sales, ann).await.unwrap();
    assert!(is_in().await);
    admin.remove_member(sales, ann).await.unwrap();
    assert!(!is_in().await);
    admin.add_member(sales, ann).await.unwrap();
    admin.delete_group(sales).await.unwrap();
    assert!(!is_in().await);
    other.close().await;
    farm.close().await;
}

async fn the_last_administrator_stays(farm: Farm) {
    let admin = farm.administrator().await;
    let first = admin.account_by_login("admin").await.unwrap();
    let second = farm.account("second").await.id;
    let demoted = AccountChange { farm_administrator: Some(false), ..AccountChange::default() };
    let promoted = AccountChange { farm_administrator: Some(true), ..AccountChange::default() };
    let unchanged = async || assert_eq!(admin.account(first.id).await.unwrap(), first);

    assert_eq!(code(admin.update_account(first.id, demoted.clone()).await), "last_administrator");
    assert_eq!(code(admin.update_account(first.id, disabled(true)).await), "last_administrator");
    assert_eq!(code(admin.delete_account(first.id).await), "last_administrator");
    unchanged().await;
    // A disabled administrator does not count.
    admin.update_account(second, AccountChange { disabled: Some(true), ..promoted.clone() }).await.unwrap();
    assert_eq!(code(admin.update_account(first.id, demoted.clone()).await), "last_administrator");
    unchanged().await;

    // Of two concurrent demotions, one succeeds, so that one administrator is left.
    admin.update_account(second, disabled(false)).await.unwrap();
    let (a, b) = (farm.administrator().await, farm.administrator().await);
    let both = tokio::join!(a.update_account(first.id, demoted.clone()), b.update_account(second, demoted.clone()));
    let left: Vec<Account> = admin.accounts("", 10).await.unwrap();
    assert_eq!(left.iter().filter(|account| account.farm_administrator).count(), 1, "{both:?}");
    assert!(farm.repository.farm_administrator().await.is_ok());
    farm.close().await;
}

//! Tests of the limits of tokens compared with their owners, of the lifetime of tokens, and of operations that need a
//! fresh proof.

use std::time::Duration;

use model::{Authentication, Id, Name, Preferences, Right, Rights, Role, Timestamp, TokenScope, TokenScopes};

use super::{Farm, HERE, NewTokenRequest, PASSWORD, client, code, on_each_engine, person};
use crate::{AccountChange, NewAccount, Session, Target};

on_each_engine! {
    a_token_never_makes_tokens_or_passwords,
    a_session_proves_itself_anew,
    scopes_take_rights_away,
    outside_of_its_places_nothing_exists,
    every_token_ends,
    a_token_works_from_its_networks_alone,
    a_token_for_a_part_has_nothing_of_the_account,
}

async fn session_of(farm: &Farm, secret: &str) -> Session {
    farm.repository.as_caller(farm.repository.caller_from_token(secret, HERE).await.unwrap().unwrap().principal)
}

fn scopes(scopes: &[TokenScope]) -> TokenScopes {
    scopes.iter().copied().collect()
}

fn at(path: &str) -> Target {
    Target::path(path).unwrap()
}

/// Creates a group that has a role on a folder. Returns the group and the role.
async fn powers(farm: &Farm) -> (Id, Id) {
    let name = format!("power {}", farm.repository.next_id());
    let admin = farm.administrator().await;
    let group = admin.create_group(&name, "").await.unwrap().id;
    let role = admin.create_role(&name, [Right::View].into_iter().collect()).await.unwrap().id;
    // Sessions opened after the role was created know it.
    let admin = farm.administrator().await;
    let folder = admin.create_folder(&at("Documents"), &Name::new(name).unwrap()).await.unwrap().id;
    admin.break_inheritance(&folder.into(), false).await.unwrap();
    admin.grant(&folder.into(), group, role).await.unwrap();
    (group, role)
}

/// Tries each operation that needs a fresh proof once.
async fn sensitive(farm: &Farm, session: &Session) -> Vec<&'static str> {
    let me = session.principal().id;
    let ann = farm.administrator().await.account_by_login("ann").await.unwrap().id;
    let administrator = NewAccount { farm_administrator: true, ..person(&format!("new{}", farm.repository.next_id())) };
    let promoted = AccountChange { farm_administrator: Some(true), ..AccountChange::default() };
    let with_password = person(&format!("new{}", farm.repository.next_id()));
    let out = farm.account(&format!("out{}", farm.repository.next_id())).await.id;
    let switched = |disabled| AccountChange { disabled: Some(disabled), ..AccountChange::default() };
    farm.administrator().await.update_account(out, switched(true)).await.unwrap();
    let (group, role) = powers(farm).await;
    let admin = farm.administrator().await;
    let unused = admin.create_group(&format!("unused {}", farm.repository.next_id()), "").await.unwrap().id;
    let manages = [Right::View, Right::ManagePermissions].into_iter().collect();
    let manages = admin.create_role(&format!("manages {}", farm.repository.next_id()), manages).await.unwrap().id;
    let place = Name::new(format!("place {}", farm.repository.next_id())).unwrap();
    // Sessions opened after the role was created know it.
    let admin = farm.administrator().await;
    let place = admin.create_folder(&at("Documents"), &place).await.unwrap().id;
    session.break_inheritance(&place.into(), true).await.unwrap();
    let all = Some(Rights::ALL);
    let secrets = [("secret".to_owned(), "x".to_owned())].into();
    vec![
        code(session.create_token(me, "mine".into()).await),
        code(session.create_token(ann, "ann's".into()).await),
        code(session.set_password(ann, PASSWORD).await),
        code(session.create_account(administrator).await),
        code(session.update_account(ann, promoted).await),
        code(session.create_account(with_password).await),
        code(session.update_account(out, switched(false)).await),
        code(session.add_member(group, ann).await),
        code(session.add_member(unused, ann).await),
        code(session.grant(&place.into(), ann, manages).await),
        code(session.grant(&place.into(), unused, Role::FULL_CONTROL).await),
        code(session.update_role(role, None, all).await),
        code(session.grant(&at(""), ann, Role::READ).await),
        code(session.change_store("none", &Default::default(), &secrets).await),
    ]
}

async fn a_token_never_makes_tokens_or_passwords(farm: Farm) {
    let ann = farm.account("ann").await.id;
    let admin = farm.administrator().await;
    let token = admin.create_token(admin.principal().id, "robot".into()).await.unwrap();
    let robot = session_of(&farm, &token.secret).await;
    let outcomes = sensitive(&farm, &robot).await;
    assert!(outcomes.iter().all(|outcome| *outcome == "fresh_sign_in_needed"), "{outcomes:?}");
    // Operations that are not sensitive work with the owner's rights.
    let eve = NewAccount { password: None, ..person("eve") };
    let eve = robot.create_account(eve).await.unwrap().id;
    let group = robot.create_group("without a role", "").await.unwrap().id;
    admin.add_member(group, eve).await.unwrap();
    robot.remove_member(group, eve).await.unwrap();
    let folder = robot.create_folder(&at("Documents"), &Name::new("for eve").unwrap()).await.unwrap().id;
    robot.break_inheritance(&folder.into(), true).await.unwrap();
    robot.grant(&folder.into(), eve, Role::CONTRIBUTE).await.unwrap();
    let disabled = AccountChange { disabled: Some(true), ..AccountChange::default() };
    robot.update_account(eve, disabled).await.unwrap();
    let (_, role) = powers(&farm).await;
    let robot = session_of(&farm, &token.secret).await;
    robot.update_role(role, Some("renamed"), Some(Rights::NONE)).await.unwrap();
    robot.revoke_token(ann, admin.create_token(ann, "x".into()).await.unwrap().token.id).await.unwrap();
    farm.close().await;
}

async fn a_session_proves_itself_anew(farm: Farm) {
    farm.account("ann").await;
    let promoted = AccountChange { farm_administrator: Some(true), ..AccountChange::default() };
    let bob = farm.account("bob").await.id;
    farm.administrator().await.update_account(bob, promoted).await.unwrap();
    let here = client("10.0.0.1");
    let old = Timestamp::now().before(Duration::from_secs(11 * 60));
    let signed_in = farm.repository.sign_in_at("bob", PASSWORD, &here, old).await.unwrap();
    let session = async || {
        let caller = farm.repository.caller_from_session(&signed_in.secret).await.unwrap().unwrap();
        let crate::Credential::Session { id, .. } = caller.credential else { panic!("no session") };
        (farm.repository.as_caller(caller.principal), id)
    };
    let (stale, id) = session().await;
    let outcomes = sensitive(&farm, &stale).await;
    assert!(outcomes.iter().all(|outcome| *outcome == "fresh_sign_in_needed"), "{outcomes:?}");
    assert_eq!(code(stale.prove(id, "a-wrong-password", &here).await), "wrong_password");
    assert!(!session().await.0.is_fresh());
    stale.prove(id, PASSWORD, &client("10.0.0.2")).await.unwrap();
    let (fresh, _) = session().await;
    assert!(matches!(fresh.principal().proof, Authentication::Session { .. }));
    let outcomes = sensitive(&farm, &fresh).await;
    assert!(outcomes.iter().all(|outcome| ["ok", "not_found"].contains(outcome)), "{outcomes:?}");
    let listed = &fresh.web_sessions(bob).await.unwrap()[0];
    assert_eq!((listed.address.as_str(), listed.proved_address.as_str()), ("10.0.0.1", "10.0.0.2"));
    assert!(listed.proved_at > listed.created_at);
    assert_eq!(farm.events("sign-in.proof").await.len(), 1);
    farm.close().await;
}

async fn scopes_take_rights_away(farm: Farm) {
    let admin = farm.administrator().await;
    let me = admin.principal().id;
    let with = async |some: &[TokenScope]| {
        let wish = NewTokenRequest { scopes: scopes(some), ..NewTokenRequest::from("robot") };
        session_of(&farm, &admin.create_token(me, wish).await.unwrap().secret).await
    };
    let name = |text: &str| Name::new(text).unwrap();
    let reader = with(&[TokenScope::Read]).await;
    let library = reader.item(&at("Documents")).await.unwrap();
    assert!(library.rights.has(Right::View));
    assert!(!library.rights.has(Right::Add));
    assert_eq!(code(reader.create_folder(&at("Documents"), &name("a")).await), "token_scope");
    assert_eq!(code(reader.accounts("", 10).await), "token_scope");
    assert!(!reader.find_by_name("Documents", 10).await.unwrap().items.is_empty());

    let writer = with(&[TokenScope::Write]).await;
    writer.create_folder(&at("Documents"), &name("a")).await.unwrap();
    assert_eq!(code(writer.break_inheritance(&at("Documents"), true).await), "token_scope");
    assert_eq!(code(writer.accounts("", 10).await), "token_scope");
    // The same user with different tokens, one after the other: rights cached for one token do not apply to the other.
    assert_eq!(code(reader.create_folder(&at("Documents"), &name("b")).await), "token_scope");

    let manager = with(&[TokenScope::Manage]).await;
    manager.break_inheritance(&at("Documents"), true).await.unwrap();
    assert_eq!(code(manager.delete(&at("Documents/a")).await), "token_scope");
    assert_eq!(code(manager.site_collections().await), "ok");

    let operator = with(&[TokenScope::Farm]).await;
    operator.accounts("", 10).await.unwrap();
    assert_eq!(code(operator.item(&at("Documents")).await), "not_found");
    let none = NewTokenRequest { scopes: TokenScopes::from_bits(0), ..NewTokenRequest::from("none") };
    assert_eq!(code(admin.create_token(me, none).await), "invalid_scope");
    farm.close().await;
}

async fn outside_of_its_places_nothing_exists(farm: Farm) {
    let admin = farm.administrator().await;
    let name = |text: &str| Name::new(text).unwrap();
    let inside = admin.create_folder(&at("Documents"), &name("inside")).await.unwrap();
    let below = admin.create_folder(&at("Documents/inside"), &name("below")).await.unwrap();
    let outside = admin.create_folder(&at("Documents"), &name("canary")).await.unwrap();
    admin.create_folder(&at("Documents/canary"), &name("canary below")).await.unwrap();
    let place = |id| NewTokenRequest {
        scopes: scopes(&[TokenScope::Write, TokenScope::Manage]),
        places: vec![id],
        ..NewTokenRequest::from("robot")
    };
    let token = admin.create_token(admin.principal().id, place(inside.id)).await.unwrap();
    let robot = session_of(&farm, &token.secret).await;
    for path in ["", "Documents", "Documents/canary", "Documents/canary/canary below", "Documents/nothing"] {
        assert_eq!(code(robot.item(&at(path)).await), "not_found", "{path}");
    }
    for id in [outside.id, robot.repository().next_id()] {
        assert_eq!(code(robot.item(&id.into()).await), "not_found");
        assert_eq!(code(robot.move_to(&below.id.into(), &id.into(), None).await), "not_found");
        assert_eq!(code(robot.copy_to(&id.into(), &inside.id.into(), None).await), "not_found");
    }
    assert_eq!(robot.item(&at("Documents/inside/below")).await.unwrap().id, below.id);
    robot.create_folder(&inside.id.into(), &name("more")).await.unwrap();
    robot.rename(&below.id.into(), &name("renamed")).await.unwrap();
    let found = robot.find_by_name("canary", 10).await.unwrap();
    assert!(found.items.is_empty(), "{found:?}");
    assert_eq!(robot.find_by_name("renamed", 10).await.unwrap().items.len(), 1);
    assert!(robot.site_collections().await.unwrap().is_empty());
    assert!(robot.sites(10).await.unwrap().is_empty());
    // An item that the owner may not open cannot be a place of a token, nor can a document or the farm.
    let ann = farm.account("ann").await.id;
    let own = farm.caller(ann).await;
    assert_eq!(code(own.create_token(ann, place(inside.id)).await), "not_found");
    let everywhere = NewTokenRequest { scopes: TokenScopes::ALL, ..place(inside.id) };
    assert_eq!(code(admin.create_token(ann, everywhere).await), "invalid_scope");
    // An item moved out of the place is out of reach, even on a server that has resolved it before.
    admin.move_to(&at("Documents/inside/renamed"), &outside.id.into(), None).await.unwrap();
    assert_eq!(code(robot.item(&below.id.into()).await), "not_found");
    farm.close().await;
}

async fn every_token_ends(farm: Farm) {
    let admin = farm.administrator().await;
    let me = admin.principal().id;
    let day = Duration::from_secs(24 * 60 * 60);
    let until = |days: u32| NewTokenRequest {
        expires_at: Some(Timestamp::now().after(day * days)),
        ..NewTokenRequest::from("x")
    };
    let end = admin.create_token(me, "x".into()).await.unwrap().token.expires_at.unwrap();
    assert!(end > Timestamp::now().after(day * 364));
    assert!(end <= Timestamp::now().after(day * 365));
    admin.create_token(me, until(365)).await.unwrap();
    assert_eq!(code(admin.create_token(me, until(366)).await), "token_too_long");
    admin.set_longest_token_days(30).await.unwrap();
    assert_eq!(code(admin.create_token(me, until(31)).await), "token_too_long");
    admin.create_token(me, until(30)).await.unwrap();
    for bad in [0, 366] {
        assert_eq!(code(admin.set_longest_token_days(bad).await), "invalid");
    }
    let ann = farm.account("ann").await.id;
    assert_eq!(code(farm.caller(ann).await.set_longest_token_days(30).await), "forbidden");
    // A token remains valid when the password changes.
    let token = admin.create_token(ann, "ann's".into()).await.unwrap();
    admin.set_password(ann, "another good password").await.unwrap();
    assert!(farm.repository.caller_from_token(&token.secret, HERE).await.unwrap().is_some());
    farm.close().await;
}

async fn a_token_for_a_part_has_nothing_of_the_account(farm: Farm) {
    let ann = farm.account("ann").await.id;
    let admin = farm.administrator().await;
    admin.grant(&at(""), ann, Role::FULL_CONTROL).await.unwrap();
    let folder = admin.create_folder(&at("Documents"), &Name::new("inside").unwrap()).await.unwrap().id;
    let own = farm.caller(ann).await;
    farm.repository.sign_in("ann", PASSWORD, &client("10.0.0.1")).await.unwrap();
    let other = own.create_token(ann, "other".into()).await.unwrap().token.id;
    let session = own.web_sessions(ann).await.unwrap()[0].id;
    let content = [TokenScope::Read, TokenScope::Write, TokenScope::Manage];
    for (some, places) in [(&content[..1], vec![]), (&content[..2], vec![]), (&content[..], vec![folder])] {
        let wish = NewTokenRequest { scopes: scopes(some), places, ..NewTokenRequest::from("part") };
        let part = session_of(&farm, &own.create_token(ann, wish).await.unwrap().secret).await;
        let outcomes = [
            code(part.tokens(ann).await),
            code(part.web_sessions(ann).await),
            code(part.revoke_token(ann, other).await),
            code(part.end_web_session(ann, session).await),
            code(part.end_all_web_sessions(ann).await),
            code(part.set_preferences(Preferences::default()).await),
            code(part.change_own_password(PASSWORD, "another good password", &client("10.0.0.1")).await),
        ];
        assert_eq!(outcomes, ["token_scope"; 7], "{some:?}");
        assert_eq!(part.account(ann).await.unwrap().login, "ann");
    }
    let wish = NewTokenRequest { scopes: scopes(&content), ..NewTokenRequest::from("whole") };
    let whole = session_of(&farm, &own.create_token(ann, wish).await.unwrap().secret).await;
    whole.set_preferences(Preferences::default()).await.unwrap();
    whole.revoke_token(ann, other).await.unwrap();
    whole.end_web_session(ann, session).await.unwrap();
    farm.close().await;
}

async fn a_token_works_from_its_networks_alone(farm: Farm) {
    let ann = farm.account("ann").await.id;
    let own = farm.caller(ann).await;
    let networks = ["10.1.0.0/16", "2001:db8::/64"].map(|text| text.parse().unwrap()).to_vec();
    let made = own
        .create_token(ann, NewTokenRequest { networks: networks.clone(), ..NewTokenRequest::from("near") })
        .await
        .unwrap();
    assert_eq!(own.tokens(ann).await.unwrap()[0].networks, networks);
    // The order matters: the result for one address is cached when the next one is tried.
    for (address, good) in [
        ("10.2.0.1", false),
        ("10.1.255.1", true),
        ("10.2.0.1", false),
        ("::ffff:10.1.0.9", true),
        ("2001:db8::7", true),
        ("2001:db8:0:1::7", false),
    ] {
        let found = farm.repository.caller_from_token(&made.secret, address.parse().unwrap()).await.unwrap();
        assert_eq!(found.is_some(), good, "{address}");
    }
    let many = vec![networks[0]; 21];
    let refused = own.create_token(ann, NewTokenRequest { networks: many, ..NewTokenRequest::from("many") }).await;
    assert_eq!(code(refused), "too_many_networks");
    farm.close().await;
}

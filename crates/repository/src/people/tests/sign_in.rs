//! Tests of signing in, and of the callers that credentials identify.

use std::time::{Duration, Instant};

use model::{Id, Preferences, Principal, Theme, Timestamp};

use super::super::identity::SESSION_IDLE;
use super::super::sign_in::SESSION_LENGTH;
use super::super::{AccountChange, Client, Credential, NewTokenRequest};
use super::{ADMIN_PASSWORD, Farm, HERE, PASSWORD, client, code, on_each_engine};

on_each_engine! {
    a_session_begins_and_ends,
    advice_about_a_password_fails_no_sign_in,
    whatever_is_wrong_looks_the_same,
    a_shared_private_address_is_found_among_public_ones,
    sessions_end_by_themselves,
    tokens_end_by_themselves,
    the_time_of_last_use_is_stored,
    a_right_password_leaves_a_trace_of_each_network,
    the_first_start_makes_one_administrator,
}

async fn a_right_password_leaves_a_trace_of_each_network(farm: Farm) {
    let ann = farm.account("ann").await.id;
    let (home, elsewhere) = (client("10.0.0.1"), client("10.0.0.2"));
    let request = async |from: &Client| farm.repository.caller_from_password("ann", PASSWORD, from).await.unwrap();
    // A refused change shows that the password is right, but records no sign-in.
    let session = farm.caller(ann).await;
    assert_eq!(code(session.change_own_password(PASSWORD, "short", &home).await), "invalid_password");
    assert!(farm.events("sign-in.success").await.is_empty());
    for from in [&home, &home, &elsewhere, &home] {
        assert!(request(from).await.is_some());
    }
    let told: Vec<String> = farm.events("sign-in.success").await.into_iter().map(|event| event.detail).collect();
    assert_eq!(told, ["HTTP Basic, 10.0.0.2", "HTTP Basic, 10.0.0.1"]);
    farm.close().await;
}

async fn a_session_begins_and_ends(farm: Farm) {
    let ann = farm.account("Ann").await;
    let here = client("10.0.0.1");
    let signed_in = farm.repository.sign_in("aNN", PASSWORD, &here).await.unwrap();
    assert_eq!((signed_in.principal.id, signed_in.principal.login.as_str()), (ann.id, "ann"));

    let caller = farm.repository.caller_from_session(&signed_in.secret).await.unwrap().unwrap();
    assert_eq!(caller.principal, signed_in.principal);
    assert_eq!(caller.principal.groups, [Principal::EVERYONE]);
    let Credential::Session { id, csrf_key } = caller.credential else { panic!("{:?}", caller.credential) };

    let session = farm.repository.as_caller(caller.principal);
    let preferences = Preferences { language: "de".into(), theme: Theme::Dark, time_zone: "Asia/Tokyo".into() };
    session.set_preferences(preferences.clone()).await.unwrap();
    let caller = farm.repository.caller_from_session(&signed_in.secret).await.unwrap().unwrap();
    assert_eq!(caller.preferences, preferences);
    assert_eq!(caller.credential, Credential::Session { id, csrf_key }, "the key stays the same");

    let sessions = session.web_sessions(ann.id).await.unwrap();
    assert_eq!((sessions.len(), sessions[0].id, sessions[0].address.as_str()), (1, id, "10.0.0.1"));
    assert!(session.account(ann.id).await.unwrap().signed_in_at.is_some());

    let other = farm.repository.sign_in("ann", PASSWORD, &here).await.unwrap();
    assert_ne!(other.secret, signed_in.secret);
    farm.repository.sign_out(&signed_in.secret).await.unwrap();
    farm.repository.sign_out(&signed_in.secret).await.unwrap();
    assert_eq!(farm.repository.caller_from_session(&signed_in.secret).await.unwrap(), None);
    assert!(farm.repository.caller_from_session(&other.secret).await.unwrap().is_some());
    assert_eq!(farm.events("sign-out").await.len(), 1);
    assert_eq!(farm.events("sign-in.success").await.len(), 2);
    farm.close().await;
}

async fn advice_about_a_password_fails_no_sign_in(farm: Farm) {
    let ann = farm.account("ann").await.id;
    let here = client("10.0.0.1");
    farm.repository.sign_in("ann", PASSWORD, &here).await.unwrap();
    // From here on, the password is known to be right without a hash, but no permit is left to judge it.
    let hasher = &farm.repository.inner.identities.hasher;
    let mut held = Vec::new();
    while let Ok(permit) = tokio::time::timeout(Duration::from_millis(200), hasher.permit()).await {
        held.push(permit.unwrap());
    }
    let signed_in = farm.repository.sign_in("ann", PASSWORD, &here).await.unwrap();
    assert!(!signed_in.outdated_password);
    drop(held);
    assert!(farm.repository.caller_from_session(&signed_in.secret).await.unwrap().is_some());
    assert_eq!(farm.caller(ann).await.web_sessions(ann).await.unwrap().len(), 2);
    assert_eq!(farm.events("sign-in.success").await.len(), 2);
    farm.close().await;
}

async fn whatever_is_wrong_looks_the_same(farm: Farm) {
    let session = farm.administrator().await;
    farm.account("ann").await;
    let off = farm.account("off").await.id;
    session.update_account(off, AccountChange { disabled: Some(true), ..AccountChange::default() }).await.unwrap();
    let gone = farm.account("gone").await.id;
    session.delete_account(gone).await.unwrap();
    let tokens_only = super::NewAccount { login: "robot".into(), ..super::NewAccount::default() };
    session.create_account(tokens_only).await.unwrap();

    let here = client("10.0.0.1");
    let long = "x".repeat(100_000);
    let wrong = [
        ("ann", "another-password"),
        ("nobody", PASSWORD),
        ("off", PASSWORD),
        ("gone", PASSWORD),
        ("robot", ""),
        ("ann", ""),
        ("not a login", PASSWORD),
        ("ann\0", PASSWORD),
        ("", ""),
        ("ann", &long),
    ];
    let mut messages = std::collections::HashSet::new();
    for (login, password) in wrong {
        let error = farm.repository.sign_in(login, password, &here).await.err().unwrap();
        messages.insert((error.kind(), error.code(), error.message().to_owned()));
    }
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!(farm.events("sign-in.failure").await.len(), wrong.len());
    assert_eq!(farm.repository.caller_from_password("off", PASSWORD, &here).await.unwrap(), None);

    // Both take one run of argon2. Without hashing, the answer would come a thousand times faster.
    let quickest = async |login: &str| {
        let mut best = Duration::MAX;
        for n in 0..3 {
            let begun = Instant::now();
            farm.repository.sign_in(login, "another-password", &client(&format!("10.0.1.{n}"))).await.err().unwrap();
            best = best.min(begun.elapsed());
        }
        best
    };
    let (known, unknown) = (quickest("ann").await, quickest("nobody").await);
    assert!(unknown * 4 > known, "known {known:?}, unknown {unknown:?}");
    assert!(known * 4 > unknown, "known {known:?}, unknown {unknown:?}");
    farm.close().await;
}

async fn a_shared_private_address_is_found_among_public_ones(farm: Farm) {
    let session = farm.administrator().await;
    let mut accounts = Vec::new();
    for n in 0..11 {
        let new = super::NewAccount { login: format!("user{n}"), ..super::NewAccount::default() };
        accounts.push(session.create_account(new).await.unwrap().id);
    }
    let (repository, now) = (farm.repository.clone(), Timestamp::now());
    let sign_in = move |tx: &mut database::Transaction<'_>| {
        // All people use the public addresses, one fewer the private one.
        let public = (0..30).map(|n| (format!("203.0.113.{n}"), &accounts[..]));
        for (address, users) in public.chain([("10.0.0.1".to_owned(), &accounts[1..])]) {
            for account in users {
                let id = repository.next_id();
                let session = super::super::WebSession {
                    id,
                    created_at: now,
                    expires_at: now.after(SESSION_LENGTH),
                    seen_at: now,
                    address: address.clone(),
                    agent: String::new(),
                    proved_at: now,
                    proved_address: address.clone(),
                };
                let hash = id.get().to_be_bytes();
                database::configuration::web_session::insert(tx, *account, 1, &session, &hash)?;
            }
        }
        Ok(())
    };
    farm.repository.inner.configuration.write(sign_in).await.unwrap();
    assert_eq!(session.shared_addresses().await.unwrap(), [("10.0.0.1".parse().unwrap(), 10)]);
    farm.close().await;
}

async fn sessions_end_by_themselves(farm: Farm) {
    farm.account("ann").await;
    let now = Timestamp::now();
    let secret = farm.repository.sign_in_at("ann", PASSWORD, &client("10.0.0.1"), now).await.unwrap().secret;
    let alive = async |at: Timestamp| farm.repository.session_at(&secret, at).await.unwrap().is_some();
    let minute = Duration::from_secs(60);
    assert!(!alive(now.after(SESSION_IDLE)).await);
    assert!(!alive(now.before(60 * minute)).await, "a clock that went back must not make a session outlive its time");

    // A session used every half of the idle time lives for its whole length, and no longer.
    let step = SESSION_IDLE / 2;
    let steps = u32::try_from(SESSION_LENGTH.as_secs() / step.as_secs()).unwrap();
    for n in 1..steps {
        assert!(alive(now.after(step * n)).await, "step {n}");
        farm.seen(now.after(step * n)).await;
    }
    assert!(alive(now.after(SESSION_LENGTH - minute)).await);
    assert!(!alive(now.after(SESSION_LENGTH)).await);
    farm.close().await;
}

async fn tokens_end_by_themselves(farm: Farm) {
    let ann = farm.account("ann").await.id;
    let session = farm.administrator().await;
    let end = Timestamp::now().after(Duration::from_secs(3_600));
    let token = session
        .create_token(ann, NewTokenRequest { expires_at: Some(end), ..NewTokenRequest::from("nightly copy") })
        .await
        .unwrap();
    let just_before = end.before(Duration::from_micros(1));
    let caller = farm.repository.token_at(&token.secret, HERE, just_before).await.unwrap().unwrap();
    assert_eq!((caller.principal.id, caller.credential), (ann, Credential::Token { id: token.token.id }));
    assert_eq!(farm.repository.token_at(&token.secret, HERE, end).await.unwrap(), None);
    assert_eq!(farm.repository.caller_from_session(&token.secret).await.unwrap(), None);
    let past = session
        .create_token(ann, NewTokenRequest { expires_at: Some(Timestamp::now()), ..NewTokenRequest::from("late") })
        .await;
    assert_eq!(code(past), "invalid");

    session.revoke_token(ann, token.token.id).await.unwrap();
    assert_eq!(farm.repository.token_at(&token.secret, HERE, just_before).await.unwrap(), None);
    assert_eq!(code(session.revoke_token(ann, token.token.id).await), "not_found");
    for bad in ["", "srt_", "srt_0", &"é".repeat(40), &token.secret.to_uppercase()] {
        assert_eq!(farm.repository.caller_from_token(bad, HERE).await.unwrap(), None);
    }
    farm.close().await;
}

async fn the_time_of_last_use_is_stored(farm: Farm) {
    let ann = farm.account("ann").await.id;
    let session = farm.administrator().await;
    let token = session.create_token(ann, "robot".into()).await.unwrap();
    let now = Timestamp::now();
    let used = async |at: Timestamp| {
        farm.repository.token_at(&token.secret, HERE, at).await.unwrap().unwrap();
        session.tokens(ann).await.unwrap()[0].used_at
    };
    // The time is written in the background, so it may take a moment to appear.
    while used(now).await.is_none() {
        tokio::task::yield_now().await;
    }
    let second = Duration::from_secs(1);
    for n in 1..59 {
        assert_eq!(used(now.after(second * n)).await, Some(now), "after {n} seconds");
    }
    let later = now.after(second * 61);
    while used(later).await != Some(later) {
        tokio::task::yield_now().await;
    }
    farm.close().await;
}

async fn the_first_start_makes_one_administrator(farm: Farm) {
    assert_eq!(farm.repository.create_administrator(Some("another-password".into())).await.unwrap(), None);
    let signed_in = farm.repository.sign_in("admin", ADMIN_PASSWORD, &client("127.0.0.1")).await.unwrap();
    assert!(signed_in.principal.farm_administrator);
    assert_eq!(farm.repository.farm_administrator().await.unwrap().id, signed_in.principal.id);
    let session = farm.administrator().await;
    assert_eq!(session.roles().await.unwrap(), model::Role::built_in());
    assert_eq!(session.groups("", 10).await.unwrap()[0].id, Principal::EVERYONE);
    assert_eq!(session.accounts("", 10).await.unwrap().len(), 1);
    farm.close().await;
}

impl Farm {
    /// Records that the only session was used at this time.
    async fn seen(&self, at: Timestamp) {
        let sessions = self.administrator().await;
        let account = sessions.account_by_login("ann").await.unwrap().id;
        let find = move |reader: &mut database::Reader<'_>| {
            database::configuration::web_session::list(
                reader,
                account,
                Timestamp::from_micros(0),
                Timestamp::from_micros(0),
                1,
            )
        };
        let id: Id = self.repository.inner.configuration.read(find).await.unwrap()[0].id;
        let touch =
            move |tx: &mut database::Transaction<'_>| database::configuration::web_session::touch(tx, id, at, at);
        self.repository.inner.configuration.write(touch).await.unwrap();
    }
}

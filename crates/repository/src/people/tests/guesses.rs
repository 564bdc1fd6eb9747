//! Tests that guessing passwords becomes slow, whatever way is used.

use std::time::Duration;

use model::Code;

use super::{Farm, PASSWORD, client, code, on_each_engine};

/// Time limit for expected events.
const TIMEOUT: Duration = Duration::from_secs(15);

on_each_engine! {
    parallel_guesses_share_one_budget,
    right_passwords_are_not_slowed_down,
    whoever_guesses_takes_no_turn_from_others,
    one_person_changes_one_password_at_a_time,
    no_secret_is_written_down,
}

async fn parallel_guesses_share_one_budget(farm: Farm) {
    let ann = farm.account("ann").await.id;
    let other = farm.another_server().await;
    let mut guesses = tokio::task::JoinSet::new();
    for n in 0..200u8 {
        let server = if n % 2 == 0 { farm.repository.clone() } else { other.clone() };
        guesses.spawn(async move {
            // All guesses come from one network, by each way to authenticate.
            let (here, guess) = (client(&format!("2001:db8::{n}")), format!("guess number {n}"));
            match n % 4 {
                0 | 1 => code(server.sign_in("ann", &guess, &here).await),
                _ => match server.caller_from_password("ANN", &guess, &here).await {
                    Ok(found) => {
                        if found.is_none() {
                            "sign_in_failed"
                        } else {
                            "ok"
                        }
                    }
                    Err(error) => error.code().as_str(),
                },
            }
        });
    }
    let outcomes = guesses.join_all().await;
    let count = |code: &str| outcomes.iter().filter(|outcome| **outcome == code).count();
    assert_eq!((count("sign_in_failed"), count("too_many_attempts")), (5, 195), "{outcomes:?}");
    assert_eq!(farm.events("sign-in.failure").await.len(), 5);

    // While the wait lasts, neither the right password nor a restart of the server helps.
    let here = client("2001:db8::ffff");
    other.close().await;
    let restarted = farm.another_server().await;
    for server in [&farm.repository, &restarted] {
        let error = server.sign_in("ann", PASSWORD, &here).await.err().unwrap();
        assert_eq!((error.kind(), error.code()), (model::ErrorKind::Exhausted, Code::TooManyAttempts));
        assert!(error.message().contains("second"), "{error}");
    }
    // Other users are not delayed, nor is ann on another network. An administrator can clear the wait.
    farm.account("bob").await;
    restarted.sign_in("ann", PASSWORD, &client("10.1.0.1")).await.unwrap();
    restarted.sign_in("bob", PASSWORD, &here).await.unwrap();
    farm.administrator().await.set_password(ann, PASSWORD).await.unwrap();
    restarted.sign_in("ann", PASSWORD, &here).await.unwrap();
    restarted.close().await;
    farm.close().await;
}

/// Takes all permits of the hasher except `left`.
async fn permits_but(farm: &Farm, left: usize) -> Vec<crate::people::password::HashPermit> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut permits = Vec::new();
    for _ in left..processors.min(4) {
        permits.push(farm.repository.inner.identities.hasher.permit().await.unwrap());
    }
    permits
}

async fn whoever_guesses_takes_no_turn_from_others(farm: Farm) {
    let ann = farm.account("ann").await.id;
    let (caller, here) = (farm.caller(ann).await, client("10.0.0.1"));
    let (link, stored) = (model::Id::new(7), farm.repository.link_password("a-password").await.unwrap());
    let guess = async || farm.repository.try_link_password(link, &stored, "wrong", &client("10.0.0.2")).await;
    for _ in 0..5 {
        assert_eq!(code(caller.change_own_password("wrong", "an-even-better-one", &here).await), "wrong_password");
        assert!(!guess().await.unwrap());
    }
    // No permit is available, and the calls do not wait for one.
    let _all = permits_but(&farm, 0).await;
    assert_eq!(code(caller.change_own_password("wrong", "an-even-better-one", &here).await), "too_many_attempts");
    assert_eq!(code(guess().await), "too_many_attempts");
    farm.close().await;
}

async fn one_person_changes_one_password_at_a_time(farm: Farm) {
    let ann = farm.account("ann").await.id;
    let (caller, here) = (farm.caller(ann).await, client("10.0.0.1"));
    farm.repository.caller_from_password("ann", PASSWORD, &here).await.unwrap();
    // No permit is available: one change waits, and the others are refused meanwhile.
    let permits = permits_but(&farm, 0).await;
    let mut changes = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (caller, here) = (caller.clone(), here.clone());
        changes.spawn(async move { code(caller.change_own_password(PASSWORD, "passwordpassword", &here).await) });
    }
    for _ in 0..19 {
        let refused = tokio::time::timeout(TIMEOUT, changes.join_next()).await.expect("a second change waits");
        assert_eq!(refused.unwrap().unwrap(), "too_many_requests");
    }
    drop(permits);
    assert_eq!(changes.join_next().await.unwrap().unwrap(), "easy_password");

    // A change in progress does not delay another user's change.
    let bob = farm.account("bob").await.id;
    let under_way = farm.repository.inner.identities.changes.begin(ann).unwrap();
    let bob = farm.caller(bob).await;
    assert_eq!(code(bob.change_own_password(PASSWORD, PASSWORD, &here).await), "same_password");
    let change = bob.change_own_password(PASSWORD, "an-even-better-one", &here);
    assert_eq!(code(tokio::time::timeout(TIMEOUT, change).await.unwrap()), "ok");
    drop(under_way);
    farm.close().await;
}

async fn right_passwords_are_not_slowed_down(farm: Farm) {
    farm.account("ann").await;
    let here = client("10.0.0.1");
    let mut requests = tokio::task::JoinSet::new();
    for n in 0..60 {
        let (server, here) = (farm.repository.clone(), here.clone());
        requests.spawn(async move {
            match n % 3 {
                0 => server.sign_in("ann", PASSWORD, &here).await.is_ok(),
                _ => server.caller_from_password("ann", PASSWORD, &here).await.unwrap().is_some(),
            }
        });
    }
    assert!(requests.join_all().await.into_iter().all(|accepted| accepted));
    // A success clears earlier failures of the account, so that four slips a day never add up.
    for _ in 0..3 {
        for _ in 0..4 {
            assert_eq!(code(farm.repository.sign_in("ann", "a-wrong-password", &here).await), "sign_in_failed");
        }
        farm.repository.sign_in("ann", PASSWORD, &here).await.unwrap();
    }
    farm.close().await;
}

async fn no_secret_is_written_down(farm: Farm) {
    let admin = farm.administrator().await;
    let ann = farm.account("ann").await.id;
    let token = admin.create_token(ann, "robot".into()).await.unwrap();
    let here = client("10.0.0.1");
    let session = farm.repository.sign_in("ann", PASSWORD, &here).await.unwrap().secret;
    // People type their password into the login field by mistake.
    farm.repository.sign_in(PASSWORD, "ann", &here).await.err().unwrap();
    farm.repository.sign_in("ann", "a-wrong-password", &here).await.err().unwrap();
    farm.repository.sign_out(&session).await.unwrap();
    admin.revoke_token(ann, token.token.id).await.unwrap();
    let written = format!("{:?}", farm.events("").await);
    for secret in [PASSWORD, "a-wrong-password", &token.secret, &session, &token.secret[4..], &session[4..]] {
        assert!(!written.contains(secret), "{secret} in {written}");
    }
    for action in ["account.create", "token.create", "token.revoke", "sign-in.success", "sign-in.failure", "sign-out"] {
        assert!(!farm.events(action).await.is_empty(), "{action}");
    }
    farm.close().await;
}

//! Guessing passwords gets slow, whatever way it is tried.

use super::{Farm, PASSWORD, client, code, on_each_engine};

on_each_engine! {
    parallel_guesses_share_one_budget,
    right_passwords_are_not_slowed_down,
    no_secret_is_written_down,
}

async fn parallel_guesses_share_one_budget(farm: Farm) {
    let ann = farm.account("ann").await.id;
    let other = farm.another_server().await;
    let mut guesses = tokio::task::JoinSet::new();
    for n in 0..200u8 {
        let server = if n % 2 == 0 { farm.repository.clone() } else { other.clone() };
        guesses.spawn(async move {
            // From one network, by each way in.
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
                    Err(error) => error.code(),
                },
            }
        });
    }
    let outcomes = guesses.join_all().await;
    let count = |code: &str| outcomes.iter().filter(|outcome| **outcome == code).count();
    assert_eq!((count("sign_in_failed"), count("too_many_attempts")), (5, 195), "{outcomes:?}");
    assert_eq!(farm.events("sign-in.failure").await.len(), 5);

    // The right password does not help as long as the wait lasts, nor does a restart.
    let here = client("2001:db8::ffff");
    other.close().await;
    let restarted = farm.another_server().await;
    for server in [&farm.repository, &restarted] {
        let error = server.sign_in("ann", PASSWORD, &here).await.err().unwrap();
        assert_eq!((error.kind(), error.code()), (model::ErrorKind::Exhausted, "too_many_attempts"));
        assert!(error.message().contains("second"), "{error}");
    }
    // Others are not held up, nor is ann elsewhere, and an administrator can help.
    farm.account("bob").await;
    restarted.sign_in("ann", PASSWORD, &client("10.1.0.1")).await.unwrap();
    restarted.sign_in("bob", PASSWORD, &here).await.unwrap();
    farm.administrator().await.set_password(ann, PASSWORD).await.unwrap();
    restarted.sign_in("ann", PASSWORD, &here).await.unwrap();
    restarted.close().await;
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
    // A success forgets earlier failures of the account, so that four slips each day never add up.
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
    // People type their password where the name belongs.
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

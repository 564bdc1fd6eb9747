//! Tests that strangers cannot lock users out, and that they get few guesses.

use std::time::Duration;

use database::Transaction;
use database::configuration::link_network;
use model::{Code, Id, Timestamp};

use super::{Farm, PASSWORD, client, code, on_each_engine};
use crate::people::{Client, links, throttle};

/// Number of failures of one login from one network before waiting begins.
const FREE: usize = 5;

on_each_engine! {
    a_person_signs_in_while_thousands_guess,
    one_network_has_one_budget_for_all_names,
    strangers_elsewhere_do_not_lock_a_link,
    guesses_at_a_link_are_bounded_across_networks,
    neighbours_keep_nobody_from_a_link,
    links_that_were_opened_leave_the_counters_alone,
    devices_end_with_their_account,
}

fn with_device(address: &str, device: &str) -> Client {
    Client { device: Some(device.to_owned()), ..client(address) }
}

/// Returns a client with its own address for each number.
fn stranger(number: usize) -> Client {
    client(&format!("198.18.{}.{}", number / 250, number % 250 + 1))
}

/// Returns a client in its own wide network for each number.
fn far_stranger(number: usize) -> Client {
    client(&format!("198.{}.{}.1", 18 + number / 250, number % 250))
}

async fn strangers_elsewhere_do_not_lock_a_link(farm: Farm) {
    let (link, stored) = (farm.repository.next_id(), farm.repository.link_password("open sesame").await.unwrap());
    let attempt =
        async |password: &str, from: &Client| farm.repository.try_link_password(link, &stored, password, from).await;
    for number in 0..101 {
        assert!(!attempt("guess", &far_stranger(number)).await.unwrap(), "{number}");
    }
    assert!(attempt("open sesame", &client("10.0.0.1")).await.unwrap());
    // On one network, soon only waiting helps, even with the right password.
    for _ in 0..5 {
        assert!(!attempt("guess", &client("10.0.0.2")).await.unwrap());
    }
    for password in ["guess", "open sesame"] {
        assert_eq!(code(attempt(password, &client("10.0.0.2")).await), "too_many_attempts");
    }
    farm.close().await;
}

async fn guesses_at_a_link_are_bounded_across_networks(farm: Farm) {
    assert_eq!(code(farm.repository.link_password("7 chars").await), "invalid_link_password");
    let stored = farm.repository.link_password("open sesame").await.unwrap();
    let (link, other) = (farm.repository.next_id(), farm.repository.next_id());
    let attempt = async |link: Id, password: &str, from: &Client| {
        farm.repository.try_link_password(link, &stored, password, from).await
    };
    let opener = client("10.0.0.1");
    assert!(attempt(link, "open sesame", &opener).await.unwrap());
    // One customer of a provider has thousands of small networks.
    let mut tried = 0;
    for number in 0..36 {
        let from = client(&format!("2001:db8:7:{number:x}::1"));
        tried += usize::from(attempt(link, "guess", &from).await.is_ok());
        let from = client(&format!("203.0.113.{number}"));
        tried += usize::from(attempt(link, "guess", &from).await.is_ok());
    }
    // 20 an hour for each of the two wide networks, plus the failures forgiven while the test ran.
    assert!((40..44).contains(&tried), "{tried}");
    assert!(!attempt(other, "guess", &client("203.0.113.40")).await.unwrap(), "another link has its own budget");
    // After that, new networks must wait, and the error states for how long.
    let mut networks = (0..250).map(far_stranger);
    let refused = loop {
        match attempt(link, "guess", &networks.next().expect("everybody may guess")).await {
            Ok(_) => tried += 1,
            Err(error) => break error,
        }
    };
    assert!((200..230).contains(&tried), "{tried} guesses from everywhere");
    assert_eq!((refused.code(), refused.retry_after().is_some()), (Code::TooManyAttempts, true));
    // A network that opened the link before need not wait.
    assert!(attempt(link, "open sesame", &opener).await.unwrap());
    farm.close().await;
}

async fn neighbours_keep_nobody_from_a_link(farm: Farm) {
    let (link, stored) = (farm.repository.next_id(), farm.repository.link_password("open sesame").await.unwrap());
    let attempt =
        async |password: &str, from: &Client| farm.repository.try_link_password(link, &stored, password, from).await;
    let opener = client("203.0.113.1");
    assert!(attempt("open sesame", &opener).await.unwrap());
    let mut neighbours = (2..60).map(|number| client(&format!("203.0.113.{number}")));
    let refused = loop {
        if let Err(error) = attempt("guess", &neighbours.next().expect("all neighbours may guess")).await {
            break error;
        }
    };
    assert_eq!(refused.code(), "too_many_attempts");
    assert!(attempt("open sesame", &opener).await.unwrap(), "who opened it before does not wait for neighbours");
    farm.close().await;
}

async fn links_that_were_opened_leave_the_counters_alone(farm: Farm) {
    const KEPT: usize = 60;
    farm.account("ann").await;
    for number in 0..FREE {
        let outcome = code(farm.repository.sign_in("ann", &format!("guess {number}"), &client("10.0.0.1")).await);
        assert_eq!(outcome, "sign_in_failed");
    }
    let now = Timestamp::now();
    let configuration = &farm.repository.inner.configuration;
    let open = move |tx: &mut Transaction<'_>| {
        for link in 1..=3 {
            for number in 0..250 {
                let from = far_stranger(number).address;
                links::keep_opened(tx, Id::new(link), from, now.after(Duration::from_millis(number as u64)))?;
            }
        }
        throttle::purge(tx, now)?;
        // The number of networks known for one link is bounded, and so is the number for all links.
        let left = link_network::remove_all(tx, Id::new(1))?;
        let pushed_out = link_network::purge(tx, now, KEPT)?;
        Ok((left, pushed_out))
    };
    assert_eq!(configuration.write(open).await.unwrap(), (links::MAX_NETWORKS_PER_LINK as u64, 16));
    assert_eq!(code(farm.repository.sign_in("ann", PASSWORD, &client("10.0.0.1")).await), "too_many_attempts");
    farm.close().await;
}

async fn a_person_signs_in_while_thousands_guess(farm: Farm) {
    farm.account("ann").await;
    farm.account("bob").await;
    // A program keeps no cookies, but the address from which it signed in is known.
    assert!(farm.repository.caller_from_password("ann", PASSWORD, &client("10.0.0.2")).await.unwrap().is_some());
    let first = farm.repository.sign_in("ann", PASSWORD, &client("10.0.0.1")).await.unwrap();
    let device = first.device.unwrap();
    let of_bob = farm.repository.sign_in("bob", PASSWORD, &client("10.0.0.3")).await.unwrap().device.unwrap();

    let mut tried = 0;
    for round in 0..1_000 {
        let outcome = code(farm.repository.sign_in("ann", &format!("guess number {round}"), &stranger(round)).await);
        tried += usize::from(outcome == "sign_in_failed");
        assert!(["sign_in_failed", "too_many_attempts"].contains(&outcome), "{outcome}");
        if round % 250 == 249 {
            let here = with_device(&format!("192.0.2.{}", round / 250 + 1), &device);
            let again = farm.repository.sign_in("ann", PASSWORD, &here).await.unwrap();
            assert!(again.device.is_none(), "the device is known already");
        }
    }
    // 100 an hour, plus the failures forgiven while the test ran.
    assert!((100..120).contains(&tried), "{tried}");

    // These servers have no cached password of ann.
    let (other, another) = (farm.another_server().await, farm.another_server().await);
    for server in [&other, &another] {
        assert_eq!(code(server.sign_in("ann", PASSWORD, &client("10.9.9.9")).await), "too_many_attempts");
        let foreign = with_device("10.9.9.9", &of_bob);
        assert_eq!(code(server.sign_in("ann", PASSWORD, &foreign).await), "too_many_attempts");
        server.sign_in("ann", PASSWORD, &with_device("10.9.9.9", &device)).await.unwrap();
    }
    // The request is accepted because of the known address, not because of the server's cache.
    let restarted = farm.another_server().await;
    assert!(restarted.caller_from_password("ann", PASSWORD, &client("10.0.0.2")).await.unwrap().is_some());
    // Wrong passwords from a known device count against that device alone, which soon must wait too.
    for _ in 0..5 {
        let wrong = restarted.sign_in("ann", "a-wrong-password", &with_device("10.9.9.9", &device)).await;
        assert_eq!(code(wrong), "sign_in_failed");
    }
    let waits = restarted.sign_in("ann", "a-wrong-password", &with_device("10.9.9.9", &device)).await;
    assert_eq!(code(waits), "too_many_attempts");
    other.close().await;
    another.close().await;
    restarted.close().await;
    farm.close().await;
}

async fn one_network_has_one_budget_for_all_names(farm: Farm) {
    farm.account("ann").await;
    let here = client("10.0.0.1");
    let device = farm.repository.sign_in("ann", PASSWORD, &here).await.unwrap().device.unwrap();
    let mut outcomes = Vec::new();
    for n in 0..55 {
        outcomes.push(code(farm.repository.sign_in(&format!("name{n}"), PASSWORD, &here).await));
    }
    let tried = outcomes.iter().filter(|outcome| **outcome == "sign_in_failed").count();
    assert!((50..55).contains(&tried), "{outcomes:?}");
    farm.account("bob").await;
    assert_eq!(code(farm.repository.sign_in("bob", PASSWORD, &client("::ffff:10.0.0.1")).await), "too_many_attempts");
    farm.repository.sign_in("bob", PASSWORD, &client("10.0.0.2")).await.unwrap();
    // Colleagues behind the same address who signed in before can continue to sign in.
    farm.repository.sign_in("ann", PASSWORD, &with_device("10.0.0.1", &device)).await.unwrap();
    farm.close().await;
}

async fn devices_end_with_their_account(farm: Farm) {
    let ann = farm.account("ann").await.id;
    let device = farm.repository.sign_in("ann", PASSWORD, &client("10.0.0.1")).await.unwrap().device.unwrap();
    let admin = farm.administrator().await;
    for disabled in [true, false] {
        let change = crate::AccountChange { disabled: Some(disabled), ..Default::default() };
        admin.update_account(ann, change).await.unwrap();
    }
    let again = farm.repository.sign_in("ann", PASSWORD, &with_device("10.0.0.1", &device)).await.unwrap();
    assert!(again.device.is_some_and(|fresh| fresh != device), "an ended device is not taken up again");
    farm.close().await;
}

//! Tests of the list of forbidden passwords, with many parts.

use std::fmt::Write;

use super::{Farm, PASSWORD, client, code, on_each_engine};
use crate::people::Credential;

on_each_engine! {
    a_leaked_password_is_no_success_of_any_kind,
    a_list_in_many_parts_holds_what_its_file_held,
}

const PASSWORDS: usize = 20_000;

fn sum(password: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, password.as_bytes());
    digest.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

async fn a_list_in_many_parts_holds_what_its_file_held(farm: Farm) {
    let admin = farm.administrator().await;
    let (file, listed) = (farm.directory.path().join("sums"), |number: usize| format!("password number {number}"));
    let mut sums: Vec<String> = (0..PASSWORDS).map(|number| sum(&listed(number))).collect();
    sums.sort();
    sums.push(sums[PASSWORDS - 1].clone());
    std::fs::write(&file, sums.join("\r\n")).unwrap();
    let list = admin.import_password_list(&file, |read, all| assert!(read <= all)).await.unwrap();
    assert_eq!((list.entries, list.bits), (PASSWORDS as u64, 3), "what stands there twice counts once");
    for number in (0..PASSWORDS).step_by(97) {
        assert!(farm.repository.is_listed(&listed(number)).await.unwrap(), "{number}");
    }
    let mut wrong = 0;
    for number in 0..1_000 {
        wrong += usize::from(farm.repository.is_listed(&format!("another {number}")).await.unwrap());
    }
    assert!(wrong < 5, "{wrong} of 1,000 that are not listed");

    // Sums that do not spread evenly are not sums of passwords, and a part full of them would take long to read.
    let crowded: Vec<String> = (0..40_000).map(|number| format!("0{number:039x}")).collect();
    std::fs::write(&file, crowded.join("\n")).unwrap();
    assert_eq!(code(admin.import_password_list(&file, |_, _| {}).await), "invalid_password_list");
    assert!(farm.repository.is_listed(&listed(5)).await.unwrap());
    // A list that is refused half-way leaves the previous one in use; a good list replaces it.
    std::fs::write(&file, format!("{}\n{}\nnonsense\n", sum("b"), sum("b"))).unwrap();
    assert_eq!(code(admin.import_password_list(&file, |_, _| {}).await), "invalid_password_list");
    assert!(farm.repository.is_listed(&listed(5)).await.unwrap());
    std::fs::write(&file, sum("b")).unwrap();
    assert_eq!(admin.import_password_list(&file, |_, _| {}).await.unwrap().bits, 0);
    assert!(farm.repository.is_listed("b").await.unwrap());
    assert!(!farm.repository.is_listed(&listed(5)).await.unwrap());
    let (another, account) = (farm.another_server().await, farm.account("ann").await);
    assert!(another.is_listed("b").await.unwrap(), "each server asks the same list");
    let ann = farm.repository.as_caller(farm.repository.principal(account.id).await.unwrap());
    assert_eq!(code(ann.remove_password_list().await), code(ann.delete_account(account.id).await));
    assert!(admin.remove_password_list().await.unwrap());
    assert!(!admin.remove_password_list().await.unwrap());
    assert!(!farm.repository.is_listed("b").await.unwrap());
}

async fn a_leaked_password_is_no_success_of_any_kind(farm: Farm) {
    let (admin, file) = (farm.administrator().await, farm.directory.path().join("sums"));
    let (ann, here) = (farm.account("ann").await.id, client("10.0.0.1"));
    let signed_in = farm.repository.sign_in("ann", PASSWORD, &here).await.unwrap();
    let caller = farm.repository.caller_from_session(&signed_in.secret).await.unwrap().unwrap();
    let Credential::Session { id, .. } = caller.credential else { panic!("{caller:?}") };
    let session = farm.repository.as_caller(caller.principal);
    let kept = async || {
        let count = database::Sql::new("SELECT COUNT(*) FROM known_device");
        let count = farm.repository.inner.configuration.read(move |r| r.find(count, &[], |row| row.get::<i64>(0)));
        (farm.events("sign-in.success").await.len(), count.await.unwrap())
    };
    std::fs::write(&file, sum(PASSWORD)).unwrap();
    admin.import_password_list(&file, |_, _| {}).await.unwrap();
    let before = kept().await;
    // One server has verified the password before, the other has not.
    let another = farm.another_server().await;
    for server in [&farm.repository, &another] {
        for guesser in ["198.18.0.1", "198.18.0.2"] {
            let guesser = client(guesser);
            assert_eq!(code(server.caller_from_password("ann", PASSWORD, &guesser).await), "leaked_password");
            assert_eq!(code(server.sign_in("ann", PASSWORD, &guesser).await), "leaked_password");
        }
    }
    assert_eq!(code(session.prove(id, PASSWORD, &here).await), "leaked_password");
    assert_eq!(kept().await, before, "whoever has a leaked password leaves neither a success nor an address");
    assert!(farm.events("sign-in.proof").await.is_empty());

    // The result from one list does not apply to the next.
    std::fs::write(&file, sum("another")).unwrap();
    admin.import_password_list(&file, |_, _| {}).await.unwrap();
    for server in [&farm.repository, &another] {
        for _ in 0..2 {
            assert!(server.caller_from_password("ann", PASSWORD, &here).await.unwrap().is_some());
        }
    }
    session.prove(id, PASSWORD, &here).await.unwrap();
    std::fs::write(&file, sum(PASSWORD)).unwrap();
    admin.import_password_list(&file, |_, _| {}).await.unwrap();
    assert_eq!(code(another.caller_from_password("ann", PASSWORD, &here).await), "leaked_password");
    let new = "an-even-better-one";
    farm.repository.replace_leaked_password("ann", PASSWORD, new, &here).await.unwrap();
    assert_eq!(farm.repository.caller_from_password("ann", new, &here).await.unwrap().unwrap().principal.id, ann);
    another.close().await;
    farm.close().await;
}

//! The list of passwords that nobody may have, in many parts.

use std::fmt::Write;

use super::{Farm, code, on_each_engine};

on_each_engine! {
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

    // A list that is refused half-way leaves the one before it in use; a good one takes its place.
    std::fs::write(&file, format!("{}\n{}\nnonsense\n", sum("b"), sum("b"))).unwrap();
    assert_eq!(code(admin.import_password_list(&file, |_, _| {}).await), "invalid_password_list");
    assert!(farm.repository.is_listed(&listed(5)).await.unwrap());
    std::fs::write(&file, sum("b")).unwrap();
    assert_eq!(admin.import_password_list(&file, |_, _| {}).await.unwrap().bits, 0);
    assert!(farm.repository.is_listed("b").await.unwrap() && !farm.repository.is_listed(&listed(5)).await.unwrap());
    let (another, account) = (farm.another_server().await, farm.account("ann").await);
    assert!(another.is_listed("b").await.unwrap(), "each server asks the same list");
    let ann = farm.repository.as_caller(farm.repository.principal(account.id).await.unwrap());
    assert_eq!(code(ann.remove_password_list().await), code(ann.delete_account(account.id).await));
    assert!(admin.remove_password_list().await.unwrap() && !admin.remove_password_list().await.unwrap());
    assert!(!farm.repository.is_listed("b").await.unwrap());
}

//! The permitted dependencies: the licences and banned crates of `deny.toml`, enforced without a network.
//!
//! `deny.toml` stays in the format of cargo-deny, for developers who have it. This test enforces its two lists
//! everywhere.

use std::collections::BTreeSet;
use std::process::Command;

use crate::{metadata, root};

struct Rules {
    licences: BTreeSet<String>,
    banned: Vec<String>,
}

fn rules() -> Rules {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml is readable");
    let deny: toml::Value = toml::from_str(&text).expect("deny.toml is TOML");
    let list = |table: &str, key: &str| deny[table][key].as_array().expect("a list").clone();
    let licences = list("licenses", "allow").iter().map(|item| item.as_str().expect("a licence").to_owned()).collect();
    let banned = list("bans", "deny").iter().map(|item| item["crate"].as_str().expect("a crate").to_owned()).collect();
    Rules { licences, banned }
}

/// Returns whether the allowed licences alone satisfy the SPDX expression.
fn allowed(expression: &str, licences: &BTreeSet<String>) -> bool {
    let text = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut at = 0;
    let met = either(&words, &mut at, licences);
    met && at == words.len()
}

fn either(words: &[&str], at: &mut usize, licences: &BTreeSet<String>) -> bool {
    let mut met = both(words, at, licences);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= both(words, at, licences);
    }
    met
}

fn both(words: &[&str], at: &mut usize, licences: &BTreeSet<String>) -> bool {
    let mut met = one(words, at, licences);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at, licences);
    }
    met
}

fn one(words: &[&str], at: &mut usize, licences: &BTreeSet<String>) -> bool {
    let Some(word) = words.get(*at) else { return false };
    *at += 1;
    if *word == "(" {
        let met = either(words, at, licences);
        *at += 1;
        return met;
    }
    let mut name = (*word).to_owned();
    if words.get(*at) == Some(&"WITH") {
        name = format!("{name} WITH {}", words.get(*at + 1).unwrap_or(&""));
        *at += 2;
    }
    licences.contains(&name)
}

fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host").to_owned()
}

#[test]
fn every_crate_that_is_built_in_is_allowed() {
    let rules = rules();
    let metadata = metadata(&["--locked", "--filter-platform", &host()]);
    let resolved: BTreeSet<&str> = metadata["resolve"]["nodes"]
        .as_array()
        .expect("a resolved graph")
        .iter()
        .filter_map(|node| node["id"].as_str())
        .collect();
    let mut faults = Vec::new();
    let packages = metadata["packages"].as_array().expect("a list of packages");
    for package in packages.iter().filter(|package| package["id"].as_str().is_some_and(|id| resolved.contains(id))) {
        let name = package["name"].as_str().expect("a name");
        if rules.banned.iter().any(|banned| banned == name) {
            faults.push(format!("`{name}` is banned by deny.toml"));
        }
        match package["license"].as_str() {
            Some(licence) if allowed(licence, &rules.licences) => {}
            Some(licence) => faults.push(format!("`{name}`: the licence \"{licence}\" is not allowed by deny.toml")),
            None => faults.push(format!("`{name}` names no licence")),
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn licence_expressions_are_read_as_spdx_means_them() {
    let licences: BTreeSet<String> = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into();
    for met in
        ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR GPL-3.0) AND Apache-2.0", "Apache-2.0 WITH LLVM-exception"]
    {
        assert!(allowed(met, &licences), "{met} is allowed");
    }
    for unmet in ["GPL-3.0", "MIT AND GPL-3.0", "(GPL-3.0 OR AGPL-3.0) AND MIT", "MIT WITH Unknown-exception", ""] {
        assert!(!allowed(unmet, &licences), "{unmet} is not allowed");
    }
}

//! Searches in texts under load, and full crawls, as parts of a run.

use serde_json::Value;

use crate::{PASSWORD, Server, lab, plan_of};

#[test]
fn texts_of_the_corpus_are_found_and_a_full_crawl_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(&directory.path().join("farm"));
    let plan = plan_of(&["search-query".to_owned()]).replace("[corpus]", "crawl = true\n[corpus]");
    let plan = plan.replace("\"9s\"", "\"3s\"");
    std::fs::write(directory.path().join("small.toml"), &plan).unwrap();
    let run = |more: &[&str]| {
        let words = ["run", "small.toml", "--target", &server.address, "--user", "admin", "--password", PASSWORD];
        let output = lab(directory.path(), &[&words[..], &["--out", "out", "--json"], more].concat());
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["result"].clone()
    };
    let result = run(&[]);
    assert_eq!(result["faults"], Value::Array(Vec::new()), "{:#}", result["faults"]);
    assert!(result["operations"][0]["done"].as_u64() > Some(10), "{result:#}");
    let crawl = &result["crawl"];
    // The corpus, and the file that marks it.
    assert_eq!((&crawl["documents"], &crawl["problem"]), (&25.into(), &Value::Null), "{crawl}");
    assert!(crawl["seconds"].as_f64() > Some(0.0), "{crawl}");
    let report = std::fs::read_to_string(directory.path().join("out/small.md")).unwrap();
    assert!(report.contains("- Full crawl: 25 documents ("), "{report}");

    // Another server offers neither.
    let mix = "[[mix]]\noperation = \"list-folder\"\nweight = 1\n";
    std::fs::write(directory.path().join("small.toml"), plan + mix).unwrap();
    let result = run(&["--kind", "webdav", "--root", "/dav/Documents"]);
    assert_eq!(result["missing"][0]["label"], "search-query", "{:#}", result["missing"]);
    assert!(result["crawl"]["problem"].as_str().unwrap().contains("does not offer it"), "{}", result["crawl"]);
    let report = std::fs::read_to_string(directory.path().join("out/small.md")).unwrap();
    assert!(report.contains("- Full crawl: not measured: the target does not offer it"), "{report}");
}
